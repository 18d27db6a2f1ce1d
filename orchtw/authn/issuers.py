"""Issuers of `--authentication-config` as one source of tokens, which follows its file (reference AUTHN-62)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from twisted.application.service import MultiService

from orchtw.authn.authentication_file import FLAG, AnonymousRequests, AuthenticationFile, read
from orchtw.authn.compact import compact
from orchtw.authn.method import AuthnHost
from orchtw.authn.oidc import IDTokens, id_tokens
from orchtw.authn.validity import Validity
from orchtw.config.authentication import AuthenticationOptions
from orchtw.outbound.followed_file import FollowedFile
from orchtw.request import UserInfo
from orchtw.schema.cel.environment import environment

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")


class Issuers:
    """Authenticator of the tokens of all issuers in a file; `load` reads the file."""

    def __init__(self, host: AuthnHost, load: Callable[[], AuthenticationFile]) -> None:
        self._host = host
        self._load = load
        self._issuers: dict[str, IDTokens] = {}
        self._sources: dict[str, tuple[str, bytes]] = {}
        self._services: MultiService | None = None
        self.anonymous: AnonymousRequests | None = None
        self.read()

    def read(self) -> None:
        """Read the file, whose issuers replace those that there were. Raises ConfigError; nothing changes then.

        The known keys of an issuer that is reached as before count until they have been fetched again.
        """
        found, services = self._load(), MultiService()  # type: ignore[no-untyped-call]
        sources = {each.mapping.issuer: (each.discovery_url, each.authorities) for each in found.issuers}
        issuers = {
            each.mapping.issuer: id_tokens(
                self._host, each.mapping, ALGORITHMS, each.authorities, services, each.discovery_url
            )
            for each in found.issuers
        }
        for name, each in issuers.items():
            if name in self._issuers and sources[name] == self._sources[name]:
                each.take_keys_of(self._issuers[name])
        self._issuers, self._sources = issuers, sources
        self.anonymous = found.anonymous
        before, self._services = self._services, services
        if before is not None:
            before.disownServiceParent()  # type: ignore[no-untyped-call]
        services.setServiceParent(self._host.services)  # type: ignore[no-untyped-call]

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None for a token of another issuer. Raises Unauthorized (401)."""
        of_issuer = self._issuer_of(token)
        return None if of_issuer is None else of_issuer.find(token)

    def lasts(self, token: str) -> Validity | None:
        """Have the issuers' tokens looked at each time, see `validity.LastingPlainTokens`.

        A token of no issuer stays that until the file is read again.
        """
        if self._issuer_of(token) is not None:
            return None
        issuers = self._issuers
        return Validity(known=False, stands=(lambda: self._issuers is issuers,))

    def allows_anonymous(self, path: str, *, otherwise: bool) -> bool:
        """Report whether a request of this path may be anonymous; `otherwise` if the file does not say."""
        return otherwise if self.anonymous is None else self.anonymous.allows(path)

    def _issuer_of(self, token: str) -> IDTokens | None:
        read_token = compact(token)
        issuer = None if read_token is None else read_token.claims.get("iss")
        return self._issuers.get(issuer) if isinstance(issuer, str) else None


def from_file(host: AuthnHost, options: AuthenticationOptions) -> Issuers:
    """Return the issuers of `--authentication-config`, and follow the file. Raises ConfigError."""
    path = options.config_file
    assert path is not None
    known, disallowed, paths = environment(host.release), tuple(host.accounts.issuers), host.anonymous_paths

    def load() -> AuthenticationFile:
        return read(Path(path), known, disallowed, paths=paths)

    made = Issuers(host, load)
    host.reloads.add(FLAG, made.read)
    FollowedFile(path, FLAG, made.read, host.clock).setServiceParent(host.services)  # type: ignore[no-untyped-call]
    return made
