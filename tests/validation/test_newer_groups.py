"""Kinds of beta and alpha versions since release 1.24: certificates, candidates, migrations, groups of pods."""
# covers: orchtw.registry.groups.certificates.trust_bundles
# covers: orchtw.registry.groups.coordination
# covers: orchtw.registry.groups.scheduling.pod_groups

from __future__ import annotations

from typing import Any, ClassVar

from orchtw.config.releases import LAST
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.end_to_end.minimal import certificate
from tests.validation.newer_case import NewerCase
from tests.verbs.served import MERGE

GATES = ("CoordinatedLeaderElection", "DRAWorkloadResourceClaims", "WorkloadAwarePreemption")
CERTIFICATES, COORDINATION = "/apis/certificates.orch.io/v1beta1", "/apis/coordination.orch.io"
SCHEDULING = "/apis/scheduling.orch.io/v1alpha2/namespaces/default"
MIGRATIONS = "/apis/storagemigration.orch.io/v1beta1/storageversionmigrations"


def named(name: str, **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


class SwitchedOnCase(NewerCase):
    more: ClassVar[Any] = {
        "runtime_config": (("api/all", "true"),), "feature_gates": tuple((name, "true") for name in GATES),
    }  # fmt: skip


@since(LAST)
class CertificateTests(SwitchedOnCase):
    def test_names_of_bundles(self) -> None:
        """A bundle of a signer has a name that begins with the signer's, which stays (reference KIND-101)."""
        path, pem = f"{CERTIFICATES}/clustertrustbundles", certificate()
        spec = {"signerName": "example.com/ca", "trustBundle": pem}
        self.done("POST", path, named("example.com:ca:one", spec=spec))
        read = self.done("GET", "/apis/certificates.orch.io/v1alpha1/clustertrustbundles/example.com:ca:one")
        self.assertEqual(read["spec"], spec)
        text = "ClusterTrustBundle for signerName example.com/ca must be named with prefix example.com:ca:"
        self.refused(path, named("one", spec=spec), f'metadata.name: Invalid value: "one": {text}')
        colon = 'ClusterTrustBundle without signer name must not have ":" in its name'
        self.refused(path, named("a:b", spec={"trustBundle": pem}), f'metadata.name: Invalid value: "a:b": {colon}')
        change = {"spec": {"signerName": "example.com/ca/two"}}
        answer = self.send("PATCH", f"{path}/example.com:ca:one", change, MERGE)
        self.assertIn("field is immutable", answer.json["message"])

    def test_contents_of_bundles(self) -> None:
        """A bundle has certificates, each once, and nothing else (reference KIND-101)."""
        path, pem = f"{CERTIFICATES}/clustertrustbundles", certificate()
        at = 'spec.trustBundle: Invalid value: "<value omitted>": '
        none = f"{at}at least one trust anchor must be provided"
        self.refused(path, named("a", spec={"trustBundle": "text"}), none)
        twice = f"{at}entry 1 is a duplicate of an earlier one"
        self.refused(path, named("a", spec={"trustBundle": pem * 2}), twice)
        other = pem.replace("CERTIFICATE", "PUBLIC KEY")
        self.refused(path, named("a", spec={"trustBundle": other}), f"{at}entry 0 has bad block type: PUBLIC KEY")
        broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        self.refused(path, named("a", spec={"trustBundle": broken}), f"{at}entry 0 does not parse as X.509")

    def test_requests_of_pods(self) -> None:
        """A request names pod, account and node, and stays, as does its certificate (reference KIND-101)."""
        path = f"{CERTIFICATES}/namespaces/default/podcertificaterequests"
        keys = ("podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID")
        missing = [f"spec.{key}: Required value" for key in (*keys, "stubPKCS10Request")]
        short = {"signerName": "example.com/ca", "maxExpirationSeconds": 60}
        text = "spec.maxExpirationSeconds: Invalid value: 60: must be between 3600 and 7862400, inclusive"
        self.refused(path, named("bad", spec=short), *missing, text)
        spec = {"signerName": "example.com/ca", "stubPKCS10Request": "AAAA", **dict.fromkeys(keys, "a")}
        made = self.done("POST", path, named("one", spec=spec))
        self.assertEqual(made["spec"]["maxExpirationSeconds"], 86400)
        self.refused(f"{path}/one", {"spec": {"podName": "b"}}, "spec: Invalid value: ", method="PATCH")
        status = {"certificateChain": "a", "notBefore": "2024-01-01T00:00:00Z"}
        self.done("PATCH", f"{path}/one/status", {"status": status}, MERGE)
        again = 'status.certificateChain: Invalid value: "b": field is immutable'
        self.refused(f"{path}/one/status", {"status": {"certificateChain": "b"}}, again, method="PATCH")


@since(LAST)
class CoordinationTests(SwitchedOnCase):
    def test_strategies_of_leases(self) -> None:
        """A preferred holder needs a strategy, which is known or has a domain (reference KIND-100)."""
        path = f"{COORDINATION}/v1/namespaces/default/leases"
        text = "may only be specified if `strategy` is defined"
        self.refused(path, named("a", spec={"preferredHolder": "b"}), f"spec.preferredHolder: Forbidden: {text}")
        known = 'supported values: "OldestEmulationVersion"'
        unknown = f'spec.strategy: Unsupported value: "Newest": {known}'
        self.refused(path, named("a", spec={"strategy": "Newest"}), unknown)
        self.done("POST", path, named("a", spec={"strategy": "example.com/newest", "preferredHolder": "b"}))

    def test_candidates(self) -> None:
        """A candidate stands for one Lease, with a version that its program can emulate (reference KIND-100)."""
        path = f"{COORDINATION}/v1beta1/namespaces/default/leasecandidates"
        needed = [f"spec.{key}: Required value" for key in ("leaseName", "binaryVersion", "strategy")]
        self.refused(path, named("a", spec={}), *needed)
        spec = {"leaseName": "web", "strategy": "OldestEmulationVersion", "binaryVersion": "1.30.0"}
        later = 'spec.emulationVersion: Invalid value: "1.31.0": must be less than or equal to binaryVersion'
        self.refused(path, named("a", spec={**spec, "emulationVersion": "1.31.0"}), later)
        odd = 'spec.binaryVersion: Invalid value: "1.30": must be a valid semantic version'
        self.refused(path, named("a", spec={**spec, "binaryVersion": "1.30"}), odd)
        self.done("POST", path, named("a", spec={**spec, "emulationVersion": "1.30.0-rc.1"}))
        older = self.done("GET", f"{COORDINATION}/v1alpha2/namespaces/default/leasecandidates/a")
        self.assertEqual(older["spec"]["leaseName"], "web")
        moved = 'spec.leaseName: Invalid value: "b": field is immutable'
        self.refused(f"{path}/a", {"spec": {"leaseName": "b"}}, moved, method="PATCH")


@since(LAST)
class MigrationTests(SwitchedOnCase):
    def test_migrations(self) -> None:
        """A migration names a resource, which stays (reference KIND-102)."""
        self.refused(MIGRATIONS, named("a", spec={}), "spec.resource.resource: Required value")
        self.done("POST", MIGRATIONS, named("a", spec={"resource": {"group": "apps", "resource": "deployments"}}))
        change = {"spec": {"resource": {"resource": "daemonsets"}}}
        self.refused(f"{MIGRATIONS}/a", change, "spec.resource: Invalid value: ", method="PATCH")


@since(LAST)
class PodGroupTests(SwitchedOnCase):
    def test_policies(self) -> None:
        """A group has one policy and stays as it is; a gang has members (reference KIND-103)."""
        path = f"{SCHEDULING}/podgroups"
        one = "spec.schedulingPolicy: Required value: must specify one of: `basic`, `gang`"
        self.refused(path, named("a", spec={}), one)
        both = {"basic": {}, "gang": {"minCount": 0}}
        self.refused(
            path, named("a", spec={"schedulingPolicy": both, "podGroupTemplateRef": {}}),
            "spec.podGroupTemplateRef: Required value: must specify one of: `workload`",
            'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
            "spec.schedulingPolicy.gang.minCount: Required value",
        )  # fmt: skip
        made = self.done("POST", path, named("a", spec={"schedulingPolicy": {"gang": {"minCount": 2}}}))
        self.assertEqual(made["spec"]["disruptionMode"], "Pod")
        change = {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
        self.refused(f"{path}/a", change, "spec.schedulingPolicy: Invalid value: ", method="PATCH")

    def test_fields_whose_gates_are_off(self) -> None:
        """Constraints of topology are dropped while their gate is off (reference KIND-91)."""
        spec = {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}}
        made = self.done("POST", f"{SCHEDULING}/podgroups", named("a", spec=spec))
        self.assertNotIn("schedulingConstraints", made["spec"])

    def test_workloads(self) -> None:
        """A workload has 1 to 8 templates with names of their own, which stay (reference KIND-103)."""
        path = f"{SCHEDULING}/workloads"
        self.refused(path, named("a", spec={}), "spec.podGroupTemplates: Required value")
        claims = [{"name": "one"}, {"name": "two", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]
        template: Object = {"name": "a", "schedulingPolicy": {"basic": {}}}
        at = "spec.podGroupTemplates"
        ways = "`resourceClaimName`, `resourceClaimTemplateName`"
        self.refused(
            path, named("a", spec={"podGroupTemplates": [template, {**template, "resourceClaims": claims}]}),
            f'{at}[1].name: Duplicate value: "a"',
            f"{at}[1].resourceClaims[0]: Required value: must specify one of: {ways}",
            f"{at}[1].resourceClaims[1]: Invalid value: ",
        )  # fmt: skip
        many = [{**template, "name": f"a-{number}"} for number in range(9)]
        text = f"{at}: Too many: 9: must have at most 8 items"
        self.refused(path, named("a", spec={"podGroupTemplates": many}), text)
        self.done("POST", path, named("a", spec={"podGroupTemplates": [template]}))
        change = {"spec": {"podGroupTemplates": many[:1]}}
        self.refused(f"{path}/a", change, f"{at}: Invalid value: ", method="PATCH")


class DefaultTests(NewerCase):
    def test_versions_that_are_off(self) -> None:
        """Newer alpha and beta versions are 404 unless they are switched on (reference KIND-90)."""
        paths = ("certificates.orch.io/v1alpha1", "coordination.orch.io/v1alpha2", "resource.orch.io/v1beta1")
        for path in (*paths, "resource.orch.io/v1alpha3", "scheduling.orch.io/v1alpha2"):
            self.assertEqual(self.code("GET", f"/apis/{path}"), 404, path)
