# `make bench` and `make test` each do the whole set-up from nothing, then their job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TYPED := build/typed

.PHONY: bench test test-slow lint format clean

bench: $(STAMP)
	$(BIN)/varigym bench quick

test: $(STAMP)
	$(BIN)/python -m pytest tests -n auto --maxprocesses 4 --dist loadfile

test-slow: $(STAMP)
	$(BIN)/python -m pytest tests -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	rm -rf build
	$(BIN)/python -m pip install -q --no-deps --target $(TYPED) .
	MYPYPATH=$(TYPED) $(BIN)/mypy -p varigym
	$(BIN)/pyright
	rm -rf build

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build *.egg-info

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[learn,aquatope,test,dev]"
	touch $@
