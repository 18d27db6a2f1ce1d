"""Reloading of files on SIGHUP: tokens, certificate authorities, certificates."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from orchtw.errors import ConfigError

Read = Callable[[], None]


class Reloads:
    """Registry of what can be reloaded, by the name shown in the log."""

    _log = Logger()

    def __init__(self) -> None:
        self._reads: dict[str, Read] = {}

    def add(self, what: str, read: Read) -> None:
        """Register `read`, which loads the current files or raises ConfigError without changing anything."""
        self._reads[what] = read

    def read(self, what: str) -> None:
        """Reload one entry, if it is registered. Raises ConfigError like its `read`."""
        if (read := self._reads.get(what)) is not None:
            read()

    def run(self) -> None:
        """Reload everything and log the outcomes; an entry whose files are unusable keeps its old values."""
        if not self._reads:
            self._log.info("reload: no flag names a file that can be reread")
        for what, read in self._reads.items():
            try:
                read()
            except ConfigError as error:
                self._log.error("reload: keeping the old {what}: {why}", what=what, why=str(error))
            except Exception:  # noqa: BLE001 - one failure must not stop the others
                self._log.failure("reload: keeping the old {what}", what=what)
            else:
                self._log.info("reload: reread {what}", what=what)
