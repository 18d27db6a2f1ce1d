"""Interface of authorizers, and their decisions (reference AUTHZ-1, AUTHZ-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol, runtime_checkable

import attrs
import msgspec
from twisted.application.service import MultiService

from orchtw.authz.live_roles import LiveRoles
from orchtw.config.releases import LAST, Release
from orchtw.config.reloads import Reloads
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.rbac import PolicyRule


class Decision(msgspec.Struct, frozen=True):
    """Decision of an authorizer: `allowed` is None for no opinion, so that the next authorizer is asked.

    `reason` goes to the audit log and, if the request is refused, to the user. `error` is an evaluation error, such
    as a failed webhook call.
    """

    allowed: bool | None
    reason: str = ""
    error: str = ""

    @property
    def why(self) -> str:
        """Return reason and error joined, for the text of a 403."""
        return "\n".join(text for text in (self.reason, self.error) if text)


ALLOWED, NO_OPINION = Decision(True), Decision(None)


class ResourceRule(msgspec.Struct, frozen=True, kw_only=True):
    """Allowed verbs on resources; `*` matches all."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()


class PathRule(msgspec.Struct, frozen=True, kw_only=True):
    """Allowed verbs on non-resource paths; `*` matches all, and at the end of a path any suffix."""

    verbs: tuple[str, ...]
    paths: tuple[str, ...]


class UserRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules of a user in a namespace (reference AUTHZ-29).

    `incomplete` means that there may be more. `error` says why, or what is wrong with the user's roles.
    """

    resources: tuple[ResourceRule | PolicyRule, ...] = ()
    paths: tuple[PathRule | PolicyRule, ...] = ()
    incomplete: bool = False
    error: str = ""


def together(errors: Sequence[str]) -> str:
    """Join errors as the reference server does: each once, in brackets if several."""
    once = list(dict.fromkeys(error for error in errors if error))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


EVERYTHING = UserRules(
    resources=(ResourceRule(verbs=("*",), groups=("*",), resources=("*",)),),
    paths=(PathRule(verbs=("*",), paths=("*",)),),
)


@attrs.frozen(slots=True, kw_only=True, eq=False)
class AuthzHost:
    """Services that the process provides to its authorizers.

    `targets` finds stored objects, `roles` the roles of a user. `caller` calls webhooks. Children of `services` start
    once the caches are filled and before the first request. `clock` is the reactor. `reloads` registers files that
    SIGHUP reloads; expressions are those of `release`. `selectors`: reviews have those of the request.
    """

    naming: Naming
    clock: Any
    random: Random
    targets: Targets
    caller: Caller
    services: MultiService
    reloads: Reloads | None = None
    release: Release = LAST
    selectors: bool = False
    roles: LiveRoles = attrs.field()

    @roles.default
    def _roles(self) -> LiveRoles:
        return LiveRoles(self.targets, self.naming)


class Authorizer(Protocol):
    """An authorizer, as `--authorization-mode` names them."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Decide whether the user may do this; the result is an awaitable only if it takes a call or a thread."""

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules for the user in a namespace and on non-resource paths."""


Stands = Sequence[Callable[[], bool]]
"""Functions of which each reports whether something is as it was; none: it never changes."""


@runtime_checkable
class Lasting(Protocol):
    """An authorizer that can say for how long a decision holds."""

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands | None:
        """Return what to look at before the decision just made is repeated for equal requests, whatever their name.

        None: that cannot be told, or it depends on the name.
        """
