"""How a command is told its scenarios, policies and traces: a word or an option, lists with commas or spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..bench.grid.world_kinds import SUITES
from ..scenarios.catalog import SCENARIOS
from ..scenarios.errors import InputError, unknown_name
from ..scenarios.knobs import base_name
from .arguments import split

SAME = "The same as an option; give one of the two."

Word = Annotated[Positional[str], arg(metavar="[SCENARIO]")]
"""The one scenario of a command, as NAME[:KNOB=VALUE...]."""
ScenarioOption = Annotated[str, arg(metavar="SCENARIO", help=SAME)]
Words = Annotated[Positional[tuple[str, ...]], arg(metavar="[SCENARIO ...]")]
"""The scenarios of a command that takes several."""
ScenariosOption = Annotated[tuple[str, ...] | None, arg(metavar="SCENARIO ...", aliases=["--scenario"], help=SAME)]
TracesOption = Annotated[tuple[Path, ...], arg(metavar="FILE ...", aliases=["--trace"])]
PoliciesOption = Annotated[tuple[str, ...] | None, arg(metavar="POLICY ...", aliases=["--policy"])]


def option_in(words: Sequence[str], option: str) -> str | None:
    """Return the value that unparsed words give an option, as `--option VALUE` or `--option=VALUE`; None if none."""
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return joined[-1] if joined else dict(pairwise(words)).get(option)


def one_scenario(word: str, option: str, usual: str = "") -> str:
    """The scenario that was given, else `usual`. Raises `InputError` where it was given both ways."""
    if word and option:
        raise InputError(f"scenario '{word}' and --scenario {option}: give one of them")
    return word or option or usual


def scenarios_of(words: Sequence[str], option: Sequence[str] | None) -> list[str]:
    """The scenarios that were given, perhaps none. Raises `InputError` where they were given both ways."""
    if words and option is not None:
        raise InputError(f"scenario '{words[0]}' and --scenarios {' '.join(option)}: give one of them")
    return split_all(words) if words else items("scenarios", option)


def items(name: str, given: Sequence[str] | None) -> list[str]:
    """Items of an option that takes a list, with commas or spaces between. Raises `InputError` for an empty one."""
    found = split_all(given or ())
    if given is not None and not found:
        raise InputError(f"--{name} '{' '.join(given)}' names nothing; legal: names with commas or spaces between")
    return found


def split_all(texts: Iterable[str]) -> list[str]:
    """Items of comma-separated lists."""
    return [item for text in texts for item in split(text)]


def is_scenario(word: str) -> bool:
    """Whether a word names a built-in scenario, perhaps with knobs."""
    return base_name(word) in SCENARIOS


def suite_or_scenarios(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return (the suite that words name, empty for none; the scenarios that they name). Raises `InputError`."""
    names = split_all(words)
    for name in names:
        if name not in SUITES and not is_scenario(name):
            raise unknown_name("suite or scenario", base_name(name), (*SUITES, *SCENARIOS))
    suites = [name for name in names if name in SUITES]
    if suites and len(names) > 1:
        raise InputError(f"'{' '.join(names)}' with the suite '{suites[0]}'; legal: one suite, or scenarios alone")
    return (suites[0], []) if suites else ("", names)
