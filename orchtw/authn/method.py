"""Contract of authentication methods, and the groups of authenticated users (reference AUTHN-3, AUTHN-4).

A token method also reports the audiences of a token (reference AUTHN-7).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol

import attrs
from twisted.application.service import MultiService

from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.issuing import AccountTokens
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.request import Request, UserInfo

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))


@attrs.frozen(slots=True, kw_only=True, eq=False)
class AuthnHost:
    """Services of the process to its authentication methods.

    `seconds` is the time since the epoch, `clock` the reactor, which measures durations, `key` 32 random bytes.
    `reloads` gets what can be read again; `targets` lead to the stored objects that credentials depend on. `accounts`
    says which tokens are service accounts'. `caller` asks others; what works in the background is a child of
    `services`. `metrics` count.
    """

    naming: Naming
    seconds: Callable[[], float]
    clock: Any
    random: Random
    key: bytes
    reloads: Reloads
    targets: Targets
    accounts: AccountTokens
    caller: Caller
    services: MultiService
    metrics: AuthenticationMetrics


class Authenticator(Protocol):
    """One method of `--client-ca-file`, `--token-auth-file` and the like."""

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The user, or None if the request holds no credentials of this method.

        Answers at once where it can, and with an awaitable where it must ask somebody. Raises Unauthorized
        (401) for credentials that are of this method and wrong.
        """


@attrs.define(slots=True, kw_only=True, eq=False)
class ShownCredentials:
    """A bearer token that somebody shows.

    It must be meant for one of `audiences`; `own` tells whether this API's are among them. The source that knows the
    token puts into `accepted` which of them it is meant for. `annotations` are the request's, for its audit event.
    """

    token: str
    audiences: Sequence[str]
    own: bool = True
    accepted: Sequence[str] = ()
    annotations: dict[str, str] = attrs.field(factory=dict)


class TokenMethod(Protocol):
    """Source of bearer tokens that knows the audiences of each."""

    def find(self, shown: ShownCredentials) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, or None if this source does not know it; sets `shown.accepted`.

        Raises Unauthorized (401) for a token that is of this source and wrong; the others are asked all the same.
        """


class TokenReviewer(Protocol):
    """Says of a token without a request whose it is."""

    async def whose(self, token: str, audiences: Sequence[str] = ()) -> tuple[UserInfo, Sequence[str]]:
        """The user of a token that is meant for one of these audiences (none: this API's), and which it is meant for.

        Raises Unauthorized (401) for a token that nobody knows.
        """


class PlainTokens(Protocol):
    """A source of bearer tokens that are meant for this API and nobody else: see `ForThisAPI`."""

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, or None if this source does not know it. Raises Unauthorized (401) as TokenMethod."""


class ForThisAPI:
    """Asks a source about tokens only where one of this API's audiences will do (reference AUTHN-7)."""

    def __init__(self, source: PlainTokens, audiences: Sequence[str]) -> None:
        self._source = source
        self._audiences = tuple(audiences)

    def find(self, shown: ShownCredentials) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, or None."""
        if not shown.own:
            return None
        shown.accepted = common(self._audiences, shown.audiences)
        return self._source.find(shown.token)


def plain(
    make: Callable[[AuthnHost, Config], PlainTokens | None],
) -> Callable[[AuthnHost, Config], TokenMethod | None]:
    """The factory of a source, from one that knows nothing of audiences."""

    def made(host: AuthnHost, config: Config) -> TokenMethod | None:
        source = make(host, config)
        return None if source is None else ForThisAPI(source, host.accounts.audiences)

    return made


def common(these: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Those that are among the others too, in their order."""
    if these == others:
        return tuple(these)
    wanted = frozenset(others)
    return tuple(each for each in these if each in wanted)


def authenticated(user: UserInfo) -> UserInfo:
    """The user with group `system:authenticated`, which every success but the anonymous one brings."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return attrs.evolve(user, groups=(*user.groups, AUTHENTICATED))
