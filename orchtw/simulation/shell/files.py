"""Files of a simulated container: only which of them commands have moved away (reference SIM-21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

MOST_MOVED: Final = 16
"""Most files of a container that can be elsewhere; further ones cannot be moved."""
FOLDERS: Final = ("bin", "dev", "etc", "home", "proc", "root", "sys", "tmp", "usr", "var")


class Files:
    """The moved files by their first places; every other file is taken to be in its place.

    `told` gets the moved files after each change.
    """

    def __init__(
        self, moved: Mapping[str, str] | None = None, told: Callable[[Mapping[str, str]], None] | None = None
    ) -> None:
        self.moved = dict(moved or {})
        self._told = told

    def move(self, source: str, target: str) -> bool:
        """Move a file, into the folder `target` or to that name; report whether it was there."""
        if target.endswith("/") or target.strip("/") in FOLDERS:
            target = f"{target.rstrip('/')}/{source.rpartition('/')[2]}"
        origin = next((first for first, place in self.moved.items() if place == source), source)
        if origin == source and not self._is_in_place(source):
            return False
        if origin == target:
            del self.moved[origin]
        else:
            self.moved[origin] = target
        if self._told is not None:
            self._told(self.moved)
        return True

    def _is_in_place(self, name: str) -> bool:
        """Report whether a file is where it has always been, and may leave; the folder `/tmp` was empty at first."""
        return name not in self.moved and not name.startswith("/tmp/") and len(self.moved) < MOST_MOVED  # noqa: S108
