"""Conditional and computed defaults of every kind that has any (reference KIND-14)."""

from __future__ import annotations

import copy
from typing import Any

import orjson
from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.naming.naming import Naming
from orchtw.registry.amounts import rounded_up
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import pull_policy
from orchtw.registry.strategies import strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.wire.objects import Object
from tests.in_process import InProcessServer

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)
ABSENT = object()
LABELS = {"app": "a"}
TEMPLATE: Object = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}


def resource_of(api_version: str, kind: str) -> ResourceType:
    return next(each for each in CATALOGUE.resources if (each.api_version, each.kind) == (api_version, kind))


def codec_and_strategy(api_version: str, kind: str) -> tuple[KindCodec, Strategy]:
    codec = CODECS.kind(api_version, kind)
    return codec, strategy_for(resource_of(api_version, kind), NAMING, codec)


def at(value: Any, path: str) -> Any:
    """Return the value at a path such as `spec.ports.0.protocol`, or ABSENT."""
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return ABSENT
    return value


class DefaultsCase(SynchronousTestCase):
    """Completes objects as a request does."""

    def complete(self, api_version: str, kind: str, obj: Object) -> Object:
        """`obj` with all its defaults; canonical, and the same when it is completed again."""
        codec, strategy = codec_and_strategy(api_version, kind)
        done = codec.normalise(copy.deepcopy(obj))
        codec.set_defaults(done)
        strategy.set_defaults(done)
        self.assertEqual(orjson.dumps(done), orjson.dumps(codec.normalise(copy.deepcopy(done))))
        again = copy.deepcopy(done)
        codec.set_defaults(again)
        strategy.set_defaults(again)
        self.assertEqual(orjson.dumps(again), orjson.dumps(done))
        return done

    def check(self, api_version: str, kind: str, rows: list[tuple[Object, dict[str, Any]]]) -> None:
        """Each row: an object, and what its completion holds by path."""
        for given, expected in rows:
            done = self.complete(api_version, kind, given)
            self.assertEqual({path: at(done, path) for path in expected}, expected, given)

    def check_spec(self, api_version: str, kind: str, rows: list[tuple[Object, dict[str, Any]]]) -> None:
        """As `check`, with the spec alone given and paths inside it."""
        self.check(
            api_version, kind,
            [({"spec": spec}, {f"spec.{path}": value for path, value in row.items()}) for spec, row in rows],
        )


class PlacesTests(SynchronousTestCase):
    """Places of keys that `put` adds to an object."""

    def test_before_what_comes_later(self) -> None:
        """A key goes before those that the order has behind it, wherever the order begins."""
        obj = {"a": 1, "c": 3, "d": 4}
        put(obj, "b", 2, ("c", "d"))
        self.assertEqual("".join(obj), "abcd")
        put(obj, "b", 5, ("a", "b", "c", "d"))
        self.assertEqual(list(obj.items()), [("a", 1), ("b", 5), ("c", 3), ("d", 4)])


class ContainerTests(DefaultsCase):
    """Defaults of fragment Container."""

    def test_image_pull_policy(self) -> None:
        """`latest` and images without tag and digest are always pulled, others if they are not present.

        So is what cannot be read as a reference.
        """
        for image, expected in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.2", "IfNotPresent"),
            ("localhost:5000/nginx", "Always"),
            ("localhost:5000/a/nginx:1", "IfNotPresent"),
            (f"nginx@sha256:{'ab' * 32}", "IfNotPresent"),
            (f"nginx:latest@sha256:{'ab' * 32}", "Always"),
            (f"nginx:1@sha256:{'ab' * 32}", "IfNotPresent"),
            ("", "IfNotPresent"),
            ("nginx:latest@sha256:ab", "IfNotPresent"),
            ("no such/image", "IfNotPresent"),
            ("Nginx", "IfNotPresent"),
            ("nginx:latest " * 60, "IfNotPresent"),
        ]:
            self.assertEqual(pull_policy(image), expected, image)

    def test_in_every_list(self) -> None:
        """Containers, init containers and ephemeral containers get a policy at its place; a given one stays."""
        one = {"name": "c", "image": "i", "securityContext": {}, "tty": True}
        self.check_spec("v1", "Pod", [
            ({key: [one]}, {f"{key}.0.imagePullPolicy": "Always"})
            for key in ("containers", "initContainers", "ephemeralContainers")
        ])  # fmt: skip
        given = {"containers": [{**one, "imagePullPolicy": "Never"}]}
        self.check_spec("v1", "Pod", [(given, {"containers.0.imagePullPolicy": "Never"})])

    def test_amounts(self) -> None:
        """Limits and requests are rounded up to milli units, in their own family."""
        for given, expected in [
            ("1", "1"), ("100m", "100m"), ("1n", "1m"), ("1500u", "2m"), ("1Ki", "1Ki"), ("1e-9", "1e-3"),
            ("-1u", "-1m"), ("0", "0"), ("2000u", "2m"),
        ]:  # fmt: skip
            self.assertEqual(rounded_up(given), expected, given)
        resources = {"limits": {"cpu": "1u"}, "requests": {"cpu": "1n", "memory": "1Gi"}}
        self.check_spec("v1", "Pod", [(
            {"containers": [{"name": "c", "resources": resources}]},
            {"containers.0.resources": {"limits": {"cpu": "1m"}, "requests": {"cpu": "1m", "memory": "1Gi"}}},
        )])  # fmt: skip


class VolumeTests(DefaultsCase):
    """Defaults of fragment Volume."""

    def test_sources(self) -> None:
        """A volume without a source is an empty directory."""
        self.check_spec("v1", "Pod", [
            ({"containers": [], "volumes": [{"name": "v"}]}, {"volumes.0": {"name": "v", "emptyDir": {}}}),
            ({"containers": [], "volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]},
             {"volumes.0.emptyDir": ABSENT}),
            ({"containers": [], "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
                "spec": {"resources": {"requests": {"storage": "1n"}}}}}}]},
             {"volumes.0.emptyDir": ABSENT,
              "volumes.0.ephemeral.volumeClaimTemplate.spec.volumeMode": "Filesystem",
              "volumes.0.ephemeral.volumeClaimTemplate.spec.resources.requests.storage": "1m"}),
        ])  # fmt: skip


class PodTests(DefaultsCase):
    """Fragment PodSpec and v1/Pod."""

    def test_host_ports(self) -> None:
        """Under hostNetwork a port is opened on the host under its own number."""
        ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 90}]
        opened = {"containers.0.ports.0.hostPort": 80, "containers.0.ports.1.hostPort": 90}
        self.check_spec("v1", "Pod", [
            ({"hostNetwork": True, "containers": [{"name": "c", "ports": ports}]}, opened),
            ({"hostNetwork": True, "initContainers": [{"name": "c", "ports": ports}]},
             {"initContainers.0.ports.0.hostPort": 80}),
            ({"containers": [{"name": "c", "ports": ports}]}, {"containers.0.ports.0.hostPort": ABSENT}),
        ])  # fmt: skip

    def test_service_links(self) -> None:
        """spec.enableServiceLinks is true, at its place, unless given."""
        self.check_spec("v1", "Pod", [
            ({"overhead": {"cpu": "1n"}, "schedulerName": "s"}, {"enableServiceLinks": True, "overhead.cpu": "1m"}),
            ({"enableServiceLinks": False}, {"enableServiceLinks": False}),
        ])  # fmt: skip

    def test_service_account(self) -> None:
        """serviceAccount shows serviceAccountName, and stands in for it where it is absent."""
        both = {"serviceAccountName": "a", "serviceAccount": "a"}
        self.check_spec("v1", "Pod", [
            ({"serviceAccountName": "a", "nodeName": "n"}, both),
            ({"serviceAccount": "a", "nodeName": "n"}, both),
            ({"serviceAccountName": "a", "serviceAccount": "b"}, both),
            ({}, {"serviceAccountName": ABSENT, "serviceAccount": ABSENT}),
        ])  # fmt: skip

    def test_limits_become_requests(self) -> None:
        """resources.requests[k] is resources.limits[k] where only the limit is given."""
        for key in ("containers", "initContainers"):
            resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
            self.check_spec("v1", "Pod", [(
                {key: [{"name": "c", "resources": resources}, {"name": "d", "resources": {"limits": {"cpu": "1"}}}]},
                {f"{key}.0.resources.requests": {"cpu": "1", "memory": "1Gi"},
                 f"{key}.1.resources.requests": {"cpu": "1"}},
            )])  # fmt: skip


class TemplateTests(DefaultsCase):
    """Fragment PodTemplateSpec, wherever it stands."""

    def test_every_kind(self) -> None:
        """Pod templates get what pods get, but for service links and requests."""
        limits = {"limits": {"cpu": "1"}}
        containers = [{"name": "c", "image": "i", "resources": limits}]
        template = {"spec": {"containers": containers, "volumes": [{"name": "v"}]}}
        for api_version, kind, path in [
            ("v1", "PodTemplate", "template"),
            ("v1", "ReplicationController", "spec.template"),
            ("apps/v1", "Deployment", "spec.template"),
            ("apps/v1", "DaemonSet", "spec.template"),
            ("apps/v1", "StatefulSet", "spec.template"),
            ("apps/v1", "ReplicaSet", "spec.template"),
            ("batch/v1", "Job", "spec.template"),
            ("batch/v1", "CronJob", "spec.jobTemplate.spec.template"),
            ("batch/v1beta1", "CronJob", "spec.jobTemplate.spec.template"),
        ]:
            obj: Object = template
            for key in reversed(path.split(".")):
                obj = {key: obj}
            self.check(api_version, kind, [(obj, {
                f"{path}.spec.containers.0.imagePullPolicy": "Always",
                f"{path}.spec.containers.0.resources": limits,
                f"{path}.spec.volumes.0.emptyDir": {},
                f"{path}.spec.enableServiceLinks": ABSENT,
            })])  # fmt: skip

    def test_nothing_given(self) -> None:
        """A kind that is empty altogether is completed without complaint."""
        for resource in CATALOGUE.resources:
            if resource.storage_version is not None:
                self.complete(resource.api_version, resource.kind, {})


class CoreTests(DefaultsCase):
    """v1 but for pods and services."""

    def test_replication_controller(self) -> None:
        """Labels and selector are the template's where they are empty."""
        self.check("v1", "ReplicationController", [
            ({"spec": {"template": TEMPLATE}},
             {"metadata.labels": LABELS, "spec.selector": LABELS, "spec.replicas": 1}),
            ({"metadata": {"labels": {"x": "y"}}, "spec": {"selector": {"b": "c"}, "template": TEMPLATE}},
             {"metadata.labels": {"x": "y"}, "spec.selector": {"b": "c"}}),
            ({"spec": {}}, {"metadata.labels": ABSENT, "spec.selector": ABSENT}),
        ])  # fmt: skip

    def test_node(self) -> None:
        """status.allocatable is a copy of status.capacity where it is absent."""
        self.check("v1", "Node", [
            ({"status": {"capacity": {"cpu": "1n"}, "phase": "Running"}},
             {"status.capacity": {"cpu": "1m"}, "status.allocatable": {"cpu": "1m"}}),
            ({"status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}},
             {"status.allocatable": {"cpu": "1"}}),
            ({}, {"status.allocatable": ABSENT}),
        ])  # fmt: skip

    def test_persistent_volume(self) -> None:
        """spec.persistentVolumeReclaimPolicy is Retain, spec.volumeMode Filesystem, status.phase Pending."""
        self.check("v1", "PersistentVolume", [
            ({"spec": {"storageClassName": "s", "nodeAffinity": {}, "capacity": {"storage": "1n"}}},
             {"spec.persistentVolumeReclaimPolicy": "Retain", "spec.volumeMode": "Filesystem",
              "spec.capacity.storage": "1m", "status.phase": "Pending"}),
            ({"spec": {"persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Block"}},
             {"spec.persistentVolumeReclaimPolicy": "Delete", "spec.volumeMode": "Block"}),
        ])  # fmt: skip
        inline = {"source": {"inlineVolumeSpec": {"rbd": {"monitors": ["m"], "image": "i"}}}}
        self.check_spec("storage.orch.io/v1", "VolumeAttachment", [(inline, {
            "source.inlineVolumeSpec.rbd.pool": "rbd",
            "source.inlineVolumeSpec.persistentVolumeReclaimPolicy": ABSENT,
        })])  # fmt: skip

    def test_persistent_volume_claim(self) -> None:
        """Amounts are rounded; volumeMode and phase are declared."""
        self.check_spec("v1", "PersistentVolumeClaim", [(
            {"resources": {"requests": {"storage": "1n"}}},
            {"resources.requests.storage": "1m", "volumeMode": "Filesystem"},
        )])  # fmt: skip

    def test_limit_range(self) -> None:
        """Of containers, default is max, and defaultRequest is default, else min."""
        least = {"cpu": "1", "memory": "1"}
        limits: Object = {"max": {"cpu": "2"}, "min": least, "maxLimitRequestRatio": {"cpu": "2"}}
        given = {"default": {"cpu": "1"}, "defaultRequest": {"memory": "2"}}
        self.check_spec("v1", "LimitRange", [
            ({"limits": [{"type": "Container", **limits}]},
             {"limits.0.default": {"cpu": "2"}, "limits.0.defaultRequest": {"cpu": "2", "memory": "1"}}),
            ({"limits": [{"type": "Container", **limits, **given}]},
             {"limits.0.default": {"cpu": "1"}, "limits.0.defaultRequest": {"cpu": "1", "memory": "2"}}),
            ({"limits": [{"type": "Pod", **limits}]},
             {"limits.0.default": ABSENT, "limits.0.defaultRequest": ABSENT}),
        ])  # fmt: skip

    def test_rounded_amounts(self) -> None:
        """Quotas and runtime classes hold whole milli units."""
        self.check("v1", "ResourceQuota", [(
            {"spec": {"hard": {"cpu": "1n"}}, "status": {"hard": {"cpu": "1n"}, "used": {"cpu": "1u"}}},
            {"spec.hard.cpu": "1m", "status.hard.cpu": "1m", "status.used.cpu": "1m"},
        )])  # fmt: skip
        overhead = {"handler": "h", "overhead": {"podFixed": {"cpu": "1n"}}}
        self.check("node.orch.io/v1", "RuntimeClass", [(overhead, {"overhead.podFixed.cpu": "1m"})])

    def test_status_of_new_objects(self) -> None:
        """Defaults of the status come back after a create has emptied it; a node keeps what it was sent with."""
        for api_version, kind, given, expected in [
            ("v1", "PersistentVolume", {"status": {"message": "m"}}, {"phase": "Pending"}),
            ("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}),
            ("v1", "Node", {"status": {"phase": "Running"}}, {"phase": "Running"}),
        ]:
            done = self.complete(api_version, kind, {"metadata": {"name": "x"}, **given})
            codec_and_strategy(api_version, kind)[1].prepare_for_create(done, UserInfo(name="ann"))
            self.assertLessEqual(expected.items(), done["status"].items())
            self.assertNotIn("message", done["status"])


class ServiceTests(DefaultsCase):
    """Defaults of a v1 Service."""

    def test_affinity(self) -> None:
        """sessionAffinityConfig goes without affinity and gets 10800 seconds with it."""
        config = {"clientIP": {"timeoutSeconds": 5}}
        self.check_spec("v1", "Service", [
            ({"sessionAffinityConfig": config}, {"sessionAffinity": "None", "sessionAffinityConfig": ABSENT}),
            ({"sessionAffinity": "ClientIP"}, {"sessionAffinityConfig.clientIP.timeoutSeconds": 10800}),
            ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}},
             {"sessionAffinityConfig.clientIP.timeoutSeconds": 10800}),
            ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": config}, {"sessionAffinityConfig": config}),
        ])  # fmt: skip

    def test_target_port(self) -> None:
        """ports[*].targetPort is the port when it is 0 or empty."""
        ports = [{"port": 80}, {"port": 81, "targetPort": ""}, {"port": 82, "targetPort": "web"}]
        self.check_spec("v1", "Service", [(
            {"ports": ports}, {"ports.0.targetPort": 80, "ports.1.targetPort": 81, "ports.2.targetPort": "web"},
        )])  # fmt: skip

    def test_by_type(self) -> None:
        """Traffic policies and allocateLoadBalancerNodePorts follow the type."""
        rows: list[tuple[Object, Object]] = []
        for kind, outside, inside, node_ports in [
            ("ClusterIP", ABSENT, "Cluster", ABSENT),
            ("NodePort", "Cluster", "Cluster", ABSENT),
            ("LoadBalancer", "Cluster", "Cluster", True),
            ("ExternalName", ABSENT, ABSENT, ABSENT),
        ]:
            expected = {"externalTrafficPolicy": outside, "internalTrafficPolicy": inside}
            rows.append(({"type": kind}, {**expected, "allocateLoadBalancerNodePorts": node_ports}))
        given = {"externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local"}
        rows.append(({"type": "LoadBalancer", **given, "allocateLoadBalancerNodePorts": False},
                     {**given, "allocateLoadBalancerNodePorts": False}))  # fmt: skip
        self.check_spec("v1", "Service", rows)

    def test_families(self) -> None:
        """Two families or addresses require dual stack, and RequireDualStack with one family gets the other."""
        dual = {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}
        self.check_spec("v1", "Service", [
            ({"ipFamilies": ["IPv6", "IPv4"]}, dual),
            ({"clusterIPs": ["10.0.0.1", "fd00::1"]}, {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ABSENT}),
            ({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}, dual),
            ({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6"]}, {"ipFamilies": ["IPv6"]}),
            ({"type": "ExternalName", "ipFamilies": ["IPv6", "IPv4"]}, {"ipFamilyPolicy": ABSENT}),
            ({}, {"ipFamilyPolicy": ABSENT, "ipFamilies": ABSENT}),
        ])  # fmt: skip


class OtherGroupsTests(DefaultsCase):
    """Defaults of groups apiextensions, networking and rbac."""

    def test_custom_resource_definition(self) -> None:
        """Names follow from the kind; status.storedVersions names the storage version, also after a create."""
        versions = [{"name": "v1", "served": True, "storage": False}, {"name": "v2", "served": True, "storage": True}]
        given = {"metadata": {"name": "x"}, "spec": {"names": {"plural": "ws", "kind": "Ww"}, "versions": versions}}
        named = {**given, "spec": {"names": {"kind": "Ww", "singular": "s", "listKind": "L"}}}
        api_version, kind = "apiextensions.orch.io/v1", "CustomResourceDefinition"
        names = {"plural": "ws", "singular": "ww", "kind": "Ww", "listKind": "WwList"}
        self.check(api_version, kind, [
            (given, {"spec.names": names, "spec.conversion": {"strategy": "None"}, "status.storedVersions": ["v2"]}),
            (named, {"spec.names.singular": "s", "spec.names.listKind": "L", "status.storedVersions": None}),
            ({**given, "status": {"storedVersions": ["v1"]}}, {"status.storedVersions": ["v1"]}),
        ])  # fmt: skip
        done = self.complete(api_version, kind, {**given, "status": {"storedVersions": ["v1"]}})
        codec_and_strategy(api_version, kind)[1].prepare_for_create(done, UserInfo(name="ann"))
        self.assertEqual(done["status"]["storedVersions"], ["v2"])

    def test_network_policy(self) -> None:
        """spec.policyTypes is Ingress, and Egress too where there are egress rules."""
        self.check_spec("networking.orch.io/v1", "NetworkPolicy", [
            ({}, {"policyTypes": ["Ingress"]}),
            ({"egress": [{}]}, {"policyTypes": ["Ingress", "Egress"]}),
            ({"egress": [{}], "policyTypes": ["Egress"]}, {"policyTypes": ["Egress"]}),
        ])  # fmt: skip

    def test_subjects(self) -> None:
        """Users and groups are of the rbac group, service accounts of the core group."""
        subjects = [{"kind": kind, "name": "n"} for kind in ("User", "Group", "ServiceAccount")]
        group = "rbac.authorization.orch.io"
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            self.check(f"{group}/v1", kind, [({"subjects": subjects}, {
                "subjects.0.apiGroup": group, "subjects.1.apiGroup": group, "subjects.2.apiGroup": ABSENT,
                "roleRef.apiGroup": group,
            })])  # fmt: skip


def without_given(spec: Object) -> Object:
    """A spec without the addresses and ports that no other object gets."""
    kept = {key: value for key, value in spec.items() if key not in ("clusterIP", "clusterIPs")}
    if ports := kept.get("ports"):
        kept["ports"] = [{key: value for key, value in port.items() if key != "nodePort"} for port in ports]
    return kept


class SecondWriteTests(TestCase):
    """Defaults through the API."""

    WRITES: tuple[tuple[str, str, str, Object], ...] = (
        ("v1", "Pod", "pods", TEMPLATE["spec"]),
        ("v1", "Service", "services", {"type": "LoadBalancer", "ports": [{"port": 80}]}),
        ("v1", "ReplicationController", "replicationcontrollers", {"template": TEMPLATE}),
        ("apps/v1", "StatefulSet", "statefulsets", {
            "serviceName": "s", "selector": {"matchLabels": LABELS}, "template": TEMPLATE}),
        ("batch/v1", "Job", "jobs", {
            "manualSelector": True, "selector": {"matchLabels": LABELS},
            "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}),
        ("autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {}),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {"behavior": {}}),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {}),
    )  # fmt: skip

    async def test_changes_nothing(self) -> None:
        """Created and applied objects can be put or applied again without a new resourceVersion."""
        server = InProcessServer(reactor, self.mktemp(), disable_admission_plugins=("ServiceAccount",))
        await server.start()
        self.addCleanup(server.stop)
        for api_version, kind, plural, spec in self.WRITES:
            root = "/apis" if "/" in api_version else "/api"
            path = f"{root}/{api_version}/namespaces/default/{plural}"
            name = f"x-{api_version.replace('/', '-')}"
            if kind == "HorizontalPodAutoscaler":
                spec = {**spec, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}
            obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
            created = (await server.request("POST", path, obj)).json
            put_back = (await server.request("PUT", f"{path}/{name}", created)).json
            self.assertEqual(put_back, created, kind)
            apply = {"content-type": "application/apply-patch+yaml"}
            applied = {**obj, "metadata": {"name": f"{name}-applied"}}
            answers = [
                (await server.request("PATCH", f"{path}/{name}-applied?fieldManager=m", applied, apply)).json
                for _ in range(2)
            ]
            self.assertEqual(answers[0], answers[1], kind)
            self.assertEqual(without_given(answers[0]["spec"]), without_given(created["spec"]), kind)
