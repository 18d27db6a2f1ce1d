"""Interfaces of authentication methods, and the groups they add to users (reference AUTHN-3, AUTHN-4).

A token method also reports the audiences of a token (reference AUTHN-7).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec
from twisted.application.service import MultiService

from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.issuing import AccountTokens
from orchtw.authn.validity import LastingPlainTokens, Validity
from orchtw.config.reloads import Reloads
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.request import Request, UserInfo

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
Options = TypeVar("Options")
"""Configuration of a method: options, or the values of a plugin's flags."""

ANONYMOUS = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))


class AuthnHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services that the process provides to its authentication methods.

    `seconds` returns the time since the epoch; `clock` is the reactor, for durations; `key` is 32 random bytes.
    `reloads` registers files that SIGHUP reloads, `targets` finds the stored objects that credentials depend on, and
    `accounts` holds the rules of service account tokens. `caller` makes outbound calls; background services become
    children of `services`.
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
        """Return the user, or None if the request has no credentials of this method.

        The result is an awaitable only if another process must be called. Raises Unauthorized (401) for invalid
        credentials of this method.
        """


class ShownToken(msgspec.Struct, kw_only=True, eq=False):
    """A bearer token to authenticate.

    It must be valid for one of `audiences`; `own` says whether they include one of this API's. The source that
    accepts the token sets `accepted` to those it is valid for. `annotations` are the request's, for its audit event.
    """

    token: str
    audiences: Sequence[str]
    own: bool = True
    accepted: Sequence[str] = ()
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class TokenMethod(Protocol):
    """Source of bearer tokens that reports each token's audiences."""

    def find(self, shown: ShownToken) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None if the token is not this source's; sets `shown.accepted`.

        Raises Unauthorized (401) for an invalid token of this source; the other sources are still tried.
        """


@runtime_checkable
class LastingTokens(Protocol):
    """A source of tokens that can be asked about one for which it has just been asked: see `validity.Lasting`."""

    def lasts(self, shown: ShownToken) -> Validity | None:
        """Return for how long the answer holds; None: it has to be asked each time."""


class TokenReviewer(Protocol):
    """Authenticator of tokens outside requests, for TokenReviews."""

    async def whose(self, token: str, audiences: Sequence[str] = ()) -> tuple[UserInfo, Sequence[str]]:
        """Return a token's user, and those of `audiences` (empty: this API's) that the token is valid for.

        Raises Unauthorized (401) if no source accepts the token.
        """


class PlainTokens(Protocol):
    """Source of bearer tokens that are valid for this API only: see `ForThisAPI`."""

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None if the token is not this source's.

        Raises Unauthorized (401) as `TokenMethod.find` does.
        """


class ForThisAPI:
    """Token method over a source without audiences: its tokens are valid for this API's (reference AUTHN-7)."""

    def __init__(self, source: PlainTokens, audiences: Sequence[str]) -> None:
        self._source = source
        self._audiences = tuple(audiences)

    def find(self, shown: ShownToken) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user; None also if none of the requested audiences is this API's."""
        if not shown.own:
            return None
        shown.accepted = common(self._audiences, shown.audiences)
        return self._source.find(shown.token)

    def lasts(self, shown: ShownToken) -> Validity | None:
        """Return what the source says of tokens meant for this API, see `LastingTokens`."""
        source = self._source
        return source.lasts(shown.token) if isinstance(source, LastingPlainTokens) else None


def plain(
    make: Callable[[AuthnHost, Options], PlainTokens | None],
) -> Callable[[AuthnHost, Options], TokenMethod | None]:
    """Turn the factory of a source without audiences into that of a token method."""

    def made(host: AuthnHost, options: Options) -> TokenMethod | None:
        source = make(host, options)
        return None if source is None else ForThisAPI(source, host.accounts.audiences)

    return made


def common(these: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return those of `these` that are also in `others`, in the order of `these`."""
    if these == others:
        return tuple(these)
    wanted = frozenset(others)
    return tuple(each for each in these if each in wanted)


def authenticated(user: UserInfo) -> UserInfo:
    """Add group `system:authenticated` to a user, unless it is anonymous."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))
