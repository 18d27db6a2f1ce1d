"""`kubectl` reads the published documents (reference OPENAPI-17, CLIENT-7)."""

from __future__ import annotations

import json

from orchtw.testing.kubectl import minor_version
from tests.end_to_end.kubectl_case import KubectlCase

EXPLAINS_VERSION_THREE = 27
"""The first `kubectl` whose `explain` reads OpenAPI v3, and has a flag to choose."""

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "example.com/web:1"}]},
}


class KubernetesTests(KubectlCase):
    """Under the vocabulary whose extensions kubectl looks for."""

    vocabulary = "kubernetes"

    async def test_explain(self) -> None:
        """`explain pods.spec.containers` names the type, what is required, and enums."""
        shown = await self.run_any("explain", "pods.spec.containers")
        self.assertEqual(shown.status, 0, shown)
        self.assertIn("name\t<string> -required-", shown.output)
        if minor_version() >= EXPLAINS_VERSION_THREE:
            self.assertIn("FIELD: containers <[]Container>", shown.output)
            self.assertIn("enum: Always, IfNotPresent, Never", shown.output)

    async def test_explain_tells_what_a_field_does(self) -> None:
        """`explain` of a field shows its meaning, unit and default, in the served vocabulary's names."""
        for path, words in {
            "deployment.spec.strategy.rollingUpdate.maxSurge": "percentage of replicas, rounded up. Default: 25%.",
            "pod.spec.containers.livenessProbe.periodSeconds": "Interval between checks in seconds, 1 or more.",
            "pod.spec.topologySpreadConstraints.topologyKey": "such as topology.kubernetes.io/zone.",
        }.items():
            shown = await self.run_any("explain", path)
            self.assertEqual(shown.status, 0, shown)
            self.assertIn(words, " ".join(shown.output.split()))

    async def test_explain_begins_as_expected(self) -> None:
        """`explain` of any kind shows the words that clients look for, by both documents (reference OPENAPI-20)."""
        choices = ((), ("--output=plaintext-openapiv2",)) if minor_version() >= EXPLAINS_VERSION_THREE else ((),)
        opening = (
            r"(?s)KIND:.*VERSION:.*DESCRIPTION:.*FIELDS:.*apiVersion.*<string>.*APIVersion defines"
            r".*kind.*<string>.*Kind is a string.*metadata.*<(Object|ObjectMeta)>.*Standard object's"
        )
        times = (
            r"(?s)DESCRIPTION:.*Standard object's\s+metadata.*FIELDS:.*creationTimestamp.*<string>"
            r".*CreationTimestamp is a timestamp"
        )
        for choice in choices:
            for kind in ("pods", "deployments", "clusterroles", "customresourcedefinitions", "leases", "apiservices"):
                self.assertRegex(await self.run_ok("explain", kind, *choice), opening)
            self.assertRegex(await self.run_ok("explain", "pods.metadata", *choice), times)

    async def test_explain_version_two(self) -> None:
        """The binary v2 document explains the same fields."""
        choice = ("--output=plaintext-openapiv2",) if minor_version() >= EXPLAINS_VERSION_THREE else ()
        shown = await self.run_any("explain", "pods.spec.containers", *choice)
        self.assertEqual(shown.status, 0, shown)
        self.assertIn("image\t<string>", shown.output)

    async def test_explain_recursive(self) -> None:
        """`explain deployment --recursive` walks all of it."""
        shown = await self.run_any("explain", "deployment", "--recursive")
        self.assertEqual(shown.status, 0, shown)
        for field in ("minReadySeconds", "rollingUpdate", "topologySpreadConstraints", "lastTransitionTime"):
            self.assertIn(f" {field}\t<", shown.output)

    async def test_create_and_apply(self) -> None:
        """`create --validate=strict` and a first `apply` find the kind in the documents."""
        how = "strict" if minor_version() >= 25 else "true"
        created = await self.run_any("create", f"--validate={how}", "-f", "-", stdin=json.dumps(POD))
        self.assertEqual((created.status, created.errors), (0, ""), created)
        other = {**POD, "metadata": {"name": "other"}}
        applied = await self.run_any("apply", "-f", "-", stdin=json.dumps(other))
        self.assertEqual((applied.status, applied.output), (0, "pod/other created\n"), applied)


class OrchTests(KubectlCase):
    """Under the specification's own vocabulary."""

    async def test_explain(self) -> None:
        """`explain` finds no kind in either version, as its extension has another name (reference OPENAPI-17)."""
        unknown = "couldn't find resource for"
        newer = (("--output=plaintext", "not found in"), ("--output=plaintext-openapiv2", unknown))
        older = (("--recursive=false", unknown),)
        for flag, words in newer if minor_version() >= EXPLAINS_VERSION_THREE else older:
            shown = await self.run_any("explain", "pods", flag)
            self.assertEqual(shown.status, 1, shown)
            self.assertIn(words, shown.errors)
