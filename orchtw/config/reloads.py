"""Files that are read again on SIGHUP: tokens, authorities, certificates."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from orchtw.errors import ConfigError

Read = Callable[[], None]


class Reloads:
    """Things that can be read again, each under the name that the log calls it by."""

    _log = Logger()

    def __init__(self) -> None:
        self._reads: dict[str, Read] = {}

    def add(self, what: str, read: Read) -> None:
        """`read` takes over what the files hold now; raises ConfigError, changing nothing, if it cannot be used."""
        self._reads[what] = read

    def read(self, what: str) -> None:
        """Read one thing again, if there is one of this name. Raises ConfigError as its `read`."""
        if (read := self._reads.get(what)) is not None:
            read()

    def run(self) -> None:
        """Read everything again and say so; what cannot be used is logged, and what was there before stays."""
        if not self._reads:
            self._log.info("reload: nothing was given by flags that could be read again")
        for what, read in self._reads.items():
            try:
                read()
            except ConfigError as error:
                self._log.error("reload: {what} cannot be used and stays as it was: {why}", what=what, why=str(error))
            except Exception:  # noqa: BLE001 - the others are read all the same
                self._log.failure("reload: {what} could not be read and stays as it was", what=what)
            else:
                self._log.info("reload: {what} read again", what=what)
