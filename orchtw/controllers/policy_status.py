"""Type checking of ValidatingAdmissionPolicies, and their observed generation (reference POLICY-14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import Conflict, NotFound
from orchtw.registry.offload import INLINE_BYTES
from orchtw.schema.nodes import Node
from orchtw.wire.objects import Object

CONCURRENCY: Final = 5
MOST_KINDS: Final = 10
"""Limit of kinds that a policy is checked against."""
EVERYTHING: Final = "*"


class PolicyStatusController(Controller):
    """Controller keyed by names of ValidatingAdmissionPolicies, due when a generation has not been checked."""

    name = "validatingadmissionpolicy-status"
    account = "validatingadmissionpolicy-status-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, CONCURRENCY)
        group = host.naming.group("admissionregistration.orch.io")
        self._policies = self.client.resource(group, "v1", "validatingadmissionpolicies")
        self._informer = Informer(self.client, self._policies, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of policies."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """Check a policy whose generation is not the observed one, and write the warnings to its status."""
        item = await self.client.find(self._policies, "", key)
        if item is None:
            return None
        policy = item.load()
        generation = policy["metadata"].get("generation", 0)
        status = policy.get("status") or {}
        if status.get("observedGeneration") == generation and "typeChecking" in status:
            return None
        kinds = self._kinds(policy["spec"].get("matchConstraints") or {})
        # Compiling takes milliseconds for each expression and kind.
        warnings = await self.host.run(INLINE_BYTES + 1, partial(_warnings, policy["spec"], kinds))
        checking: Object = {"expressionWarnings": warnings} if warnings else {}
        wanted = {**status, "observedGeneration": generation, "typeChecking": checking}
        with suppress(Conflict, NotFound):  # its event queues it again
            await self.client.update(self._policies, "", key, {**policy, "status": wanted}, "status")
        return None

    def _kinds(self, match: Mapping[str, Any]) -> dict[str, Node]:
        """Return the schemas of the kinds that the rules name, by their text in warnings; wildcards name none."""
        found: dict[str, Node] = {}
        for group, version, plural in _named(match):
            kind = self.host.kind_of(group, version, plural)
            if kind is not None:
                found[f"{group}/{version}, Kind={kind[0]}"] = kind[1]
        return {name: found[name] for name in sorted(found)[:MOST_KINDS]}


def _named(match: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for rule in match.get("resourceRules") or ():
        parts = [rule.get(key) or () for key in ("apiGroups", "apiVersions", "resources")]
        if any(EVERYTHING in part for part in parts):
            continue
        for group in parts[0]:
            for version in parts[1]:
                yield from ((group, version, plural) for plural in parts[2] if "/" not in plural)


def _warnings(spec: Mapping[str, Any], kinds: Mapping[str, Node]) -> list[Object]:
    """Return the warnings about the expressions of a policy, one for each expression."""
    found: dict[str, str] = {}
    for name, node in kinds.items():
        for field, fault in _faults(spec, node):
            found[field] = found.get(field, "") + f"{name}: {fault}\n"
    return [{"fieldRef": field, "warning": warning} for field, warning in found.items()]


def _faults(spec: Mapping[str, Any], node: Node) -> Iterator[tuple[str, str]]:
    """Yield expressions by their path, with what does not fit objects of a schema."""
    from orchtw.schema.cel.admission import CONDITION, MESSAGE, OBJECT, OLD_OBJECT, Composition, known_variables
    from orchtw.schema.cel.node_types import type_of

    kind = type_of(node, "object")
    known = known_variables(params=spec.get("paramKind") is not None)
    composition = Composition({**known, OBJECT: kind, OLD_OBJECT: kind})
    for variable in spec.get("variables") or ():
        composition.define(variable["name"], variable["expression"])
    for index, validation in enumerate(spec.get("validations") or ()):
        for key, results in (("expression", CONDITION), ("messageExpression", MESSAGE)):
            source = validation.get(key) or ""
            if source:
                fault = composition.check(source, results, resource=key == "expression").fault
                if fault:
                    yield f"spec.validations[{index}].{key}", fault.removeprefix("compilation failed: ")
