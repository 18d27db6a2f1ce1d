"""Translation of whole objects to another vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from orchtw.naming.naming import Naming
from orchtw.renaming.fields import Fields
from orchtw.renaming.identifiers import Names
from orchtw.renaming.value_functions import ValueFunctions, renamed_keys
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.conversion.autoscaling import CURRENT_METRICS, METRICS
from orchtw.schema.kinds import GroupKind
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

_CACHED_SETS = 4096  # field sets: objects of the same shape have equal ones
_CACHED_BYTES = 8 << 10  # of the largest cached field set
_METRICS = (METRICS, CURRENT_METRICS)
"""Annotations that hold fields of another version of HorizontalPodAutoscaler: their values are not user data."""


class ObjectRenaming:
    """Translator from the vocabulary `old` to that of `codecs`.

    Objects are canonical dicts with the JSON keys of `codecs` (Protobuf decodes to these, as it stores field numbers)
    and all other names in the old vocabulary.
    """

    def __init__(self, old: Naming, codecs: Codecs) -> None:
        self._codecs = codecs
        new = codecs.catalogue.naming
        self._names = Names(old, new, [new.neutral(group.name) for group in codecs.catalogue.groups])
        self._values = ValueFunctions(self._names)
        self._fields = Fields(self._values)
        self._kept_set = lru_cache(maxsize=_CACHED_SETS)(self._read_set)
        self._special: dict[GroupKind, Callable[[Object, Object], Object]] = {
            GroupKind("", "Service"): self._service,
            GroupKind("discovery.orch.io", "EndpointSlice"): self._slice,
            GroupKind("apps", "ControllerRevision"): self._revision,
            GroupKind("autoscaling", "HorizontalPodAutoscaler"): self._autoscaler,
        }

    def place(self, kind: GroupKind, namespace: str, name: str) -> tuple[str, str]:
        """Return the new namespace and name of an object."""
        return self._names.namespace(namespace), self._values.name(kind, namespace, name)

    def translate(self, obj: Object) -> Object:
        """Translate an object that has its kind and its new apiVersion; return the same object if nothing changes."""
        api_version, kind = obj["apiVersion"], obj["kind"]
        run = self._values.struct(self._codecs.kind(api_version, kind).schema)
        out: Object = obj if run is None else run(obj)
        group_kind = GroupKind.of(api_version.rpartition("/")[0], kind, self._names.new)
        special = self._special.get(group_kind)
        if special is not None:
            out = special(obj, out)
        meta = obj.get("metadata") or {}
        changed: Object = {}
        name = meta.get("name", "")
        renamed = self._values.name(group_kind, meta.get("namespace", ""), name)
        if renamed != name:
            changed["name"] = renamed
        if entries := meta.get("managedFields"):
            changed["managedFields"] = [self._entry(entry, kind) for entry in entries]
        if owners := meta.get("ownerReferences"):
            changed["ownerReferences"] = [self._owner(owner, meta.get("namespace", "")) for owner in owners]
        if all(meta[key] == value for key, value in changed.items()):
            return out
        return {**out, "metadata": {**out["metadata"], **changed}}

    def _owner(self, owner: Object, namespace: str) -> Object:
        """Translate an owner reference; `namespace` is the dependent's old one, also that of a namespaced owner."""
        api_version = owner.get("apiVersion", "")
        kind = self._values.kind(api_version.rpartition("/")[0], owner.get("kind", ""))
        changed = {
            "apiVersion": self._names.api_version(api_version),
            "name": self._values.name(kind, namespace, owner.get("name", "")),
        }
        return {key: changed.get(key, value) for key, value in owner.items()}

    def _entry(self, entry: Object, kind: str) -> Object:
        api_version = self._names.api_version(entry.get("apiVersion", ""))
        changed = {"manager": self._names.component(entry.get("manager", "")), "apiVersion": api_version}
        out = {**entry, **{key: value for key, value in changed.items() if key in entry}}
        if fields := entry.get("fieldsV1"):
            text = orjson.dumps(fields)
            read = self._kept_set if len(text) <= _CACHED_BYTES else self._read_set
            out["fieldsV1"] = read(text, api_version, kind)
        return out

    def _read_set(self, text: bytes, api_version: str, kind: str) -> Object:
        """Translate an encoded field set; one that is malformed or of an unknown version stays as it is."""
        tree: Object = loads(text)
        try:
            return self._fields.translate(tree, self._codecs.kind(api_version, kind).schema)
        except (KeyError, ValueError):
            return tree

    def _service(self, old: Object, new: Object) -> Object:
        """Translate label `provider` of the API's own Service."""
        meta, names = old["metadata"], self._names
        own = (meta.get("namespace"), meta.get("name")) == (names.old.default_namespace, names.old.product)
        provider = (new["metadata"].get("labels") or {}).get("provider")
        return _labelled(new, "provider", names.new.product) if own and provider == names.old.product else new

    def _slice(self, old: Object, new: Object) -> Object:
        """Translate the label with the name of the slice's Service, which is in the same namespace."""
        label = f"{self._names.new.label_domain}/service-name"
        name = (new["metadata"].get("labels") or {}).get(label)
        if name is None:
            return new
        return _labelled(new, label, self._names.service(old["metadata"].get("namespace", ""), name))

    def _revision(self, _: Object, obj: Object) -> Object:
        """Translate the pod template in the patch that a workload's ControllerRevision holds."""
        data: Any = obj.get("data")
        run = self._values.struct(self._codecs.kind("v1", "PodTemplate").schema)
        assert run is not None
        try:
            template = data["spec"]["template"]
            new = run({"template": template})["template"]
            return obj if new is template else {**obj, "data": {**data, "spec": {**data["spec"], "template": new}}}
        except (AttributeError, KeyError, TypeError):
            return obj  # not written by the API's controllers

    def _autoscaler(self, _: Object, obj: Object) -> Object:
        meta = obj["metadata"]
        annotations = dict(meta.get("annotations") or {})
        for name in _METRICS:
            key = self._names.new.translate(name)
            if key in annotations:
                annotations[key] = self._metrics(annotations[key])
        if annotations == (meta.get("annotations") or {}):
            return obj
        return {**obj, "metadata": {**meta, "annotations": annotations}}

    def _metrics(self, text: str) -> str:
        try:
            value = loads(text)
        except ValueError:
            return text
        new = self._metric_part(value)
        return text if new == value else orjson.dumps(new).decode()

    def _metric_part(self, value: Any) -> Any:
        """Translate the apiVersions and label selectors in a part of the metrics."""
        if type(value) is list:
            return [self._metric_part(each) for each in value]
        if type(value) is not dict:
            return value
        out = {key: self._metric_part(each) for key, each in value.items()}
        if type(out.get("apiVersion")) is str:
            out["apiVersion"] = self._names.api_version(out["apiVersion"])
        if type(out.get("matchLabels")) is dict:
            out["matchLabels"] = renamed_keys(out["matchLabels"], self._names.qualified)
        if "operator" in out and type(out.get("key")) is str:
            out["key"] = self._names.qualified(out["key"])
        return out


def _labelled(obj: Object, label: str, value: str) -> Object:
    """Return `obj` with a new value of an existing label; the same object if the value does not change."""
    meta = obj["metadata"]
    if meta["labels"][label] == value:
        return obj
    return {**obj, "metadata": {**meta, "labels": {**meta["labels"], label: value}}}
