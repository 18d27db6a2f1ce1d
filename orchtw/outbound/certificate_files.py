"""Client certificates of files, which may be renewed while the server runs (reference CLIENT-14)."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from orchtw.errors import ConfigError
from orchtw.outbound.credentials import REREAD_S, Credentials, ShownHeaders
from orchtw.outbound.policy import BadTLS, TLSPolicy

Read = Callable[[], TLSPolicy]
"""Function that reads certificate and key from the files. Raises ConfigError for unreadable ones."""


class CertificateFiles:
    """A certificate added to the credentials of `others`, read again from time to time.

    Unreadable files, or ones that do not match while they are being replaced, leave the last certificate in use.
    """

    def __init__(self, read: Read, others: Credentials | None, seconds: Callable[[], float]) -> None:
        self._read_files = read
        self._others = others
        self._seconds = seconds
        self._held = read()
        self._due_s = seconds() + REREAD_S

    async def current(self) -> ShownHeaders:
        """Return credentials with the certificate of the last minute, unless the others have one of their own."""
        if self._seconds() >= self._due_s:
            self._read()
        shown = ShownHeaders() if self._others is None else await self._others.current()
        if shown.certificate:
            return shown
        return attrs.evolve(shown, certificate=self._held.certificate, key=self._held.key)

    def refused(self, shown: ShownHeaders) -> bool:
        """Report whether the other credentials or the files have changed since."""
        if shown.certificate != self._held.certificate:  # the others' own, or that of the files before the last read
            return self._others is None or self._others.refused(shown)
        self._read()
        others = self._others is not None and self._others.refused(attrs.evolve(shown, certificate=b"", key=b""))
        return others or shown.certificate != self._held.certificate

    def _read(self) -> None:
        self._due_s = self._seconds() + REREAD_S
        try:
            found = self._read_files()
            found.tls()
        except (ConfigError, BadTLS):
            return
        self._held = found
