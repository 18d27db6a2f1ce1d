"""What an authentication method is, and the groups that come with having passed one (reference AUTHN-3, AUTHN-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Protocol

import attrs
from twisted.application.service import MultiService

from orchtw.authn.service_accounts.issuing import AccountTokens
from orchtw.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.reloads import Reloads
from orchtw.request import Request, UserInfo

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Host:
    """What the process gives to its authentication methods.

    `seconds` is the time since the epoch, `clock` the reactor, which measures durations, `key` 32 random bytes.
    `reloads` gets what can be read again; `targets` lead to the stored objects that credentials depend on. `accounts`
    says which tokens are service accounts'. `caller` asks others; what works in the background is a child of
    `services`.
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


class Authenticator(Protocol):
    """One method of `--client-ca-file`, `--token-auth-file` and the like."""

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The user, or None if the request holds no credentials of this method.

        Answers at once where it can, and with an awaitable where it must ask somebody. Raises Unauthorized
        (401) for credentials that are of this method and wrong.
        """


class TokenMethod(Protocol):
    """One source of bearer tokens."""

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, or None if this source does not know it.

        Raises Unauthorized (401) for a token that is of this source and wrong; the others are asked all the same.
        """


def authenticated(user: UserInfo) -> UserInfo:
    """The user with group `system:authenticated`, which every success but the anonymous one brings."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return attrs.evolve(user, groups=(*user.groups, AUTHENTICATED))
