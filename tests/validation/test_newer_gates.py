"""Newer fields whose gates are off by default, and newer fields while an earlier release is emulated."""
# covers: orchtw.registry.groups.core.newer_projections

from __future__ import annotations

from typing import Any, ClassVar

from orchtw.config.releases import LAST
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.validation.newer_case import CLAIMS, CONTAINER, HOST_IPS, JOBS, PODS, NewerCase, job, pod
from tests.verbs.served import MERGE


@since(LAST)
class GatedTests(NewerCase):
    """Fields whose gates are off by default, with the gates on."""

    more: ClassVar[Any] = {
        "feature_gates": tuple(
            (name, "true")
            for name in (
                *("AnyVolumeDataSource", "CrossNamespaceVolumeDataSource", "ClusterTrustBundleProjection"),
                *("PodCertificateProjection", "ContainerStopSignals"),
            )
        )
    }

    def test_sources_in_other_namespaces(self) -> None:
        """A source in another namespace is not in dataSource (reference KIND-93)."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        source = {"apiGroup": "example.com", "kind": "Backup", "name": "a"}
        spec |= {"dataSourceRef": {**source, "namespace": "other"}}
        made = self.done("POST", CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
        self.assertEqual(made["spec"]["dataSourceRef"]["namespace"], "other")
        self.assertNotIn("dataSource", made["spec"])
        text = "may not be specified when dataSourceRef.namespace is specified"
        both = {"metadata": {"name": "both"}, "spec": {**spec, "dataSource": source}}
        self.refused(CLAIMS, both, f'spec: Invalid value: "spec.dataSource": {text}')

    def test_stop_signals(self) -> None:
        """A stop signal needs the pod's operating system; Windows has two (reference KIND-104)."""
        stopping = [{**CONTAINER, "lifecycle": {"stopSignal": "SIGUSR1"}}]
        place = "spec.containers[0].lifecycle.stopSignal"
        text = "may not be set for containers with empty `spec.os.name`"
        self.refused(PODS, pod("a", containers=stopping), f"{place}: Forbidden: {text}")
        windows = pod("a", containers=stopping, os={"name": "windows"})
        self.refused(PODS, windows, f'{place}: Unsupported value: "SIGUSR1": supported values: "SIGKILL", "SIGTERM"')
        self.done("POST", PODS, pod("a", containers=stopping, os={"name": "linux"}))

    def test_projected_certificates(self) -> None:
        """Bundles are named or a signer's; a pod's certificate has a kind of key and a file (reference KIND-105)."""
        sources: list[Object] = [
            {"clusterTrustBundle": {"path": "ca.pem"}},
            {"clusterTrustBundle": {"path": "ca.pem", "name": "a", "labelSelector": {}}},
            {"podCertificate": {"signerName": "example.com/ca", "keyType": "RSA1", "maxExpirationSeconds": 60}},
        ]
        at = "spec.volumes[0].projected"
        self.refused(
            PODS, pod("a", volumes=[{"name": "certificates", "projected": {"sources": sources}}]),
            f"{at}.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified",
            f"{at}.sources[1].clusterTrustBundle.labelSelector: Forbidden: labelSelector is not permitted",
            f"{at}.sources[2].podCertificate: Required value: specify at least one of",
            f'{at}.sources[2].podCertificate.keyType: Unsupported value: "RSA1": ',
            f"{at}.sources[2].podCertificate.maxExpirationSeconds: Invalid value: 60: must be between",
            f'{at}: Invalid value: "ca.pem": conflicting duplicate paths',
        )  # fmt: skip


class EmulatedTests(NewerCase):
    more: ClassVar[Any] = {"emulated_version": "1.24"}

    def test_newer_fields_are_unknown(self) -> None:
        """Under release 1.24 a newer field is refused by strict validation, else dropped (reference KIND-90)."""
        newer = job("newer", podReplacementPolicy="Failed")
        answer = self.send("POST", f"{JOBS}?fieldValidation=Strict", newer)
        self.assertEqual(answer.code, 400)
        self.assertIn('unknown field "spec.podReplacementPolicy"', answer.json["message"])
        self.assertNotIn("podReplacementPolicy", self.done("POST", JOBS, newer)["spec"])

    def test_texts_are_those_of_1_24(self) -> None:
        """Init containers with probes are refused in the release's words (reference KIND-42)."""
        first = {"name": "first", "image": "a:1", "readinessProbe": {"tcpSocket": {"port": 80}}}
        answer = self.send("POST", PODS, pod("probe", initContainers=[first]))
        self.assertIn("must not be set for init containers", answer.json["message"])

    def test_host_ips(self) -> None:
        """A variable cannot show the addresses of the host before 1.28 (reference KIND-96)."""
        place = "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"
        text = f'{place}: Invalid value: "status.hostIPs": error converting fieldPath: field label not supported: '
        self.refused(PODS, pod("addresses", containers=[HOST_IPS]), text)

    def test_features_that_1_24_leaves_off(self) -> None:
        """Fields that release 1.24 knows and leaves off are dropped (reference KIND-91)."""
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
        made = self.done("POST", f"{PODS}?fieldValidation=Strict", pod("old", topologySpreadConstraints=[spread]))
        self.assertNotIn("minDomains", made["spec"]["topologySpreadConstraints"][0])
        self.assertEqual(self.code("GET", f"{PODS}/old/resize"), 404)


class SidecarTests(NewerCase):
    more: ClassVar[Any] = {"emulated_version": "1.30"}

    def test_restart_policies(self) -> None:
        """Before rules for restarts, only init containers have a policy, and only Always (reference KIND-97)."""
        first = {"name": "first", "image": "a:1"}
        self.done("POST", PODS, pod("sidecar", initContainers=[{**first, "restartPolicy": "Always"}]))
        self.refused(
            PODS,
            pod("other", initContainers=[{**first, "restartPolicy": "Never"}],
                containers=[{**CONTAINER, "restartPolicy": "Always"}]),
            'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"',
            "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers",
        )  # fmt: skip


@since(LAST)
class GenerationTests(NewerCase):
    more: ClassVar[Any] = {"feature_gates": (("PodObservedGenerationTracking", "true"),)}

    def test_changes_are_counted(self) -> None:
        """With the gate, changes of a pod's spec and resizes count, others do not (reference KIND-96)."""
        limits = {"requests": {"cpu": "1"}}
        made = self.done("POST", PODS, pod("counted", containers=[{**CONTAINER, "resources": limits}]))
        self.assertEqual(made["metadata"]["generation"], 1)
        for path, change, expected in (
            ("counted", {"metadata": {"labels": {"a": "b"}}}, 1),
            ("counted", {"spec": {"activeDeadlineSeconds": 60}}, 2),
            ("counted/resize", {"spec": {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "2"}}}]}}, 3),
            ("counted/status", {"status": {"observedGeneration": 3}}, 3),
        ):
            found = self.done("PATCH", f"{PODS}/{path}", change, MERGE)
            self.assertEqual(found["metadata"]["generation"], expected, path)
        self.assertEqual(found["status"]["observedGeneration"], 3)


class ScaleToZeroTests(NewerCase):
    more: ClassVar[Any] = {"feature_gates": (("HPAScaleToZero", "true"),)}

    def test_minimum(self) -> None:
        """With the gate, which release 1.24 leaves off, an autoscaler may end all pods (reference KIND-64)."""
        external = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "5"}}
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 0,
            "maxReplicas": 3,
            "metrics": [{"type": "External", "external": external}],
        }
        path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        found = self.done("POST", path, {"metadata": {"name": "web"}, "spec": spec})
        self.assertEqual(found["spec"]["minReplicas"], 0)
