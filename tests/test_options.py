"""Options of all commands: one notion, one name.

The rule. An option that takes exactly one value is singular (`--scenario`), one that takes a list is plural
(`--scenarios`) and has its singular as a second name, since a list may have one entry. `--seeds` is a count and no
list: `--seed` stands for one seed only and is never its second name. A folder of results is `--out`, a file to write
ends in `-out`, a Python file of one's own is `--plugin`. An option of the same name takes the same kind of value in
every command, and whatever takes scenarios takes them as words too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from tyro.conf import Positional
from varigym.commands.learners import learner_of
from varigym.commands.main import Command

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {kind.__name__: kind for kind in get_args(Command)}
LISTS_WITHOUT_SINGULAR = {"--against"}
"""No noun."""
COUNTS = {"--seeds"}
(POSITIONAL,) = Positional[str].__metadata__  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Option:
    """A field of a command."""

    name: str
    aliases: tuple[str, ...]
    value: Any
    is_word: bool

    @property
    def is_list(self) -> bool:
        return get_origin(self.value) is tuple


def _fields(kind: type) -> Iterator[Option]:
    hints = get_type_hints(kind, include_extras=True)
    plain = get_type_hints(kind)
    for field in fields(kind):
        if is_dataclass(plain[field.name]):
            yield from _fields(plain[field.name])
            continue
        notes = getattr(hints[field.name], "__metadata__", ())
        aliases = tuple(alias for note in notes for alias in getattr(note, "aliases", None) or ())
        values = [value for value in get_args(plain[field.name]) if value is not NoneType]
        optional = NoneType in get_args(plain[field.name])
        value = values[0] if optional else plain[field.name]
        yield Option(f"--{field.name.replace('_', '-')}", aliases, value, POSITIONAL in notes)


@cache
def options(command: str) -> tuple[Option, ...]:
    """Options, without words."""
    return tuple(option for option in _fields(COMMANDS[command]) if not option.is_word)


def names(command: str) -> list[str]:
    return [name for option in options(command) for name in (option.name, *option.aliases)]


def singular(name: str) -> str:
    return name[:-3] + "y" if name.endswith("ies") else name.removesuffix("s")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_list_is_plural_and_has_its_singular_as_a_second_name(command: str) -> None:
    for option in options(command):
        if option.is_list and option.name not in LISTS_WITHOUT_SINGULAR:
            assert singular(option.name) != option.name
            assert singular(option.name) in option.aliases
    assert len(set(names(command))) == len(names(command))


def test_what_is_a_list_somewhere_is_singular_where_it_is_one_value() -> None:
    lists = {option.name for command in COMMANDS for option in options(command) if option.is_list}
    assert lists >= {"--scenarios", "--policies", "--traces"}
    for command in COMMANDS:
        for option in options(command):
            assert option.is_list or option.name not in lists, (command, option.name)


def test_the_same_name_takes_the_same_kind_of_value_everywhere() -> None:
    found: dict[str, Any] = {}
    for command in COMMANDS:
        for option in options(command):
            assert found.setdefault(option.name, option.value) == option.value, (command, option.name)


def test_seeds_are_a_count_and_a_seed_is_one() -> None:
    for command in COMMANDS:
        for option in options(command):
            if option.name in COUNTS | {"--seed"}:
                assert (option.value, option.aliases) == (int, ())


def test_paths_that_are_written_are_out() -> None:
    """Whatever a command writes says so in its name; what it reads does not."""
    read = {"--trace", "--plugin", "--pm-scores", "--models", "--data", "--init"}
    for command in COMMANDS:
        for option in options(command):
            if option.value is Path and option.name not in read:
                assert option.name == "--out" or option.name.endswith("-out"), (command, option.name)


@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_takes_scenarios_takes_words(command: str) -> None:
    takes = {"--scenario", "--scenarios"} & set(names(command))
    words = [option for option in _fields(COMMANDS[command]) if option.is_word]
    assert bool(takes) == bool(words)
    if takes:
        assert "--scenario" in takes
        assert words[0].is_list == ("--scenarios" in takes)


def _shown() -> list[tuple[str, str]]:
    """Lines of the pages that begin with the command, continued lines joined."""
    pages = [ROOT / "README.md", ROOT / "runs/README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = {page.name: page.read_text().replace("\\\n", " ") for page in pages}
    return [(name, line) for name, text in texts.items() for line in re.findall(r"^varigym .*$", text, re.MULTILINE)]


@pytest.mark.parametrize(("page", "line"), _shown())
def test_pages_show_options_that_the_command_has(page: str, line: str) -> None:
    _, command, *words = shlex.split(line, comments=True)
    kind = learner_of(words).__name__ if command == "train" else command.title()
    assert [word for word in words if word.startswith("--") and word not in names(kind)] == []
