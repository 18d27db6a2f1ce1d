"""Credentials of this server at another one: fixed headers, and tokens of a file (reference CLIENT-8)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import attrs
import msgspec

REREAD_S: Final = 60.0
"""Interval at which a token file is read again."""


@attrs.frozen(slots=True, kw_only=True)
class ShownHeaders:
    """Credentials of one request: headers, and PEM bytes of a client certificate and key if there are any."""

    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    certificate: bytes = attrs.field(default=b"", repr=False)
    key: bytes = attrs.field(default=b"", repr=False)


class CredentialsError(Exception):
    """Error about missing credentials; the text gives the reason."""


class Credentials(Protocol):
    """Source of credentials for requests to another server."""

    async def current(self) -> ShownHeaders:
        """Return credentials for the next request. Raises CredentialsError."""

    def refused(self, shown: ShownHeaders) -> bool:
        """Report whether a retry is worthwhile after the other side has answered 401 to these."""


class Fixed(msgspec.Struct, frozen=True):
    """Credentials that never change."""

    shown: ShownHeaders

    async def current(self) -> ShownHeaders:
        """Return the fixed credentials."""
        return self.shown

    def refused(self, _shown: ShownHeaders) -> bool:
        """Report False: there are no others."""
        return False


@attrs.frozen(slots=True, kw_only=True)
class Certified:
    """Credentials of `others`, if any, together with a client certificate."""

    certificate: bytes = attrs.field(repr=False)
    key: bytes = attrs.field(repr=False)
    others: Credentials | None = None

    async def current(self) -> ShownHeaders:
        """Return the others' credentials, with the client certificate unless they have their own."""
        shown = ShownHeaders() if self.others is None else await self.others.current()
        return shown if shown.certificate else attrs.evolve(shown, certificate=self.certificate, key=self.key)

    def refused(self, shown: ShownHeaders) -> bool:
        """Report whether the others have changed; the certificate stays the same."""
        return self.others is not None and self.others.refused(shown)


class TokenOf:
    """A token from a file that is read again from time to time; while it is unreadable, the last token is used."""

    def __init__(self, path: Path, token: str, seconds: Callable[[], float]) -> None:
        self._path = path
        self._seconds = seconds
        self._shown = bearer(token)
        self._due_s = seconds() + REREAD_S

    async def current(self) -> ShownHeaders:
        """Return the token read in the last minute."""
        if self._seconds() >= self._due_s:
            self._read()
        return self._shown

    def refused(self, shown: ShownHeaders) -> bool:
        """Report whether the file holds another token by now."""
        if self._shown == shown:
            self._read()
        return self._shown != shown

    def _read(self) -> None:
        self._due_s = self._seconds() + REREAD_S
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError):
            return
        if token:
            self._shown = bearer(token)


def bearer(token: str) -> ShownHeaders:
    """Return the header of a bearer token."""
    return ShownHeaders(headers=(("Authorization", f"Bearer {token}"),))


def basic(username: str, password: str) -> ShownHeaders:
    """Return the header of a name and password."""
    return ShownHeaders(
        headers=(("Authorization", f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"),)
    )
