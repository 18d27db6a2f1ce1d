"""Strategies of the core group (reference DEL-6, DEL-14, KIND-17, KIND-30)."""
# covers: orchtw.registry.strategy

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pods import qos_class
from orchtw.registry.groups.core.secrets import merge_string_data
from orchtw.registry.strategies import strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)
USER = UserInfo(name="ann")
NOW = "2024-05-06T07:08:09Z"


def strategy(group: str, version: str, plural: str) -> Strategy:
    resource = CATALOGUE.find(group, version, plural)
    assert resource is not None
    return strategy_for(resource, NAMING, CODECS.kind(resource.api_version, resource.kind))


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


class QosTests(SynchronousTestCase):
    """Results of `qos_class` by pod."""

    def test_classes(self) -> None:
        """Equal requests and limits of cpu and memory guarantee, any of them bursts, none is best effort."""
        full = {"cpu": "1", "memory": "1Gi"}
        for containers, expected in [
            ([container()], "BestEffort"),
            ([container(limits={"example.com/gpu": "1"})], "BestEffort"),
            ([container(requests={"cpu": "1"})], "Burstable"),
            ([container(limits={"cpu": "1"})], "Burstable"),
            ([container(requests=full, limits=full)], "Guaranteed"),
            ([container(limits=full)], "Guaranteed"),
            ([container(requests={"cpu": "1"}, limits=full)], "Burstable"),
            ([container(requests=full, limits=full), container()], "Burstable"),
        ]:
            self.assertEqual(qos_class({"containers": containers}), expected, containers)


class SecretTests(SynchronousTestCase):
    """Merging of `stringData` into data."""

    def test_merged_in_place(self) -> None:
        """Plain text overrides data of the same key; keys stay sorted, and before the type."""
        secret = {"metadata": {}, "data": {"b": "eA=="}, "stringData": {"b": "y", "a": "z"}, "type": "Opaque"}
        merge_string_data(secret)
        self.assertEqual(list(secret), ["metadata", "data", "type"])
        self.assertEqual(secret["data"], {"a": "eg==", "b": "eQ=="})

    def test_unchecked_configuration(self) -> None:
        """Anything but a map of texts is left for validation to refuse."""
        for value in ("x", {"a": 1}, ["a"], None):
            secret: dict[str, Any] = {"stringData": value}
            strategy("", "v1", "secrets").fold_write_only(secret)
            self.assertEqual(secret, {"stringData": value})
        for data in ([None], ["ab"], "text", 1):
            secret = {"data": data, "stringData": {"a": "b"}}
            strategy("", "v1", "secrets").fold_write_only(secret)
            self.assertEqual(secret, {"data": data, "stringData": {"a": "b"}})


class NamespaceTests(SynchronousTestCase):
    """The strategy of Namespaces: phase, finalizers and the label of the name (reference DEL-14)."""

    def test_created_active_and_held(self) -> None:
        """A new namespace is Active, labelled with its name and held by the server's finalizer."""
        obj: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {}, "status": {"phase": "Terminating"}}
        namespaces = strategy("", "v1", "namespaces")
        namespaces.prepare_for_create(obj, USER)
        self.assertEqual(obj["spec"], {"finalizers": ["orch"]})
        self.assertEqual(obj["status"], {"phase": "Active"})
        self.assertEqual(obj["metadata"]["labels"], {"orch.io/metadata.name": "n"})
        self.assertTrue(namespaces.holds_removal(obj))

    def test_finalize_takes_finalizers_only(self) -> None:
        """PUT on /finalize replaces spec.finalizers and metadata, and nothing else; the label stays."""
        namespaces = strategy("", "v1", "namespaces")
        old = {"metadata": {"name": "n"}, "spec": {"finalizers": ["orch", "x/y"]}, "status": {"phase": "Terminating"}}
        sent = {"metadata": {"name": "n"}, "spec": {"finalizers": ["x/y"]}, "status": {"phase": "Active"}}
        result = namespaces.prepare_for_subresource("finalize", sent, old, NOW)
        meta = {"name": "n", "labels": {"orch.io/metadata.name": "n"}}
        self.assertEqual(result, {**old, "metadata": meta, "spec": {"finalizers": ["x/y"]}})


class GenerationTests(SynchronousTestCase):
    """Changes that raise metadata.generation, by kind (reference OBJ-6)."""

    def test_what_counts(self) -> None:
        """The spec counts; labels and status do not; Deployments count annotations too; ConfigMaps keep any."""
        deployments = strategy("apps", "v1", "deployments")
        old: dict[str, Any] = {"metadata": {"generation": 4}, "spec": {"replicas": 1}, "status": {}}
        changes: list[tuple[dict[str, Any], int]] = [
            ({"metadata": {"generation": 9}, "spec": {"replicas": 1}}, 4),
            ({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}}, 4),
            ({"metadata": {}, "spec": {"replicas": 2}}, 5),
            ({"metadata": {"annotations": {"a": "b"}}, "spec": {"replicas": 1}}, 5),
        ]
        for new, expected in changes:
            deployments.prepare_for_update(new, old)
            self.assertEqual(new["metadata"]["generation"], expected, new)
        config_map: dict[str, Any] = {"metadata": {"generation": 3}}
        strategy("", "v1", "configmaps").prepare_for_create(config_map, USER)
        self.assertEqual(config_map["metadata"]["generation"], 3)
