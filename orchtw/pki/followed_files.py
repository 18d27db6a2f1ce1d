"""Automatic reload of replaced certificate, key and CA files (reference REQ-26, AUTHN-12, CSR-15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.errors import ConfigError
from orchtw.pki.timer import Timer

INTERVAL_S = 60.0
"""Interval at which the files are checked: certificates are renewed days before they expire."""

_STAYS = "{what}: the new files cannot be used; keeping the old ones"
_log = Logger()


class FollowedFiles(Timer):
    """Service that calls `take_over` when one of `files` has changed, checked every `interval_s`.

    `take_over` raises ConfigError without changing anything if the files are unusable, which is logged. `what` names
    the files in the log.
    """

    def __init__(
        self,
        what: str,
        files: Sequence[Path],
        take_over: Callable[[], None],
        clock: IReactorTime,
        interval_s: float = INTERVAL_S,
    ) -> None:
        super().__init__(interval_s, self.look, clock)
        self.what = what
        self._files = tuple(files)
        self._take_over = take_over
        self._seen = self._state()

    def look(self) -> None:
        """Reload the files if one has changed; log errors."""
        if self._state() == self._seen:
            return
        try:
            self.read()
        except ConfigError as error:
            _log.error(_STAYS + ": {why}", what=self.what, why=str(error))
        except Exception:  # noqa: BLE001 - a timer whose call fails stops
            _log.failure(_STAYS, what=self.what)
        else:
            _log.info("{what}: now using the new files", what=self.what)

    def read(self) -> None:
        """Reload the files now. Raises ConfigError, keeping the old values, if they are unusable."""
        self._seen = self._state()
        self._take_over()

    def _state(self) -> tuple[tuple[int, int], ...]:
        return tuple(map(_stamp, self._files))


def _stamp(path: Path) -> tuple[int, int]:
    """Return modification time and inode, which identify a version of the file; (0, 0) if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
