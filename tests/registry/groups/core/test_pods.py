"""Pods between their creation and their end (reference DEL-6, KIND-37)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.naming.naming import Naming
from orchtw.registry.checks import checks
from orchtw.registry.groups.core.pod_security_context import check_security_context
from orchtw.registry.groups.core.pod_status import validate_pod_status
from orchtw.registry.groups.core.pod_validation import validate_pod
from orchtw.registry.groups.core.pods import set_pod_defaults
from orchtw.registry.strategies import strategy_for
from orchtw.schema.codec.codecs import Codecs
from tests.registry.groups.core.test_strategies import CATALOGUE, NAMING, NOW

CODEC = Codecs(CATALOGUE, checks(NAMING)).kind("v1", "Pod")
RESOURCE = CATALOGUE.find("", "v1", "pods")
assert RESOURCE is not None
PODS = strategy_for(RESOURCE, NAMING, CODEC)
BOUND: dict[str, Any] = {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 7}, "status": {}}


class GraceTests(SynchronousTestCase):
    """Grace periods of pods (reference DEL-6)."""

    def test_grace(self) -> None:
        """The grace period is the request's, else the pod's own, 30 seconds by default."""
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

    def test_stored_addresses(self) -> None:
        """A pod that has odd addresses may keep them, and one that has none gets none."""
        pods = [{"metadata": {}, "spec": {}, "status": {"podIPs": [{"ip": ip}]}} for ip in ("10.0.0", "::1")]
        for old, new, count in [(pods[0], pods[0], 0), (pods[1], pods[0], 1), (pods[0], pods[1], 0)]:
            self.assertEqual(len(validate_pod_status(new, old, NAMING)), count)

    def test_names_of_addresses(self) -> None:
        """podIP and the first of podIPs are one, and podIP counts where they differ (reference KIND-39)."""
        one, two = {"ip": "10.0.0.1"}, {"ip": "::1"}
        for sent, kept in (
            ({"podIP": "10.0.0.1"}, {"podIP": "10.0.0.1", "podIPs": [one]}),
            ({"podIPs": [one, two]}, {"podIP": "10.0.0.1", "podIPs": [one, two]}),
            ({"podIP": "10.0.0.1", "podIPs": [one, two]}, {"podIP": "10.0.0.1", "podIPs": [one, two]}),
            ({"podIP": "10.0.0.1", "podIPs": [two]}, {"podIP": "10.0.0.1", "podIPs": [one]}),
            ({"podIPs": [{}]}, {"podIPs": [{}]}),
            ({"phase": "Pending"}, {"phase": "Pending"}),
        ):
            status = {**sent, "startTime": NOW}
            pod: dict[str, Any] = {"spec": {"containers": []}, "status": status}
            set_pod_defaults(pod)
            self.assertEqual(list(pod["status"].items()), [*kept.items(), ("startTime", NOW)])
            self.assertEqual(status, {**sent, "startTime": NOW})  # it may be the live object's

    def test_ephemeral_containers_alone(self) -> None:
        """A write to /ephemeralcontainers takes nothing else from what is sent."""
        old: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"containers": [], "hostname": "x"}, "status": {}}
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

    def test_many(self) -> None:
        """Of very many mistakes only some more are found than are shown."""
        many = 5000
        wrong: list[dict[str, Any]] = [
            {"volumes": [{"name": "v", "emptyDir": {}, "gitRepo": {"repository": "r"}}] * many},
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": ""}}] * many}}]},
            {"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "../p"}] * many}}]},
            {"volumes": [{"name": "v", "flexVolume": {"options": {f"orch.io/{n}": "" for n in range(many)}}}]},
            {"tolerations": [{"operator": "x"}] * many},
            {"topologySpreadConstraints": [{"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}] * many},
            {"hostAliases": [{"ip": "x", "hostnames": ["_"] * many}] * 3},
            {"dnsConfig": {"nameservers": ["x"] * many, "searches": ["_"] * many, "options": [{}] * many}},
            {"nodeSelector": {f"a b{n}": "" for n in range(many)}},
            {"securityContext": {"sysctls": [{"name": "A", "value": ""}] * many}},
        ]
        for spec in wrong:
            pod = CODEC.normalise({"metadata": {"name": "a"}, "spec": spec})
            self.assertTrue(MAX_CAUSES < len(PODS.validate_create(pod)) < 5 * MAX_CAUSES, list(spec))
