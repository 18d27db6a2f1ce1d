"""PodSecurity in a whole server (reference PLUG-35 to PLUG-38, PLUG-100, PLUG-103)."""

from __future__ import annotations

import re
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain
from orchtw.admission.metrics import AdmissionMetrics
from orchtw.admission.plugins.pod_security.configuration import PodSecuritySettings
from orchtw.admission.plugins.pod_security.metrics import PodSecurityMetrics
from orchtw.admission.plugins.pod_security.plugin import PodSecurity
from orchtw.admission.plugins.pod_security.policy import NamespacePolicy, Standard
from orchtw.admission.plugins.pod_security.workloads import PODS
from orchtw.wire.objects import Object
from tests.admission import asked
from tests.admission.plugins.pod_security.pods import container, good_pod
from tests.admission.plugins.pod_security.served_case import NO_LEVEL, PREFIX, PRIVILEGED, PodSecurityCase
from tests.verbs.served import MERGE

DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"


class MetricsTests(PodSecurityCase):
    """Metrics of the plugin (reference PLUG-110)."""

    def counted(self, name: str) -> dict[tuple[str, ...], float]:
        """The samples of a counter by the values of their labels, which stand in the order of their names."""
        lines = self.send("GET", "/metrics").body.decode().splitlines()
        found = (re.fullmatch(rf"pod_security_{name}_total{{(.*)}} (.*)", line) for line in lines)
        return {tuple(re.findall(r'"(.*?)"', each[1])): float(each[2]) for each in found if each}

    def test_evaluations(self) -> None:
        """Evaluations count by standard, mode and outcome."""
        self.namespace("loose")
        self.done("POST", self.pods("loose"), self.bad_pod())
        self.namespace("n", enforce="baseline", enforce_version="v1.99", warn="restricted", audit="restricted")
        self.send("POST", self.pods("n"), self.bad_pod())
        self.done("POST", self.pods("n"), good_pod())
        template = {"spec": self.bad_pod()["spec"]}
        self.done("POST", "/api/v1/namespaces/n/podtemplates", {"metadata": {"name": "w"}, "template": template})
        expected = {
            ("allow", "enforce", "privileged", "latest", "create", "pod", ""): 1,
            ("deny", "enforce", "baseline", "future", "create", "pod", ""): 1,
            ("deny", "audit", "restricted", "latest", "create", "pod", ""): 1,
            ("allow", "enforce", "baseline", "future", "create", "pod", ""): 1,
            ("deny", "audit", "restricted", "latest", "create", "controller", ""): 1,
            ("deny", "warn", "restricted", "latest", "create", "controller", ""): 1,
        }
        self.assertEqual(self.counted("evaluations"), expected)

    def test_errors(self) -> None:
        """Labels that cannot be read."""
        self.namespace("n")
        namespaces = self.server.instance.resources.targets.stored_target("", "v1", "namespaces").stored
        entry = namespaces.get("", "n")
        assert entry is not None
        entry.labels = self.labels({"enforce": "x"})
        self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual(self.counted("errors"), {("false", "create", "pod", ""): 1})


class PodTests(PodSecurityCase):
    """Pods, and the three modes."""

    def test_unlabelled(self) -> None:
        """Where nothing is asked for nothing is refused or told, and that is noted."""
        self.namespace("n", enforce_version="v1.20")
        answer = self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual((answer.code, self.warnings(answer)), (201, []))
        self.assertEqual(self.annotations(), {"enforce-policy": "privileged:latest"})

    def test_enforce(self) -> None:
        """A pod that keeps to the standard is made, another refused with all reasons; both are noted."""
        self.namespace("n", enforce="baseline", enforce_version="v1.24")
        self.done("POST", self.pods("n"), good_pod())
        self.assertEqual(self.annotations(), {"enforce-policy": "baseline:v1.24"})
        answer = self.send("POST", self.pods("n"), self.bad_pod("q", hostPID=True))
        self.assertEqual((answer.code, self.warnings(answer)), (403, []))
        why = f'violates PodSecurity "baseline:v1.24": host namespaces (hostPID=true), {PRIVILEGED}'
        self.assertEqual(answer.json["message"], f'pods "q" is forbidden: {why}')
        self.assertEqual(answer.json["reason"], "Forbidden")
        self.assertEqual(answer.json["details"], {"name": "q", "kind": "pods"})
        self.assertEqual(self.annotations(), {"enforce-policy": "baseline:v1.24"})

    def test_usual_pod(self) -> None:
        """A pod without a security context breaks controls of level restricted; the refusal lists them all."""
        self.namespace("n", enforce="restricted")
        pod = {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.assertEqual(
            self.send("POST", self.pods("n"), pod).json["message"],
            'pods "q" is forbidden: violates PodSecurity "restricted:latest": '
            'allowPrivilegeEscalation != false (container "c" must set '
            "securityContext.allowPrivilegeEscalation=false), "
            'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
            'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
            'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")',
        )

    def test_warn_and_audit(self) -> None:
        """Mode warn tells the client, mode audit the log; neither refuses."""
        self.namespace("n", warn="baseline", audit="restricted", audit_version="v1.7")
        answer = self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual(answer.code, 201)
        self.assertEqual(self.warnings(answer), [f'would violate PodSecurity "baseline:latest": {PRIVILEGED}'])
        expected = {
            "enforce-policy": "privileged:latest",
            "audit-violations": f'would violate PodSecurity "restricted:v1.7": {PRIVILEGED}',
        }
        self.assertEqual(self.annotations(), expected)

    def test_refused_is_not_warned(self) -> None:
        """A refused pod is not warned of too; the log still has it."""
        self.namespace("n", enforce="baseline", warn="restricted", audit="restricted")
        answer = self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual((answer.code, self.warnings(answer)), (403, []))
        self.assertIn("audit-violations", self.annotations())

    def test_dry_run(self) -> None:
        """A dry run is told the same."""
        self.namespace("n", enforce="baseline")
        self.assertEqual(self.code("POST", f"{self.pods('n')}?dryRun=All", self.bad_pod()), 403)

    def test_labels_change(self) -> None:
        """A namespace's labels count as they are when a pod comes."""
        self.namespace("n")
        self.done("POST", self.pods("n"), self.bad_pod("a"))
        self.label("n", enforce="baseline")
        self.assertEqual(self.code("POST", self.pods("n"), self.bad_pod("b")), 403)
        self.label("n", enforce="privileged")
        self.done("POST", self.pods("n"), self.bad_pod("b"))

    def test_updates(self) -> None:
        """An update is looked at if it may matter: images do, labels do not."""
        self.namespace("n")
        self.done("POST", self.pods("n"), self.bad_pod())
        self.label("n", enforce="baseline")
        path = f"{self.pods('n')}/p"
        self.done("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)
        self.assertEqual(self.annotations(), {})
        status = {"status": {"phase": "Running"}}
        self.done("PATCH", f"{path}/status", status, MERGE)
        images = {"spec": {"containers": [{**self.bad_pod()["spec"]["containers"][0], "image": "j"}]}}
        self.assertEqual(self.code("PATCH", path, images, MERGE), 403)

    def test_ephemeral_containers(self) -> None:
        """Those that come later are looked at like the others."""
        self.namespace("n", enforce="baseline")
        self.done("POST", self.pods("n"), good_pod())
        path = f"{self.pods('n')}/p/ephemeralcontainers"
        bad = {"spec": {"ephemeralContainers": [container("e", privileged=True, allowPrivilegeEscalation=None)]}}
        answer = self.send("PATCH", path, bad, MERGE)
        why = PRIVILEGED.replace('"c"', '"e"')
        expected = f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {why}'
        self.assertEqual((answer.code, answer.json["message"]), (403, expected))
        self.done("PATCH", path, {"spec": {"ephemeralContainers": [container("e")]}}, MERGE)

    def test_wrong_labels(self) -> None:
        """Labels that came in without being looked at refuse most, and the log says why."""
        wrong: Object = {"metadata": {"name": "n", "labels": self.labels({"enforce": "x", "warn": "y"})}}
        namespaces = self.server.instance.resources.targets.stored_target("", "v1", "namespaces").stored
        self.namespace("n")
        entry = namespaces.get("", "n")
        assert entry is not None
        entry.labels = wrong["metadata"]["labels"]
        answer = self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual(answer.code, 403)
        self.assertIn('violates PodSecurity "restricted:latest"', answer.json["message"])
        expected = (
            f'Failed to parse policy: [metadata.labels[{PREFIX}enforce]: Invalid value: "x": {NO_LEVEL}, '
            f'metadata.labels[{PREFIX}warn]: Invalid value: "y": {NO_LEVEL}]'
        )
        self.assertEqual(self.annotations()["error"], expected)


class Namespaces:
    """None, and n once `told` has fired."""

    def __init__(self) -> None:
        self.known: dict[str, NamespacePolicy] = {}
        self.told: Deferred[None] = Deferred()

    def get(self, namespace: str, name: str) -> NamespacePolicy | None:
        return self.known.get(name)

    def due(self) -> Deferred[None]:
        return self.told


class LateTests(SynchronousTestCase):
    """Namespaces that the cache does not know yet."""

    def test_other_process(self) -> None:
        """A namespace is missing only once the cache holds what other processes have written (reference READ-10)."""
        for known in ({"n": NamespacePolicy(enforce=Standard("baseline"))}, {}):
            namespaces = Namespaces()
            metrics = PodSecurityMetrics(AdmissionMetrics())
            plugin = PodSecurity(PodSecuritySettings(), asked.NAMING, namespaces, cast(Any, None), metrics)
            pod = good_pod(hostPID=True)
            done = asked.pass_chain(Chain([plugin]), asked.attributes("CREATE", PODS, namespace="n", obj=pod))
            self.assertNoResult(done)
            namespaces.known = known
            namespaces.told.callback(None)
            error = self.failureResultOf(done).value
            expected = 'pods "x" is forbidden: violates' if known else 'namespaces "n" not found'
            self.assertTrue(str(error).startswith(expected), error)


class WorkloadTests(PodSecurityCase):
    """Kinds that make pods are warned about, and never refused."""

    def test_kinds(self) -> None:
        """Every kind with a pod template."""
        self.namespace("n", enforce="restricted", audit="baseline", warn="baseline")
        template = {"metadata": {"labels": {"a": "b"}}, "spec": self.bad_pod()["spec"]}
        job = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
        selected = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
        expected = f'would violate PodSecurity "baseline:latest": {PRIVILEGED}'
        for group_version, plural, more in (
            ("v1", "podtemplates", {"template": template}),
            ("v1", "replicationcontrollers", {"spec": {"selector": {"a": "b"}, "template": template}}),
            ("apps/v1", "replicasets", {"spec": selected}),
            ("apps/v1", "deployments", {"spec": selected}),
            ("apps/v1", "statefulsets", {"spec": {**selected, "serviceName": "s"}}),
            ("apps/v1", "daemonsets", {"spec": selected}),
            ("batch/v1", "jobs", {"spec": job}),
            ("batch/v1", "cronjobs", {"spec": cron}),
        ):
            root = f"/apis/{group_version}" if "/" in group_version else "/api/v1"
            path = f"{root}/namespaces/n/{plural}"
            answer = self.send("POST", path, {"metadata": {"name": "w"}, **more})
            self.assertEqual((plural, answer.code), (plural, 201), answer.body)
            self.assertEqual(self.warnings(answer), [expected], plural)
            self.assertEqual(self.annotations(), {"audit-violations": expected}, plural)
            answer = self.send("PATCH", f"{path}/w", {"metadata": {"labels": {"x": "y"}}}, MERGE)
            self.assertEqual((answer.code, self.warnings(answer)), (200, [expected]), plural)
            answer = self.send("PATCH", f"{path}/w/status", {}, MERGE)
            self.assertEqual(self.warnings(answer), [], plural)

    def test_old_cron_job(self) -> None:
        """In the version before too."""
        self.namespace("n", warn="baseline")
        job = {"template": {"spec": {**self.bad_pod()["spec"], "restartPolicy": "Never"}}}
        cron = {"metadata": {"name": "w"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}
        answer = self.send("POST", "/apis/batch/v1beta1/namespaces/n/cronjobs", cron)
        self.assertIn(f'would violate PodSecurity "baseline:latest": {PRIVILEGED}', self.warnings(answer))

    def test_without_template(self) -> None:
        """A kind that may be without a template passes without."""
        self.namespace("n", warn="restricted")
        answer = self.send(
            "POST", "/api/v1/namespaces/n/podtemplates", {"metadata": {"name": "w"}, "template": good_pod()}
        )
        self.assertEqual((answer.code, self.warnings(answer)), (201, []))

    def test_enforced_only(self) -> None:
        """Mode enforce ignores templates."""
        self.namespace("n", enforce="restricted")
        template = {"metadata": {"labels": {"a": "b"}}, "spec": self.bad_pod()["spec"]}
        body = {"metadata": {"name": "w"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
        answer = self.send("POST", DEPLOYMENTS.format("n"), body)
        self.assertEqual((answer.code, self.warnings(answer), self.annotations()), (201, [], {}))
