"""Files that the operator replaces while the server runs: certificates, keys, authorities
(reference REQ-26, AUTHN-12, CSR-15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from twisted.application.internet import TimerService
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.errors import ConfigError

INTERVAL_S = 60.0
"""How often the files are looked at: renewals come days before an old certificate ends."""

_STAYS = "{what}: the new files cannot be used, what was read before stays"
_log = Logger()


class FollowedFiles(TimerService):
    """Looks at `files` every INTERVAL_S and has `take_over` read them when one has changed.

    `take_over` raises ConfigError, changing nothing, for what cannot be used; that is logged. `what` names the files.
    """

    def __init__(
        self, what: str, files: Sequence[Path], take_over: Callable[[], None], clock: IReactorTime
    ) -> None:
        super().__init__(INTERVAL_S, self.look)  # type: ignore[no-untyped-call]
        self.what = what
        self.clock = clock
        self._files = tuple(files)
        self._take_over = take_over
        self._seen = self._state()

    def look(self) -> None:
        """Once in an interval."""
        if self._state() == self._seen:
            return
        try:
            self.read()
        except ConfigError as error:
            _log.error(_STAYS + ": {why}", what=self.what, why=str(error))
        except Exception:  # noqa: BLE001 - a timer whose call fails is called no more
            _log.failure(_STAYS, what=self.what)
        else:
            _log.info("{what}: the new files are in use from now on", what=self.what)

    def read(self) -> None:
        """Take over what the files hold now. Raises ConfigError when that cannot be used; what was there stays."""
        self._seen = self._state()
        self._take_over()

    def _state(self) -> tuple[tuple[int, int], ...]:
        return tuple(map(_stamp, self._files))


def _stamp(path: Path) -> tuple[int, int]:
    """Time and inode tell a replaced file from the old one; a missing file is (0, 0)."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
