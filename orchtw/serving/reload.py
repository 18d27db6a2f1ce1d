"""Certificates and authorities that the operator replaces while the server runs (reference REQ-26, AUTHN-12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from twisted.application.internet import TimerService
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.errors import ConfigError
from orchtw.serving.tls_context import ServingTLS, TLSOptions

INTERVAL_S = 60.0
"""How often the files are looked at: renewals come days before an old certificate ends."""

_STAYS = "the new certificate files cannot be used, what was read before stays"
_log = Logger()


class CertificateReload(TimerService):
    """Looks at `files` every INTERVAL_S and gives `tls` what `read` makes of them when one has changed.

    New connections get the new certificate. Files that cannot be used are logged, and the old certificate stays.
    """

    def __init__(
        self, tls: ServingTLS, files: Sequence[Path], read: Callable[[], TLSOptions], clock: IReactorTime
    ) -> None:
        super().__init__(INTERVAL_S, self.look)  # type: ignore[no-untyped-call]
        self.clock = clock
        self._tls = tls
        self._files = tuple(files)
        self._read = read
        self._seen = self._state()

    def look(self) -> None:
        """Once in an interval."""
        if self._state() == self._seen:
            return
        try:
            self.read()
        except ConfigError as error:
            _log.error(_STAYS + ": {why}", why=str(error))
        except Exception:  # noqa: BLE001 - a timer whose call fails is called no more
            _log.failure(_STAYS)
        else:
            _log.info("the new certificate files are in use from now on")

    def read(self) -> None:
        """Take over what the files hold now. Raises ConfigError when that cannot be used; the old context stays."""
        self._seen = self._state()
        self._tls.reload(self._read())

    def _state(self) -> tuple[tuple[int, int], ...]:
        return tuple(map(_stamp, self._files))


def _stamp(path: Path) -> tuple[int, int]:
    """Time and inode tell a replaced file from the old one; a missing file is (0, 0)."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
