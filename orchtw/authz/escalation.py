"""Privilege escalation checks on writes of roles and bindings (reference AUTHZ-20 to AUTHZ-23)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from orchtw.authz.decision import Authorizer, Decision
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.masters import MASTERS
from orchtw.authz.refusal import forbidden
from orchtw.errors import Forbidden, NotFound
from orchtw.registry.offload import Compute
from orchtw.registry.write import Write
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.rbac import EVERYTHING, PolicyRule, TooManyRules, compact, go_quote_all, rules_of, uncovered
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

ROLES: Final = frozenset({"roles", "clusterroles"})
BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_AGGREGATION: Final = "must have cluster-admin privileges to use the aggregationRule"
_COLLECTED: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")
"""Metadata that the garbage collector or the server sets: changing it grants no rights (reference AUTHZ-20)."""

BYTES_A_RULE: Final = 256
BYTES_AN_ATOM: Final = 64
"""Cost of a held rule and of a wanted combination, in bytes of input: large comparisons run in a thread."""

MAX_BYTES: Final = 4 << 20
"""Upper limit of a comparison's cost, in bytes of input."""

MAX_TOLD: Final = 128
"""Most missing rules listed in a 403."""


class GrantChecks(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Implementation of `Permissions`: `authorizer` decides on verbs, `roles` has the rules that the writer holds."""

    authorizer: Authorizer
    roles: LiveRoles
    run: Compute

    async def creating(self, write: Write) -> None:
        """Check verb create for an update or apply that creates its object (reference AUTHZ-3).

        Raises Forbidden (403).
        """
        request = write.request
        if request is None or request.info is None:
            return
        info = msgspec.structs.replace(request.info, verb="create", name=write.name)
        decision = await self._decide(write.user, info)
        if not decision.allowed:
            raise forbidden(write.user, info, decision.reason)

    def concerns(self, write: Write) -> bool:
        """Report whether a request writes roles or bindings and its user is not in `system:masters`."""
        resource = write.target.resource
        if resource.group != self.roles.group or resource.plural not in ROLES | BINDINGS:
            return False
        return write.request is not None and MASTERS not in write.user.groups

    async def granting(self, write: Write, new: Object, old: Object | None) -> None:
        """Check that the writer holds the rights of a role or binding, or may grant them (AUTHZ-20, AUTHZ-23).

        Raises Forbidden (403), and NotFound (404) for a binding whose role does not exist.
        """
        if old is not None and _without_collected(new) == _without_collected(old):
            return
        await self.roles.settled()
        if write.target.resource.plural in ROLES:
            await self._role(write, new, old)
        else:
            await self._binding(write, new)

    async def _role(self, write: Write, new: Object, old: Object | None) -> None:
        resource, request = write.target.resource, write.request
        name = "" if request is None or request.info is None else request.info.name
        if await self._may(write.user, "escalate", resource.plural, write.namespace, name):
            return
        size = BYTES_A_RULE * len(new.get("rules") or ())
        wanted: Sequence[PolicyRule] = await self.run(min(size, MAX_BYTES), partial(rules_of, new))
        await self._confirm(write, new, wanted)
        if new.get("aggregationRule") or (old or {}).get("aggregationRule"):
            held, _ = self.roles.held(write.user, write.namespace)
            if await self._missing(write, new, held, EVERYTHING):
                raise self._refusal(write, new, _AGGREGATION)

    async def _binding(self, write: Write, new: Object) -> None:
        role = new.get("roleRef") or {}
        kind, name = role.get("kind"), role.get("name", "")
        plurals = {"Role": "roles", "ClusterRole": "clusterroles"}
        if kind not in plurals or role.get("apiGroup") != self.roles.group:
            return  # validation rejects it
        if await self._may(write.user, "bind", plurals[kind], write.namespace, name):
            return
        rules = self.roles.rules((write.namespace if kind == "Role" else "", name))
        if rules is None:
            raise NotFound.of(plurals[kind], self.roles.group, name)
        await self._confirm(write, new, rules)

    async def _confirm(self, write: Write, new: Object, wanted: Sequence[PolicyRule]) -> None:
        """Raise Forbidden (403) unless the writer holds all these rules in the namespace (reference AUTHZ-21)."""
        user = write.user
        held, errors = self.roles.held(user, write.namespace)
        missing = await self._missing(write, new, held, wanted)
        if not missing:
            return
        text = (
            f"user {go_quote(user.name)} (groups={go_quote_all(user.groups)}) is attempting to grant "
            "RBAC permissions not currently held:\n" + "\n".join(missing)
        )
        if errors:
            text += f"; resolution errors: [{_aggregate(errors)}]"
        raise self._refusal(write, new, text)

    async def _missing(
        self, write: Write, new: Object, held: Sequence[PolicyRule], wanted: Sequence[PolicyRule]
    ) -> list[str]:
        """Return the wanted rules that are not held, one a line.

        Raises Forbidden (403) if they are too many to compare.
        """
        size = BYTES_A_RULE * len(held) + BYTES_AN_ATOM * sum(rule.atoms for rule in wanted)
        try:
            found: list[str] = await self.run(min(size, MAX_BYTES), partial(_told, held, wanted))
        except TooManyRules as error:
            raise self._refusal(write, new, str(error)) from None
        return found

    async def _may(self, user: UserInfo, verb: str, plural: str, namespace: str, name: str) -> bool:
        info = RequestInfo(
            is_resource=True, verb=verb, path="", group=self.roles.group, version="*", namespace=namespace,
            resource=plural, name=name,
        )  # fmt: skip
        return bool((await self._decide(user, info)).allowed)

    async def _decide(self, user: UserInfo, info: RequestInfo) -> Decision:
        decision = self.authorizer.authorize(user, info)
        return decision if isinstance(decision, Decision) else await decision

    @staticmethod
    def _refusal(write: Write, new: Object, why: str) -> Forbidden:
        resource = write.target.resource
        return Forbidden.of(resource.plural, resource.group, new["metadata"].get("name", ""), why)


def _told(held: Sequence[PolicyRule], wanted: Sequence[PolicyRule]) -> list[str]:
    lines = sorted(set(map(str, compact(uncovered(held, wanted)))))
    return lines if len(lines) <= MAX_TOLD else [*lines[:MAX_TOLD], f"and {len(lines) - MAX_TOLD} more"]


def _aggregate(errors: Sequence[str]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def _without_collected(obj: Object) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTED and value}
    return {key: value for key, value in {**obj, "metadata": meta}.items() if value}
