"""Surface of a server in one vocabulary: its resources, their codecs and a small valid object of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

from orchtw.naming.naming import Naming
from orchtw.registry.custom.kinds import kinds_of
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.codec import CustomCodec
from orchtw.schema.nodes import Node, StructSchema
from tests.end_to_end.minimal import Minimal
from tests.fuzz import customs

_SPECIAL = frozenset(
    {
        "CertificateSigningRequest", "CronJob", "Deployment", "EndpointSlice", "Event", "HorizontalPodAutoscaler",
        "Namespace",
        "Node", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget", "ReplicaSet", "ReplicationController",
        "Secret", "Service",
        "StatefulSet",
    }
)  # fmt: skip
"""Kinds that have conversions, sub-resources, strategies or rows of their own."""


class Surface:
    """One vocabulary; everything is made once, since requests are made by the thousand."""

    def __init__(self, vocabulary: str) -> None:
        self.naming = Naming.of(vocabulary)
        self.catalogue = Catalogue.load(self.naming)
        self.codecs = Codecs(self.catalogue)
        self.resources = self.catalogue.resources
        self.stored = tuple(each for each in self.resources if each.storage_version)
        self.virtual = tuple(each for each in self.resources if not each.storage_version)
        self.annotated = tuple(self._annotated())
        self.kinds = tuple((each.api_version, each.kind) for each in self.stored)
        self.special = tuple(each for each in self.stored if each.kind in _SPECIAL)
        self.translate = cache(self.naming.translate)
        self._minimal = Minimal(self.catalogue, self.codecs)
        self._objects: dict[tuple[str, str], bytes] = {}
        self._by_kind = {(each.api_version, each.kind): each for each in self.resources if each.storage_version}
        self.definitions = customs.definitions(self.naming)
        self.structures: dict[tuple[str, str], customs.Schema] = {}
        self._custom_codecs: dict[tuple[str, str], CustomCodec] = {}
        self.customs = tuple(each for definition in self.definitions for each in self._custom(definition))

    def _custom(self, definition: dict[str, Any]) -> Iterator[ResourceType]:
        """The resources of a definition, as it should be."""
        spec = definition["spec"]
        known = {**definition, "status": {"acceptedNames": spec["names"]}}
        for version, (resource, schema) in zip(spec["versions"], kinds_of(known, self.codecs.schemas), strict=True):
            key = (resource.api_version, resource.kind)
            self.structures[key] = version["schema"]["openAPIV3Schema"]
            self._custom_codecs[key] = CustomCodec(resource, schema, self.codecs)
            self._objects[key] = b'{"metadata":{"name":"minimal"}}'
            if resource.group == customs.STEADY_GROUP:
                self._by_kind[key] = resource
            yield resource

    def _annotated(self) -> Iterator[tuple[str, Node]]:
        """Annotations in which the server itself keeps values of a schema."""
        schema = self.codecs.kind("autoscaling/v2beta1", "HorizontalPodAutoscaler").schema
        for part, field, name in (
            ("spec", "metrics", "metrics"),
            ("status", "currentMetrics", "current-metrics"),
            ("status", "conditions", "conditions"),
        ):
            node = schema.keys[part].node
            assert isinstance(node, StructSchema)
            yield self.naming.translate(f"autoscaling.alpha.orch.io/{name}"), node.keys[field].node

    def codec(self, resource: ResourceType) -> Codec:
        """The codec of a resource's kind."""
        custom = self._custom_codecs.get((resource.api_version, resource.kind))
        return custom or self.codecs.kind(resource.api_version, resource.kind)

    def resource_of(self, api_version: str, kind: str) -> ResourceType | None:
        """The stored resource of a kind; none of a custom one whose definition may change at any time."""
        return self._by_kind.get((api_version, kind))

    def minimal(self, resource: ResourceType) -> dict[str, Any]:
        """A new small object of the kind, with a name that is to be replaced; metadata holds nothing else."""
        key = (resource.api_version, resource.kind)
        text = self._objects.get(key)
        if text is None:
            obj = self._minimal.obj(resource, "minimal")
            obj["metadata"] = {"name": "minimal"}
            if resource.kind == "CertificateSigningRequest":
                obj["spec"]["request"] = "AA=="  # a new key each time would make each run another one
            text = self._objects[key] = orjson.dumps(obj)
        out: dict[str, Any] = orjson.loads(text)
        return out

    @staticmethod
    def collection(resource: ResourceType, namespace: str) -> str:
        """The path of a collection; across namespaces without one."""
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        scope = f"/namespaces/{namespace}" if resource.namespaced and namespace else ""
        return f"{root}{scope}/{resource.plural}"
