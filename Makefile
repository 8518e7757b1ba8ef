# `make bench` and `make test` each do the whole set-up from nothing, then their job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TYPED := build/typed

.PHONY: bench test test-strict test-slow lint lint-ruff lint-format lint-imports lint-mypy lint-pyright format clean

bench: $(STAMP)
	$(BIN)/varigym bench quick

test: $(STAMP)
	$(BIN)/python -m pytest tests -n auto --maxprocesses 4 --dist loadfile

# The flags that people set in their own JAX code: the environments work under all of them at once.
STRICT := JAX_NUMPY_DTYPE_PROMOTION=strict JAX_NUMPY_RANK_PROMOTION=raise JAX_DEBUG_NANS=1 \
	JAX_CHECK_TRACER_LEAKS=1 JAX_TRANSFER_GUARD=disallow

test-strict: $(STAMP)
	$(STRICT) $(BIN)/python -m pytest tests/envs/test_registered.py -n auto --maxprocesses 4

test-slow: $(STAMP)
	$(BIN)/python -m pytest tests -m slow

# The hooks of .pre-commit-config.yaml are these five.
lint: lint-ruff lint-format lint-imports lint-mypy lint-pyright

lint-ruff: $(STAMP)
	$(BIN)/ruff check .

lint-format: $(STAMP)
	$(BIN)/ruff format --check .

lint-imports: $(STAMP)
	$(BIN)/lint-imports

lint-mypy: $(STAMP)
	rm -rf build
	$(BIN)/python -m pip install -q --no-deps --target $(TYPED) .
	MYPYPATH=$(TYPED) $(BIN)/mypy -p varigym
	rm -rf build

lint-pyright: $(STAMP)
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[learn,aquatope,test,dev]"
	touch $@
