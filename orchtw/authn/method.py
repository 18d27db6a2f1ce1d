"""Interfaces of authentication methods, and the groups they add to users (reference AUTHN-3, AUTHN-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol, runtime_checkable

import msgspec
from twisted.application.service import MultiService

from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.claims import Claims
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authn.validity import Validity
from orchtw.config.releases import LAST, Release
from orchtw.config.reloads import Reloads
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.request import Request, UserInfo

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"

ANONYMOUS = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))


class AuthnHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services that the process provides to its authentication methods.

    `seconds` returns the time since the epoch; `clock` is the reactor, for durations; `key` is 32 random bytes.
    `reloads` registers files that SIGHUP reloads, `targets` finds the stored objects that credentials depend on, and
    `accounts` holds the rules of service account tokens. `caller` makes outbound calls; background services become
    children of `services`. Expressions are those of `release`; `anonymous_paths`: a file may say which requests
    may be anonymous. `uses` is told of uses of tokens in Secrets.
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
    release: Release = LAST
    anonymous_paths: bool = True
    uses: TokenUses | None = None


@runtime_checkable
class AnonymousRule(Protocol):
    """Source of tokens that also says which requests may be anonymous."""

    def allows_anonymous(self, path: str, *, otherwise: bool) -> bool:
        """Report whether a request of this path may be anonymous; `otherwise`: what the flags say."""


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
    accepts the token sets `accepted` to those it is valid for. `annotations` are the request's, for its audit event,
    and `warnings` those of its answer.
    """

    token: str
    audiences: Sequence[str]
    own: bool = True
    accepted: Sequence[str] = ()
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    warnings: list[str] = msgspec.field(default_factory=list)


class TokenUses(Protocol):
    """Record of the uses of tokens kept in Secrets (reference AUTHN-65)."""

    def used(self, claims: Claims, uid: str, shown: ShownToken) -> None:
        """Note the use of a valid token. `uid` is its Secret's. Raises Unauthorized (401) if it is marked invalid."""


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


def authenticated(user: UserInfo) -> UserInfo:
    """Add group `system:authenticated` to a user, unless it is anonymous."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))
