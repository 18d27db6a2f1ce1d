"""Plugins that are configured, under the names of the other vocabulary (reference ADM-16, VOC-1)."""

from __future__ import annotations

from pathlib import Path

from tests.admission.plugins.served import pod
from tests.verbs.served import ServedCase

CONFIGURATION = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodNodeSelector
  configuration: {podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: "a=b"}}
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Server, qps: 1, burst: 1}]
- name: PodTolerationRestriction
  configuration:
    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
    kind: Configuration
    default: [{key: a, operator: Exists}]
"""
NAMES = ("PodNodeSelector", "EventRateLimit", "PodTolerationRestriction", "NodeRestriction", "RuntimeClass")


class OtherVocabularyTests(ServedCase):
    """A whole server with Kubernetes' names."""

    def setUp(self) -> None:
        path = Path(self.mktemp())
        path.write_text(CONFIGURATION)
        self.more = {  # type: ignore[misc]
            "vocabulary": "kubernetes",
            "enable_admission_plugins": ("AlwaysAdmit", *NAMES),
            "disable_admission_plugins": ("ServiceAccount", "DefaultTolerationSeconds"),
            "admission_control_config_file": path,
        }
        super().setUp()

    def test_names(self) -> None:
        """Kinds of configurations, annotations and keys of taints."""
        made = self.done("POST", "pods?dryRun=All", pod())["spec"]
        found = made["nodeSelector"], made["tolerations"]
        self.assertEqual(found, ({"a": "b"}, [{"key": "a", "operator": "Exists"}]))
        annotations = {
            "scheduler.alpha.kubernetes.io/node-selector": "c=d",
            "scheduler.alpha.kubernetes.io/defaultTolerations": "[]",
            "scheduler.alpha.kubernetes.io/tolerationsWhitelist": '[{"key": "x", "operator": "Exists"}]',
        }
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "annotations": annotations}})
        pods = "/api/v1/namespaces/n/pods"
        self.assertEqual(self.done("POST", pods, pod())["spec"]["nodeSelector"], {"c": "d"})
        container = {"name": "c", "image": "i", "resources": {"limits": {"memory": "1Gi"}}}
        answer = self.send("POST", pods, pod("q", containers=[container]))
        self.assertEqual((answer.code, "namespace whitelist" in answer.json["message"]), (403, True))
        asking = self.done("POST", "pods?dryRun=All", pod("q", containers=[container]))["spec"]["tolerations"]
        self.assertEqual(asking[-1]["key"], "node.kubernetes.io/memory-pressure")

    def test_events(self) -> None:
        """Both groups of events count together."""
        event = {"involvedObject": {"namespace": "default"}}
        self.done("POST", "events", {"metadata": {"name": "a"}, **event})
        self.assertEqual(self.code("POST", "events", {"metadata": {"name": "b"}, **event}), 429)
