"""Gate of a watch wire: holds back frames until a webhook has converted their objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from orchtw.errors import StatusError
from orchtw.watch.entry import Entry

Done = Callable[[StatusError | None], None]
"""Function that is called once: with None when everything is ready, else with the error. It must not raise."""


class Gate(Protocol):
    """Gate for entries whose frames cannot be made at once; prepares them."""

    def lacks(self, entry: Entry) -> bool:
        """Report whether the entry has to be prepared first."""

    def prepare(self, entries: Sequence[Entry], done: Done) -> None:
        """Begin to prepare entries; `done` may be called before this returns."""
