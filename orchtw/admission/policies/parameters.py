"""Parameters of policies: objects of any kind that is served (reference POLICY-9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.policies.records import Binding, Parameters, Policy
from orchtw.errors import StatusError, Timeout
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

MOST_KEPT: Final = 256
"""Parameters that are kept decoded."""

_WITHOUT: Final = (None,)
_CLUSTER_SCOPED: Final = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NO_NAMESPACE: Final = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NOT_FOUND: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"


class Misconfigured(Exception):
    """Error: a policy or binding cannot be applied to a write; the text says why."""


class ParameterStore:
    """Finder of parameters in the caches of their kinds."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._kinds: dict[tuple[str, str], Target | None] = {}
        self._known: dict[tuple[tuple[str, str], str], tuple[Entry, Object]] = {}
        targets.listen(self._forget)

    async def of(self, policy: Policy, binding: Binding, asked: Attributes) -> Sequence[Object | None]:
        """Return the parameters to evaluate a policy with, by name; None: once, without any. Raises Misconfigured."""
        try:
            if binding.broken:
                raise Misconfigured(binding.broken)
            if policy.kind is None or binding.parameters is None:
                return _WITHOUT
            return await self._found(policy.kind, binding.parameters, asked)
        except Misconfigured as problem:
            raise Misconfigured(f"failed to configure binding: {problem}") from None
        except StatusError as problem:
            raise Misconfigured(f"failed to configure binding: {problem.message}") from None

    async def _found(self, kind: tuple[str, str], wanted: Parameters, asked: Attributes) -> list[Object]:
        shown = f"paramKind kind `&ParamKind{{APIVersion:{kind[0]},Kind:{kind[1]},}}`"
        target = self._target(kind)
        if target is None:
            raise Misconfigured(f"{shown} not known")
        namespace = _namespace(target, wanted, asked)
        entries = self._entries(target, wanted, namespace)
        if not entries and (due := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            try:
                await due
            except Timeout:
                raise Misconfigured(f"{shown} not yet synced to use for admission") from None
            entries = self._entries(target, wanted, namespace)
        if not entries and wanted.required:
            raise Misconfigured(_NOT_FOUND)
        if entries and target.forms is not None:
            await target.forms.ensure(entries)
        return [self._loaded(kind, target, entry) for entry in entries]

    def _entries(self, target: Target, wanted: Parameters, namespace: str) -> list[Entry]:
        if wanted.labels is None:
            found = target.stored.get(namespace, wanted.name)
            return [] if found is None else [found]
        labels = wanted.labels
        entries = target.stored.cache.snapshot(namespace)
        return sorted((each for each in entries if labels.matches(each.labels)), key=lambda each: each.name)

    def _loaded(self, kind: tuple[str, str], target: Target, entry: Entry) -> Object:
        known = self._known.get((kind, entry.key))
        if known is None or known[0] is not entry:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            known = self._known[kind, entry.key] = entry, target.load(entry)
        return known[1]

    def _target(self, kind: tuple[str, str]) -> Target | None:
        if kind not in self._kinds:
            found = (each for each in self._targets.served() if _kind(each) == kind)
            self._kinds[kind] = next(found, None)
        return self._kinds[kind]

    def _forget(self) -> None:
        self._kinds.clear()
        self._known.clear()


def _kind(target: Target) -> tuple[str, str]:
    return target.resource.api_version, target.resource.kind


def _namespace(target: Target, wanted: Parameters, asked: Attributes) -> str:
    """Return the namespace of the parameters; empty: their kind has none. Raises Misconfigured."""
    if not target.resource.namespaced:
        if wanted.namespace:
            raise Misconfigured(_CLUSTER_SCOPED)
        return ""
    namespace = wanted.namespace or (asked.namespace if asked.resource.namespaced else "")
    if not namespace:
        raise Misconfigured(_NO_NAMESPACE)
    return namespace
