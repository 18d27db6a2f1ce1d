"""Whole objects in the names of another vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from orchtw.naming import Naming
from orchtw.renaming.fields import Fields
from orchtw.renaming.names import Names
from orchtw.renaming.values import Values, renamed_keys
from orchtw.schema.codec import Codecs
from orchtw.schema.conversion_autoscaling import CURRENT_METRICS, METRICS

Object = dict[str, Any]

_CACHED_SETS = 4096  # objects of one shape share their field sets
_CACHED_BYTES = 8 << 10
_METRICS = (METRICS, CURRENT_METRICS)
"""Annotations that are fields of the version which is stored: their values are the API's, not a user's."""


class Objects:
    """From the vocabulary `old` into that of `codecs`.

    Objects are canonical dicts under the JSON keys of `codecs` (which Protobuf gives, as it has numbers), with all
    other names in the old vocabulary.
    """

    def __init__(self, old: Naming, codecs: Codecs) -> None:
        self._codecs = codecs
        new = codecs.catalogue.naming
        self._names = Names(old, new, [new.neutral(group.name) for group in codecs.catalogue.groups])
        self._values = Values(self._names)
        self._fields = Fields(self._values)
        self._kept_set = lru_cache(maxsize=_CACHED_SETS)(self._read_set)
        self._special: dict[tuple[str, str], Callable[[Object], Object]] = {
            ("", "Service"): self._own_service,
            ("apps", "ControllerRevision"): self._revision,
            ("autoscaling", "HorizontalPodAutoscaler"): self._autoscaler,
        }

    def place(self, group: str, kind: str, namespace: str, name: str) -> tuple[str, str]:
        """The new namespace and name of an object of a neutral group and kind."""
        return self._names.namespace(namespace), self._values.name(group, kind, namespace, name)

    def translate(self, obj: Object) -> Object:
        """`obj`, which names its kind and new apiVersion; the very object if nothing in it changes."""
        api_version, kind = obj["apiVersion"], obj["kind"]
        run = self._values.struct(self._codecs.kind(api_version, kind).schema)
        out: Object = obj if run is None else run(obj)
        group = self._names.new.neutral(api_version.rpartition("/")[0])
        special = self._special.get((group, kind))
        if special is not None:
            out = special(out)
        meta = obj.get("metadata") or {}
        changed: Object = {}
        name = meta.get("name", "")
        renamed = self._values.name(group, kind, meta.get("namespace", ""), name)
        if renamed != name:
            changed["name"] = renamed
        entries = meta.get("managedFields") or []
        owners = [self._entry(entry, kind) for entry in entries]
        if owners != entries:
            changed["managedFields"] = owners
        return {**out, "metadata": {**out["metadata"], **changed}} if changed else out

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
        """The translated set; one that is none, or about a version that is unknown, stays as it is."""
        tree: Object = orjson.loads(text)
        try:
            return self._fields.translate(tree, self._codecs.kind(api_version, kind).schema)
        except (KeyError, ValueError):
            return tree

    def _own_service(self, obj: Object) -> Object:
        """The label that says who provides the API's own Service."""
        meta, names = obj["metadata"], self._names
        labels = meta.get("labels") or {}
        own = (meta.get("namespace"), meta.get("name")) == (names.new.default_namespace, names.old.product)
        if not own or labels.get("provider") != names.old.product:
            return obj
        return {**obj, "metadata": {**meta, "labels": {**labels, "provider": names.new.product}}}

    def _revision(self, obj: Object) -> Object:
        """The patch that a revision of a workload keeps has a template of pods."""
        data: Any = obj.get("data")
        run = self._values.struct(self._codecs.kind("v1", "PodTemplate").schema)
        assert run is not None
        try:
            template = data["spec"]["template"]
            new = run({"template": template})["template"]
            return obj if new is template else {**obj, "data": {**data, "spec": {**data["spec"], "template": new}}}
        except (AttributeError, KeyError, TypeError):
            return obj  # it is not what the API's controllers write

    def _autoscaler(self, obj: Object) -> Object:
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
            value = orjson.loads(text)
        except ValueError:
            return text
        new = self._metric_part(value)
        return text if new == value else orjson.dumps(new).decode()

    def _metric_part(self, value: Any) -> Any:
        """Metrics name objects by apiVersion and select series by labels."""
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
