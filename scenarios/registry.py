"""Catalogs that anyone may add to: things by name, with errors that say which names there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from .errors import InputError, unknown_name

T = TypeVar("T")
RESERVED = "+:,=[]/\\"
"""Characters that have a meaning in names of policies, knobs, lists, metrics or paths."""


class Registry(dict[str, T]):
    """Entries by name, in the order in which they were added; `what` is what errors call one of them."""

    def __init__(self, what: str, entries: Mapping[str, T] | None = None) -> None:
        """Start with `entries`."""
        super().__init__(entries or {})
        self.what = what

    @classmethod
    def of(cls, what: str, *entries: Any) -> Registry[Any]:
        """A registry of entries that have a `name`."""
        return cls(what, {entry.name: entry for entry in entries})

    def add(self, name: str, entry: T) -> T:
        """Add an entry and return it. Raises `InputError` for a name that is taken or that cannot be one."""
        self.check_new(name)
        self[name] = entry
        return entry

    def check_new(self, name: str) -> None:
        """Raises `InputError` for a name that is taken or that cannot be one."""
        if not isinstance(name, str) or not name.isprintable() or not name or set(name) & set(RESERVED + " "):
            raise InputError(f"{self.what} {name!r}; legal: a name without spaces and without {' '.join(RESERVED)}")
        if name in self:
            raise InputError(f"{self.what} '{name}' exists already; legal: a new name")

    def find(self, name: str) -> T:
        """The entry of a name. Raises `InputError` with the closest names."""
        if name not in self:
            raise unknown_name(self.what, name, self)
        return self[name]
