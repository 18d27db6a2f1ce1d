"""Contract of authorizers, and their decisions (reference AUTHZ-1, AUTHZ-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from random import Random
from typing import Any, Protocol

import attrs
from twisted.application.service import MultiService

from orchtw.authz.live_roles import LiveRoles
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.rbac import PolicyRule


@attrs.frozen(slots=True)
class Decision:
    """`allowed` True or False decides; None is no opinion, so the next authorizer is asked.

    `reason` goes to the audit log and, on a refusal, to the user. `error` is why there is no better answer, such as a
    server that could not be asked.
    """

    allowed: bool | None
    reason: str = ""
    error: str = ""

    @property
    def why(self) -> str:
        """Return reason and error together, for the text of a refusal."""
        return "\n".join(text for text in (self.reason, self.error) if text)


ALLOWED, NO_OPINION = Decision(True), Decision(None)


@attrs.frozen(slots=True, kw_only=True)
class ResourceRule:
    """Verbs on resources; "*" stands for all."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()


@attrs.frozen(slots=True, kw_only=True)
class PathRule:
    """Verbs on non-resource paths; "*" stands for all, at the end of a path for what is below it."""

    verbs: tuple[str, ...]
    paths: tuple[str, ...]


@attrs.frozen(slots=True, kw_only=True)
class UserRules:
    """Rules of a user in a namespace; `incomplete`: there may be more. `error` says why, or what is wrong with the
    user's roles (reference AUTHZ-29).
    """

    resources: tuple[ResourceRule | PolicyRule, ...] = ()
    paths: tuple[PathRule | PolicyRule, ...] = ()
    incomplete: bool = False
    error: str = ""


def together(errors: Sequence[str]) -> str:
    """Errors as the reference server shows several: in brackets, each once."""
    once = list(dict.fromkeys(error for error in errors if error))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


EVERYTHING = UserRules(
    resources=(ResourceRule(verbs=("*",), groups=("*",), resources=("*",)),),
    paths=(PathRule(verbs=("*",), paths=("*",)),),
)


@attrs.frozen(slots=True, kw_only=True, eq=False)
class AuthzHost:
    """Services of the process to its authorizers.

    `targets` lead to stored objects, `roles` to roles by user. `caller` calls webhooks; what follows stored
    objects is a child of `services`, which start once the caches are filled and before the first request. `clock` is
    the reactor.
    """

    naming: Naming
    clock: Any
    random: Random
    targets: Targets
    caller: Caller
    services: MultiService
    roles: LiveRoles = attrs.field()

    @roles.default
    def _roles(self) -> LiveRoles:
        return LiveRoles(self.targets, self.naming)


class Authorizer(Protocol):
    """One mode of `--authorization-mode`."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Decide whether the user may do this: at once where possible, else as an awaitable."""

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return what the mode allows the user in a namespace and on non-resource paths."""
