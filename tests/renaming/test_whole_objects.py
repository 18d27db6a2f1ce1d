"""Whole objects in the names of the other vocabulary."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.renaming.whole_objects import ObjectRenaming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.kinds import GroupKind
from orchtw.wire.objects import Object

CODECS = Codecs(Catalogue.load(Naming.kubernetes()))


def config_map(**meta: Any) -> Object:
    """A config map with this metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "a", **meta}}


class ObjectsTests(SynchronousTestCase):
    """From orch to kubernetes."""

    def setUp(self) -> None:
        self.objects = ObjectRenaming(Naming.orch(), CODECS)

    def test_places(self) -> None:
        """The system's namespaces and the API's own objects have other names; those of users keep theirs."""
        for group, kind, place, expected in (
            ("", "Namespace", ("", "orch-system"), ("", "kube-system")),
            ("", "ConfigMap", ("a", "orch-root-ca.crt"), ("a", "kube-root-ca.crt")),
            ("", "Service", ("default", "orch"), ("default", "kubernetes")),
            ("", "Service", ("a", "orch"), ("a", "orch")),
            ("", "Pod", ("orch-system", "orch-scheduler"), ("kube-system", "orch-scheduler")),
            ("coordination.orch.io", "Lease", ("orch-system", "orch-scheduler"), ("kube-system", "kube-scheduler")),
            ("rbac.authorization.orch.io", "Role", ("a", "system:orch-scheduler"), ("a", "system:kube-scheduler")),
            ("rbac.authorization.orch.io", "Role", ("a", "orch-scheduler"), ("a", "orch-scheduler")),
            ("apiregistration.orch.io", "APIService", ("", "v1.node.orch.io"), ("", "v1.node.k8s.io")),
        ):
            self.assertEqual(self.objects.place(GroupKind(group, kind), *place), expected)

    def test_nothing_to_do(self) -> None:
        """An object without any of the product's names comes back as the same object; user data is not examined."""
        obj = config_map(labels={"app": "orch"}, annotations={"note": "orch.io/arch"})
        obj["data"] = {"orch.io": "orch-system"}
        self.assertIs(self.objects.translate(obj), obj)

    def test_given_object_stays(self) -> None:
        """The object that was given is not changed."""
        obj = config_map(labels={"orch.io/arch": "x"})
        before = orjson.dumps(obj)
        self.assertNotEqual(self.objects.translate(obj), obj)
        self.assertEqual(orjson.dumps(obj), before)

    def test_owners(self) -> None:
        """Owners are named by version and, where the API named them, by name."""
        owners = [
            {"apiVersion": "node.orch.io/v1", "kind": "RuntimeClass", "name": "orch", "uid": "1"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "orch-root-ca.crt", "uid": "2"},
        ]
        found = self.objects.translate(config_map(ownerReferences=owners))["metadata"]["ownerReferences"]
        self.assertEqual(
            [(each["apiVersion"], each["name"]) for each in found],
            [("node.k8s.io/v1", "orch"), ("v1", "kube-root-ca.crt")],
        )

    def test_managers(self) -> None:
        """Components are managers under their other names, and what they own is named as in the object."""
        fields: Object = {"f:metadata": {"f:labels": {"f:orch.io/arch": {}}}}
        entry = {"manager": "orch-scheduler", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        found = self.objects.translate(config_map(managedFields=[entry]))["metadata"]["managedFields"]
        self.assertEqual(
            found,
            [{**entry, "manager": "kube-scheduler",
              "fieldsV1": {"f:metadata": {"f:labels": {"f:kubernetes.io/arch": {}}}}}],
        )  # fmt: skip

    def test_unreadable_sets(self) -> None:
        """An invalid field set, or one of an unknown version, stays as it is."""
        unreadable: tuple[tuple[str, Object], ...] = (
            ("v1", {"nonsense": {}}), ("example.com/v9", {"f:orch.io/arch": {}})
        )  # fmt: skip
        for api_version, fields in unreadable:
            entry: Object = {"manager": "x", "apiVersion": api_version, "fieldsV1": fields}
            obj = config_map(managedFields=[entry])
            self.assertIs(self.objects.translate(obj), obj)

    def test_own_service(self) -> None:
        """The label that says who provides the API's Service follows the product; on other Services it stays."""
        for namespace, name, provider in (("default", "orch", "kubernetes"), ("a", "orch", "orch")):
            obj: Object = {
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": name, "namespace": namespace, "labels": {"provider": "orch"}}, "spec": {},
            }  # fmt: skip
            self.assertEqual(self.objects.translate(obj)["metadata"]["labels"]["provider"], provider)

    def test_slices(self) -> None:
        """An endpoint slice names its Service in a label."""
        obj: Object = {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "s", "namespace": "default", "labels": {"orch.io/service-name": "orch"}},
            "addressType": "IPv4", "endpoints": [], "ports": [],
        }  # fmt: skip
        self.assertEqual(
            self.objects.translate(obj)["metadata"]["labels"], {"kubernetes.io/service-name": "kubernetes"}
        )

    def test_revisions(self) -> None:
        """A revision's template is one of pods; other data stays as it is."""
        template = {"spec": {"nodeSelector": {"orch.io/os": "linux"}, "containers": []}}
        obj: Object = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}}
        found = self.objects.translate({**obj, "data": {"spec": {"template": template}}})
        self.assertEqual(
            found["data"]["spec"]["template"]["spec"]["nodeSelector"], {"kubernetes.io/os": "linux"}
        )
        odds: tuple[Any, ...] = ({"spec": {}}, {"spec": None}, [1], "text", None, {"spec": {"template": None}})
        for data in odds:
            odd = {**obj, "data": data}
            self.assertIs(self.objects.translate(odd), odd)

    def test_metrics_in_annotations(self) -> None:
        """Annotations of autoscalers that are fields of the stored version are translated inside."""
        metrics = [{"object": {"target": {"apiVersion": "networking.orch.io/v1", "kind": "Ingress", "name": "x"}}}]
        obj: Object = {
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {
                "name": "h",
                "annotations": {"autoscaling.alpha.orch.io/metrics": orjson.dumps(metrics).decode(), "note": "x"},
            },
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 1},
        }  # fmt: skip
        annotations = self.objects.translate(obj)["metadata"]["annotations"]
        (text,) = [value for key, value in annotations.items() if key != "note"]
        self.assertEqual(orjson.loads(text)[0]["object"]["target"]["apiVersion"], "networking.k8s.io/v1")
        self.assertEqual(annotations["note"], "x")
