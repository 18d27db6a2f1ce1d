"""Files of a simulated container: those that commands have moved, written or removed (reference SIM-21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

MOST_MOVED: Final = 16
"""Most files of a container that can be elsewhere; further ones cannot be moved."""
MOST_WRITTEN: Final = 64
"""Most files that a command can write or remove; it does not change further ones."""
MOST_TEXT: Final = 4_096
"""Most characters of a file; further ones are lost."""
FOLDERS: Final = ("bin", "dev", "etc", "home", "proc", "root", "sys", "tmp", "usr", "var")
_TEMPORARY: Final = "/tmp/"  # noqa: S108
Changed = Callable[[str, "str | None"], None]


class Files:
    """The moved files by their first places; every other file is taken to be in its place.

    `told` gets the moved files after each change, `changed` a file and its new text, None for one that is removed.
    `texts` are such files from the start. With `guesses`, a file of which nothing is known can be read, except for
    one in `/tmp` with `bare`.
    """

    def __init__(
        self,
        moved: Mapping[str, str] | None = None,
        told: Callable[[Mapping[str, str]], None] | None = None,
        *,
        changed: Changed | None = None,
        texts: Mapping[str, str | None] | None = None,
        guesses: bool = False,
        bare: bool = False,
    ) -> None:
        self.moved = dict(moved or {})
        self._told = told
        self._changed = changed
        self._texts = dict(texts or {})
        self._guesses = guesses
        self._bare = bare

    def observed(self, changed: Changed) -> Files:
        """Return a copy, of whose changes `changed` is told."""
        return Files(
            self.moved, self._told, changed=changed, texts=self._texts, guesses=self._guesses, bare=self._bare
        )

    def write(self, name: str, text: str, *, appends: bool = False) -> None:
        """Replace the text of a file, or add to it; a file that is not there is made."""
        before = (self._texts.get(name) or "") if appends else ""
        self._set(name, f"{before}{text}"[:MOST_TEXT])

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self.exists(name):
            self._set(name, None)

    def exists(self, name: str) -> bool:
        """Report whether a file is there: one that no command has touched is taken to be."""
        if name in self._texts:
            return self._texts[name] is not None
        return not (self._bare and name.startswith(_TEMPORARY))

    def text(self, name: str) -> str | None:
        """Return the text of a file; None for one that cannot be read."""
        if name in self._texts:
            return self._texts[name]
        return "" if self._guesses and self.exists(name) else None

    def _set(self, name: str, text: str | None) -> None:
        if name not in self._texts and len(self._texts) >= MOST_WRITTEN:
            return
        self._texts[name] = text
        if self._changed is not None:
            self._changed(name, text)

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
        return name not in self.moved and not name.startswith(_TEMPORARY) and len(self.moved) < MOST_MOVED
