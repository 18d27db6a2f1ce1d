"""Verbosity of the log: `-v`, `--vmodule`, and changes at run time (reference OPS-19)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

REQUESTS: Final = 3
"""Least verbosity that logs every request."""

DETAILS: Final = 4
"""Least verbosity that logs details, which only help to find errors."""


class Verbosity:
    """The `level` of all modules except those whose name, or its last part, matches a pattern in `modules`."""

    def __init__(self, level: int = 0, modules: tuple[tuple[str, int], ...] = ()) -> None:
        self._level = level
        self._modules = modules
        self._found: dict[str, int] = {}

    @property
    def level(self) -> int:
        """Level where no pattern matches."""
        return self._level

    @level.setter
    def level(self, level: int) -> None:
        self._level = level
        self._found.clear()

    def of(self, module: str) -> int:
        """Return the level of a module such as `orchtw.filters.request_log`; the first matching pattern counts."""
        found = self._found.get(module)
        if found is None:
            found = self._found[module] = self._find(module)
        return found

    def _find(self, module: str) -> int:
        last = module.rpartition(".")[2]
        for pattern, level in self._modules:
            if fnmatchcase(last, pattern) or fnmatchcase(module, pattern):
                return level
        return self._level
