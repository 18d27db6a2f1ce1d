"""Record and rules of Namespaces (reference DEL-14)."""

from __future__ import annotations

from orchtw.errors import MAX_CAUSES, Cause, Conflict
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_core
from orchtw.values.causes import invalid
from orchtw.values.names import LABEL_NAME, qualified_name
from orchtw.wire.objects import Object

_GENERAL_FINALIZERS = ("orphan", "foregroundDeletion")


class NamespaceStrategy(Strategy):
    """Namespaces carry their own finalizers in the spec and end only when those are gone (reference DEL-14)."""

    def set_defaults(self, obj: Object) -> None:
        self._label(obj)

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if self.naming.namespace_finalizer not in finalizers:
            finalizers.append(self.naming.namespace_finalizer)
        obj["status"] = {"phase": "Active"}
        self._label(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        new["spec"] = old.get("spec", {})
        self._label(new)

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name == "finalize":
            finalizers = new.get("spec", {}).get("finalizers")
            prepared = {**new, "spec": {"finalizers": finalizers} if finalizers else {}}
            if "status" in old:
                prepared["status"] = old["status"]
        else:
            found = super().prepare_for_subresource(name, new, old, now)
            if found is None:
                return None
            prepared = found
        prepared["metadata"] = dict(prepared["metadata"])
        self._label(prepared)
        return prepared

    def validate_subresource(self, name: str, new: Object, old: Object) -> list[Cause]:
        """Validate the finalizers of a write to /finalize, each at its index."""
        if name == "finalize":
            return _check_finalizers(new, "spec.finalizers[{}]", self.naming)
        return super().validate_subresource(name, new, old)

    def holds_removal(self, obj: Object) -> bool:
        return bool(obj.get("spec", {}).get("finalizers"))

    def precondition_failed(self, name: str, what: str, asked: str, found: str) -> Conflict:
        why = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}"
        return Conflict.of(self.resource.plural, self.resource.group, name, why)

    def begin_termination(self, obj: Object) -> None:
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def _label(self, obj: Object) -> None:
        """Label the namespace with its name; a missing name is for others to refuse."""
        meta = obj["metadata"]
        if not meta.get("name"):
            return
        labels = dict(meta.get("labels") or {})
        labels[self.naming.namespace_name_label] = meta["name"]
        meta["labels"] = dict(sorted(labels.items()))


def validate_namespace(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that a new namespace has known finalizers; updates leave them as they are."""
    return _check_finalizers(new, "spec.finalizers", naming) if old is None else []


def validate_namespace_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the phase is Terminating if, and only if, the object is being deleted."""
    expected, but = "Active", "empty"
    if new["metadata"].get("deletionTimestamp"):
        expected, but = "Terminating", "not empty"
    phase = new.get("status", {}).get("phase", "")
    if phase == expected:
        return []
    return [invalid("status.Phase", phase, f"may only be '{expected}' if `deletionTimestamp` is {but}")]


def _check_finalizers(namespace: Object, path: str, naming: Naming) -> list[Cause]:
    """Return the causes for finalizers without a domain that are not known; `path` may hold their index."""
    causes = []
    for index, finalizer in enumerate(namespace.get("spec", {}).get("finalizers") or ()):
        place = path.format(index)
        causes += [invalid(place, finalizer, text) for text in qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in (naming.namespace_finalizer, *_GENERAL_FINALIZERS):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid(place, finalizer, text))
        if len(causes) > MAX_CAUSES:
            break
    return causes


NAMESPACE = KindRecord(
    group="",
    kind="Namespace",
    strategy=NamespaceStrategy,
    name_form=LABEL_NAME,
    validate=validate_namespace,
    validate_status=validate_namespace_status,
    cells=cells_core.namespace,
)
