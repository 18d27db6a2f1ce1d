"""Namespaces (reference DEL-14)."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.rules.names import LABEL_NAME
from orchtw.schema.tables import cells_core


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
        if name != "finalize":
            return super().prepare_for_subresource(name, new, old, now)
        spec = {key: value for key, value in old.get("spec", {}).items() if key != "finalizers"}
        if finalizers := new.get("spec", {}).get("finalizers"):
            spec["finalizers"] = finalizers
        return {**old, "spec": spec}

    def holds_removal(self, obj: Object) -> bool:
        return bool(obj.get("spec", {}).get("finalizers"))

    def begin_termination(self, obj: Object) -> None:
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def _label(self, obj: Object) -> None:
        """Label the namespace with its name; one that has none yet, or never gets one, is for others to refuse."""
        meta = obj["metadata"]
        if not meta.get("name"):
            return
        labels = dict(meta.get("labels") or {})
        labels[self.naming.namespace_name_label] = meta["name"]
        meta["labels"] = dict(sorted(labels.items()))


NAMESPACE = Kind(
    group="", kind="Namespace", strategy=NamespaceStrategy, name_form=LABEL_NAME, cells=cells_core.namespace
)
