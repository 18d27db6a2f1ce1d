"""Progress of filling the caches."""

from __future__ import annotations

from typing import Final

import attrs
from twisted.logger import Logger

LOG_INTERVAL_S: Final = 2.0  # a start that takes no longer says nothing


@attrs.define(slots=True, eq=False)
class Loading:
    """Counts of `objects` read and of those `left` to read; the last one was below `prefix`."""

    began: float
    objects: int = 0
    left: int = 0
    prefix: str = ""
    _said: float = attrs.field(init=False)
    _log = Logger()

    def __attrs_post_init__(self) -> None:
        self._said = self.began

    def __str__(self) -> str:
        if not self.objects:
            return f"{self.prefix} is being read" if self.prefix else "the store is being opened"
        coming = f", {self.left} follow" if self.left else ""
        return f"{self.objects} objects have been read{coming}, at {self.prefix}"

    def advanced(self, now: float, objects: int, left: int, prefix: str) -> None:
        """Count further objects; log the progress from time to time."""
        self.objects += objects
        self.left, self.prefix = left, prefix
        if now - self._said >= LOG_INTERVAL_S:
            self._said = now
            self._log.info("filling the caches: {progress}", progress=str(self))
