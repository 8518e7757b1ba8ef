"""Entry of the `varigym` command. What it runs is imported in `main`, where Ctrl-C is already heard."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .interrupts import hear_as_usual, hear_early


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `varigym` command."""
    hear_early()
    try:
        from .commands.main import read_command, run_command

        command = read_command(argv)
    finally:
        hear_as_usual()
    sys.exit(run_command(command))


if __name__ == "__main__":
    main()
