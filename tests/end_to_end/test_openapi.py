"""`kubectl` reads the published documents (supplement C2, C8)."""

from __future__ import annotations

import json

from orchtw.testing.kubectl import Kubectl, Result
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "example.com/web:1"}]},
}


class OpenAPICase(ServerCase):
    """Runs kubectl in the test's namespace."""

    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.kubectl = Kubectl(reactor, self.server.kubeconfig, self.mktemp())

    async def run_kubectl(self, *arguments: str, stdin: str = "") -> Result:
        return await self.kubectl.run(f"--namespace={self.namespace}", *arguments, stdin=stdin)


class KubernetesTests(OpenAPICase):
    """Under the vocabulary whose extensions kubectl looks for."""

    vocabulary = "kubernetes"

    async def test_explain(self) -> None:
        """`explain pods.spec.containers` names the type, what is required, and enums."""
        shown = await self.run_kubectl("explain", "pods.spec.containers")
        self.assertEqual(shown.status, 0, shown)
        self.assertIn("FIELD: containers <[]Container>", shown.output)
        self.assertIn("name\t<string> -required-", shown.output)
        self.assertIn("enum: Always, IfNotPresent, Never", shown.output)

    async def test_explain_version_two(self) -> None:
        """The binary v2 document explains the same fields."""
        shown = await self.run_kubectl("explain", "pods.spec.containers", "--output=plaintext-openapiv2")
        self.assertEqual(shown.status, 0, shown)
        self.assertIn("image\t<string>", shown.output)

    async def test_explain_recursive(self) -> None:
        """`explain deployment --recursive` walks all of it."""
        shown = await self.run_kubectl("explain", "deployment", "--recursive")
        self.assertEqual(shown.status, 0, shown)
        for field in ("minReadySeconds", "rollingUpdate", "topologySpreadConstraints", "lastTransitionTime"):
            self.assertIn(f" {field}\t<", shown.output)

    async def test_create_and_apply(self) -> None:
        """`create --validate=strict` and a first `apply` find the kind in the documents."""
        created = await self.run_kubectl("create", "--validate=strict", "-f", "-", stdin=json.dumps(POD))
        self.assertEqual((created.status, created.errors), (0, ""), created)
        other = {**POD, "metadata": {"name": "other"}}
        applied = await self.run_kubectl("apply", "-f", "-", stdin=json.dumps(other))
        self.assertEqual((applied.status, applied.output), (0, "pod/other created\n"), applied)


class OrchTests(OpenAPICase):
    """Under the specification's own vocabulary."""

    async def test_explain(self) -> None:
        """`explain` finds no kind in either version, as its extension has another name (supplement C2)."""
        for output, words in (("plaintext", "not found in"), ("plaintext-openapiv2", "couldn't find resource for")):
            shown = await self.run_kubectl("explain", "pods", f"--output={output}")
            self.assertEqual(shown.status, 1, shown)
            self.assertIn(words, shown.errors)
