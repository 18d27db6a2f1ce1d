"""Pods between their creation and their end (reference DEL-6, KIND-37)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming import Naming
from orchtw.registry.groups.core.pod_security import check_security_context
from orchtw.registry.groups.core.pod_validation import validate_pod
from tests.registry.groups.test_core import NOW, strategy

PODS = strategy("", "v1", "pods")
BOUND: dict[str, Any] = {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 7}, "status": {}}


class GraceTests(SynchronousTestCase):
    """Reference DEL-6."""

    def test_grace(self) -> None:
        """What the request says, else the pod's own period, which is 30 seconds by default."""
        self.assertEqual(PODS.grace_period_s(BOUND, 3), 3)
        self.assertEqual(PODS.grace_period_s(BOUND, 0), 0)
        self.assertEqual(PODS.grace_period_s(BOUND, None), 7)
        self.assertEqual(PODS.grace_period_s({"spec": {"nodeName": "n"}, "status": {}}, None), 30)

    def test_no_grace(self) -> None:
        """A pod that no node runs, or that has ended, goes at once."""
        self.assertEqual(PODS.grace_period_s({**BOUND, "spec": {}}, 9), 0)
        for phase in ("Succeeded", "Failed"):
            self.assertEqual(PODS.grace_period_s({**BOUND, "status": {"phase": phase}}, 9), 0)

    def test_negative_grace(self) -> None:
        """A negative period is one second."""
        spec = {"nodeName": "n", "terminationGracePeriodSeconds": -4}
        self.assertEqual(PODS.grace_period_s({"spec": spec, "status": {}}, None), 1)


class PodRulesTests(SynchronousTestCase):
    """Rules that need an object which is older than they are."""

    def test_stored_slashes(self) -> None:
        """A kernel parameter with slashes in its name is refused unless the stored pod has one."""
        new = {"sysctls": [{"name": "net/ipv4/x", "value": "1"}]}
        for old, count in [(None, 1), ({}, 1), ({"sysctls": [{"name": "a.b", "value": "1"}]}, 1), (new, 0)]:
            self.assertEqual(len(check_security_context(new, old)), count, old)

    def test_ephemeral_containers_alone(self) -> None:
        """A write to /ephemeralcontainers takes nothing else from what is sent."""
        old = {"metadata": {"name": "a"}, "spec": {"containers": [], "hostname": "x"}, "status": {}}
        added = [{"name": "d", "image": "i"}]
        sent = {"ephemeralContainers": added, "hostname": "y"}
        new = {"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": sent}
        kept = PODS.prepare_for_subresource("ephemeralcontainers", new, old, NOW)
        self.assertEqual(kept, {**old, "spec": {**old["spec"], "ephemeralContainers": added}})

    def test_both_vocabularies(self) -> None:
        """Annotations are those of the vocabulary that is served."""
        naming = Naming.kubernetes()
        for vocabulary, key in [(naming, "orch.io/config.mirror"), (Naming.orch(), "kubernetes.io/config.mirror")]:
            pod = {"metadata": {"name": "a", "annotations": {key: "x"}}, "spec": {}}
            self.assertEqual(validate_pod(pod, None, vocabulary), [])
            (cause,) = validate_pod(pod, None, vocabulary.counterpart)
            self.assertEqual(cause.field, f"metadata.annotations[{key}]")
