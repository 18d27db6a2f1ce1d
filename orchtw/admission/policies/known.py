"""Policies of one kind with their bindings, and those of them that a write matches (reference POLICY-2, POLICY-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from orchtw.admission.attributes import NOT_READY, Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.policies.bindings import binding_of
from orchtw.admission.policies.constraints import Constraints
from orchtw.admission.policies.records import Binding, Policy
from orchtw.admission.webhooks.configurations import Configurations
from orchtw.admission.webhooks.known import GROUP, POLICIES
from orchtw.admission.webhooks.plans import labels_of, other_versions
from orchtw.registry.listers.namespaces import Namespaces
from orchtw.registry.offload import INLINE_BYTES, Compute, Offload
from orchtw.schema import cel
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

T = TypeVar("T")

MAX_PLANS: Final = 10_000
"""Limit of cached plans; a resource has several."""

_REVIEWS: Final = {
    "authentication.orch.io": ("tokenreviews", "selfsubjectreviews"),
    "authorization.orch.io": (
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    ),
}
NAMESPACES: Final = "namespaces"


class Pairing(msgspec.Struct, frozen=True, eq=False):
    """A policy that a write matches, the resource through which it sees it, and the bindings that match too."""

    policy: Policy
    resource: ResourceType
    bindings: tuple[Binding, ...]


class Plan(msgspec.Struct, frozen=True, eq=False):
    """Policies that a kind of write may match.

    `others` are the other versions of the resource. `plain`: the write's namespace, labels and name do not matter.
    """

    pairings: tuple[Pairing, ...]
    others: tuple[ResourceType, ...]
    plain: bool


def _policy(obj: Object) -> Policy:
    from orchtw.admission.policies.definitions import policy_of

    return policy_of(obj)


def loading(offload: Offload) -> Compute:
    """Return a `Compute` in whose thread expressions are loaded: that takes too long for the reactor."""

    async def run(size_bytes: int, work: Callable[[], T], /) -> T:
        return await offload.run(size_bytes if cel.are_loaded() else max(size_bytes, INLINE_BYTES + 1), work)

    return run


class KnownPolicies:
    """Policies and bindings of the kinds with a word such as `validating`."""

    def __init__(self, host: AdmissionHost, word: str, operations: Sequence[str]) -> None:
        group = host.naming.group(GROUP)
        self._exempt = frozenset(
            [f"{each}.{group}" for each in POLICIES]
            + [f"{plural}.{host.naming.group(of)}" for of, plurals in _REVIEWS.items() for plural in plurals]
        )
        self._operations = frozenset(operations)
        self._own = host.naming.api_server_user
        find, run, clock = host.targets.stored_as, loading(host.offload), host.clock
        policies = find(group, f"{word}admissionpolicies")
        bindings = find(group, f"{word}admissionpolicybindings")
        self._policies = Configurations(policies, _policy, run, clock)
        self._bindings = Configurations(bindings, binding_of, run, clock)
        self._policies.changed = self._bindings.changed = self._forget
        host.targets.listen(self._forget)
        self._plans: dict[tuple[str, str, str, str, str], Plan] = {}
        self._namespaces = Namespaces(host.targets)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle all but policies, bindings and reviews, so that a bad policy can be repaired."""
        return operation in self._operations and resource.qualified not in self._exempt

    def idle(self, attributes: Attributes) -> bool:
        """Report whether no policy can match a write, as `matching` would find."""
        found = self.at_once(attributes)
        return found is not None and not found

    def at_once(self, attributes: Attributes) -> Sequence[Pairing] | None:
        """Return what `matching` would, if that depends on nothing but the kind of write; else None."""
        if self._is_own(attributes):
            return ()
        if not (self._policies.ready and self._bindings.ready):
            return None
        if self._policies.empty or self._bindings.empty:
            return ()
        plan = self._plan(attributes)
        return plan.pairings if plan.plain else None

    async def in_force(self) -> None:
        """Return when the policies and bindings that the caches have decide on writes."""
        await self._policies.in_force()
        await self._bindings.in_force()

    async def matching(self, attributes: Attributes) -> Sequence[Pairing]:
        """Return what matches a write, by the name of the policy; the server's own writes match nothing.

        Raises Forbidden (403) while policies and bindings are not known.
        """
        if not self._is_own(attributes):
            for known in (self._policies, self._bindings):
                if not known.ready and not await known.settled():
                    raise attributes.forbidden(NOT_READY)
        found = self.at_once(attributes)
        if found is not None:
            return found
        labels = await self._labels(attributes)
        return tuple(_narrowed(self._plan(attributes), attributes, labels))

    def _is_own(self, attributes: Attributes) -> bool:
        return attributes.request is None and attributes.user.name == self._own

    async def _labels(self, attributes: Attributes) -> Mapping[str, str] | None:
        """Return the labels of the write's namespace, or of the Namespace itself; None: it is in none."""
        if attributes.resource.qualified == NAMESPACES:
            if not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
                return labels_of(attributes.obj) or {}
            name = attributes.namespace or attributes.name
        else:
            name = attributes.namespace
        if not name:
            return None
        found = await attributes.find(self._namespaces, "", name)
        return {} if found is None else found.labels

    def _plan(self, attributes: Attributes) -> Plan:
        resource, subresource = attributes.resource, attributes.subresource
        key = (attributes.operation, resource.plural, resource.version, resource.group, subresource)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            found = self._plans[key] = self._made(attributes)
        return found

    def _made(self, attributes: Attributes) -> Plan:
        """Return what may match: rules for objects of certain names are decided for each write."""
        others = other_versions(attributes)
        bindings: dict[str, list[Binding]] = {}
        for each in self._bindings.all:
            bindings.setdefault(each.policy, []).append(each)
        pairings, plain = [], True
        for policy in self._policies.all:
            seen = _seen(policy.constraints.of_any_name, attributes, others)
            bound = tuple(
                each
                for each in bindings.get(policy.name, ())
                if _seen(each.constraints.of_any_name, attributes, others) is not None
            )
            if seen is not None and bound:
                pairings.append(Pairing(policy, seen, bound))
                plain = plain and not any(map(_asks, (policy.constraints, *(each.constraints for each in bound))))
        return Plan(tuple(pairings), others, plain)

    def _forget(self) -> None:
        self._plans.clear()


def _asks(constraints: Constraints) -> bool:
    return constraints.named or not (constraints.namespaces.empty and constraints.objects.empty)


def _seen(constraints: Constraints, attributes: Attributes, others: tuple[ResourceType, ...]) -> ResourceType | None:
    resource, subresource = attributes.resource, attributes.subresource
    return constraints.seen_as(attributes.operation, resource, others, subresource, attributes.name)


def _narrowed(plan: Plan, attributes: Attributes, labels: Mapping[str, str] | None) -> Iterator[Pairing]:
    """Yield what matches by namespace, labels and name."""

    def matches(constraints: Constraints) -> bool:
        if labels is not None and not constraints.namespaces.matches(labels):
            return False
        wanted = constraints.objects
        if wanted.empty:
            return True
        own = [found for found in (labels_of(attributes.obj), labels_of(attributes.old)) if found is not None]
        return any(map(wanted.matches, own))

    for pairing in plan.pairings:
        policy = pairing.policy
        seen = _seen(policy.constraints, attributes, plan.others) if matches(policy.constraints) else None
        if seen is not None:
            bound = tuple(
                each
                for each in pairing.bindings
                if matches(each.constraints) and _seen(each.constraints, attributes, plan.others) is not None
            )
            if bound:
                yield Pairing(policy, seen, bound)
