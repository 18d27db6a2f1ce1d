"""Strategies of the core group that differ from the generic one (supplement A12, A14, B10)."""

from __future__ import annotations

import base64
from typing import Any

from orchtw.objects import Object
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo


class NamespaceStrategy(Strategy):
    """Namespaces carry their own finalizers in the spec and end only when those are gone (supplement A14)."""

    def default(self, obj: Object) -> None:
        self._label(obj)

    def prepare_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_create(obj, user)
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if self.naming.namespace_finalizer not in finalizers:
            finalizers.append(self.naming.namespace_finalizer)
        obj["status"] = {"phase": "Active"}
        self._label(obj)

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        new["spec"] = old.get("spec", {})
        self._label(new)

    def prepare_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name != "finalize":
            return super().prepare_subresource(name, new, old, now)
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


class PodStrategy(Strategy):
    """Pods start Pending and are deleted gracefully once a node runs them (supplement A12, step 3)."""

    DEFAULT_GRACE_S = 30

    def reset_status(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}

    def grace_period_s(self, obj: Object, asked_s: int | None) -> int:
        spec = obj.get("spec", {})
        if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return 0
        if asked_s is None:
            asked_s = int(spec.get("terminationGracePeriodSeconds", self.DEFAULT_GRACE_S))
        return 1 if asked_s < 0 else asked_s

    def prepare_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name == "binding":
            return new
        if name != "ephemeralcontainers":
            return super().prepare_subresource(name, new, old, now)
        spec = dict(old["spec"])
        if added := new.get("spec", {}).get("ephemeralContainers"):
            spec["ephemeralContainers"] = added
        return {**old, "spec": spec}


class NodeStrategy(Strategy):
    """A node agent registers its node with the status that it found; later writes keep to /status."""

    def reset_status(self, obj: Object) -> None:
        pass


class SecretStrategy(Strategy):
    """`stringData` is a write-only way to give `data` as plain text."""

    def settle(self, obj: Object) -> None:
        """Applied documents come here before their types are checked: what is no map of texts is left for that."""
        plain, data = obj.get("stringData"), obj.get("data")
        texts = isinstance(plain, dict) and all(isinstance(value, str) for value in plain.values())
        if texts and isinstance(data, dict | None):
            merge_string_data(obj)


def merge_string_data(secret: Object) -> None:
    """Move `stringData` into `data`, encoded; it is never stored or returned."""
    plain = secret.pop("stringData", None)
    if plain:
        data = dict(secret.get("data") or {})
        data.update((key, base64.b64encode(value.encode()).decode()) for key, value in plain.items())
        position = {"data": dict(sorted(data.items()))}
        rest = {key: value for key, value in secret.items() if key != "data"}
        _reorder(secret, rest, position)


def _reorder(secret: Object, rest: Object, data: Object) -> None:
    """Write `data` where a Secret emits it: before `type`."""
    kind = {"type": rest.pop("type")} if "type" in rest else {}
    secret.clear()
    secret.update({**rest, **data, **kind})


_COMPUTE = ("cpu", "memory")


def qos_class(spec: dict[str, Any]) -> str:
    """A pod's quality of service: Guaranteed, Burstable or BestEffort, by its containers' cpu and memory."""
    resources = [c.get("resources") or {} for key in ("containers", "initContainers") for c in spec.get(key) or ()]
    requests = [_positive(r.get("requests")) for r in resources]
    limits = [_positive(r.get("limits")) for r in resources]
    if not any(requests) and not any(limits):
        return "BestEffort"
    full = all(set(limit) == set(_COMPUTE) for limit in limits)
    same = all(not request or request == limit for request, limit in zip(requests, limits, strict=True))
    return "Guaranteed" if full and same else "Burstable"


def _positive(amounts: dict[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (amounts or {}).items() if key in _COMPUTE and value != "0"}
