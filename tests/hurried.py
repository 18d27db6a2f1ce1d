"""`python -m tests.hurried MODULE.NAME=SECONDS… -- ARGUMENTS…`: the server with shorter periods than a user's.

Some periods have no flag, such as that in which servers renew their records. Tests of what happens at the end of one
need not wait for all of it: that it is as long as the reference says is checked by the tests of its module, which
have a clock of their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from twisted.scripts import twistd

from orchtw.testing.process import ServerProcess

END = "--"


class HurriedServer(ServerProcess):
    """A server whose `periods` are constants of its modules, by their full names, in seconds."""

    def __init__(
        self, reactor: Any, data_dir: str | os.PathLike[str], *flags: str, periods: Mapping[str, float], **more: Any
    ) -> None:
        super().__init__(reactor, data_dir, *flags, **more)
        self._periods = periods

    def _command(self) -> tuple[str, ...]:
        if not self._periods:
            return super()._command()
        _, _, _, *arguments = super()._command()
        periods = (f"{name}={seconds}" for name, seconds in self._periods.items())
        return (sys.executable, "-m", "tests.hurried", *periods, END, *arguments)


def main() -> None:
    """Set the periods and run the server."""
    at = sys.argv.index(END)
    for each in sys.argv[1:at]:
        name, _, seconds = each.partition("=")
        module, _, constant = name.rpartition(".")
        found = import_module(module)
        assert isinstance(getattr(found, constant), float), name
        setattr(found, constant, float(seconds))
    sys.argv = ["twistd", *sys.argv[at + 1 :]]
    twistd.run()


if __name__ == "__main__":
    main()
