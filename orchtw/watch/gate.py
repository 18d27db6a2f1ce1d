"""Gate of a watch wire: holds back frames until a webhook has converted their objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from orchtw.errors import StatusError
from orchtw.watch.entry import Entry

Done = Callable[[StatusError | None], None]
"""Is told once: None when everything is there, else why it is not. It must not raise."""


class Gate(Protocol):
    """Says of which entries frames can be made at once, and has the others made ready."""

    def lacks(self, entry: Entry) -> bool:
        """Report whether the entry has to be prepared first."""

    def prepare(self, entries: Sequence[Entry], done: Done) -> None:
        """Begin to make entries ready; `done` may be told before this returns."""
