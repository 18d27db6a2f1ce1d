"""`kubectl`, unmodified, on custom resources: what their users type every day (reference CLIENT-1, CRD-8)."""

from __future__ import annotations

import json
from typing import Any

import yaml

from orchtw.testing.kubectl import minor_version
from tests.definitions.build import in_vocabulary
from tests.definitions.sets import OPERATORS
from tests.end_to_end.definitions import DefinitionCase
from tests.end_to_end.kubectl_case import KubectlCase
from tests.end_to_end.operators.bakery import bakery

OLD_KUBECTL = None if minor_version() >= 23 else "kubectl is older than 1.23: no `wait --for=jsonpath`: not run"


class CustomKubectlCase(KubectlCase, DefinitionCase):
    vocabulary = "kubernetes"


class BakeryTests(CustomKubectlCase):
    """One kind, installed by kubectl itself."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        await super().setUp()
        self.group_name = self.own_group()
        self.definition = in_vocabulary(bakery(self.group_name), self.naming)
        name = f"bakeries.{self.group_name}"
        self.addCleanup(self.uninstall, name)
        made = await self.run_ok("apply", "-f", "-", stdin=yaml.safe_dump(self.definition))
        self.assertEqual(made, f"customresourcedefinition.apiextensions.k8s.io/{name} created\n")
        told = await self.run_ok("wait", "--for=condition=Established", f"crd/{name}", "--timeout=30s")
        self.assertEqual(told, f"customresourcedefinition.apiextensions.k8s.io/{name} condition met\n")
        await self.served(name)

    def bakery(self, name: str = "corner", api_version: str = "v1", **spec: Any) -> str:
        """Write a manifest to a file."""
        about = {"apiVersion": f"{self.group_name}/{api_version}", "kind": "Bakery", "metadata": {"name": name}}
        return yaml.safe_dump({**about, "spec": {"flour": "rye", **spec}})

    async def set_status(self, name: str = "corner") -> None:
        """Write the status as the bakery's operator would."""
        condition = {
            "type": "Ready", "status": "True", "reason": "Warm", "message": "", "lastTransitionTime":
            "2022-01-01T00:00:00Z",
        }  # fmt: skip
        status = {"status": {"ovens": 1, "selector": "bakery=corner", "conditions": [condition]}}
        answer = await self.client.merge(self.custom(self.definition, name, "status"), status)
        self.assertEqual(answer.code, 200, answer)

    async def test_apply(self) -> None:
        """apply creates, changes and finds nothing to do, as on any kind, and fields that are left out go."""
        name = f"bakery.{self.group_name}/corner"
        for manifest, done in (
            (self.bakery(notes="new", ovens=2), "created"),
            (self.bakery(notes="new", ovens=2), "unchanged"),
            (self.bakery(flour="spelt"), "configured"),
        ):
            self.assertEqual(await self.run_ok("apply", "-f", "-", stdin=manifest), f"{name} {done}\n")
        spec = json.loads(await self.run_ok("get", "bakery", "corner", "-o", "json"))["spec"]
        self.assertEqual(spec, {"flour": "spelt", "ovens": 1})

    async def test_server_side_apply(self) -> None:
        """Each manager has its own fields, and a conflict is told."""
        apply = ("apply", "--server-side", "-f", "-")
        await self.run_ok(*apply, "--field-manager=one", stdin=self.bakery(notes="a"))
        refused = await self.run_any(*apply, "--field-manager=two", stdin=self.bakery(notes="b"))
        self.assertEqual(refused.status, 1)
        self.assertIn('conflict with "one"', refused.errors)
        self.assertIn(".spec.notes", refused.errors)
        done = await self.run_ok(*apply, "--field-manager=two", "--force-conflicts", stdin=self.bakery(notes="b"))
        self.assertEqual(done, f"bakery.{self.group_name}/corner serverside-applied\n")

    async def test_get(self) -> None:
        """Columns, wide columns, short names, categories, both versions, labels and output formats."""
        await self.run_ok("apply", "-f", "-", stdin=self.bakery(notes="fresh"))
        lines = await self.words("get", "bakeries")
        self.assertEqual(lines[0], ["NAME", "FLOUR", "OVENS", "READY", "AGE"])
        self.assertEqual(lines[1][:3], ["corner", "rye", "1"])
        await self.set_status()
        lines = await self.words("get", "bk", "-o", "wide")
        self.assertEqual(lines[0], ["NAME", "FLOUR", "OVENS", "READY", "AGE", "NOTES"])
        self.assertEqual((lines[1][:4], lines[1][5:]), (["corner", "rye", "1", "True"], ["fresh"]))
        self.assertEqual(
            (await self.run_ok("get", "food", "-o", "name")).split()[0], f"bakery.{self.group_name}/corner"
        )
        old = await self.run_any("get", f"bakeries.v1beta1.{self.group_name}", "corner", "-o", "yaml")
        self.assertEqual(yaml.safe_load(old.output)["apiVersion"], f"{self.group_name}/v1beta1")
        self.assertIn("Warning: v1beta1 is old bread", old.errors)
        shown = await self.run_ok("get", "bk", "-o", "custom-columns=N:.metadata.name,O:.spec.ovens", "--no-headers")
        self.assertEqual(shown.split(), ["corner", "1"])
        await self.run_ok("label", "bk", "corner", "street=high")
        self.assertEqual(await self.run_ok("get", "bk", "-l", "street=low", "-o", "name"), "")
        self.assertIn("street=high", await self.run_ok("get", "bk", "-l", "street", "--show-labels"))

    async def test_describe(self) -> None:
        """describe shows every field under its name."""
        await self.run_ok("apply", "-f", "-", stdin=self.bakery(notes="fresh"))
        shown = await self.run_ok("describe", "bakery", "corner")
        for pattern in (r"Name:\s+corner\n", r"Kind:\s+Bakery\n", r"\n  Flour:\s+rye\n", r"\n  Ovens:\s+1\n"):
            self.assertRegex(shown, pattern)

    async def test_explain(self) -> None:
        """explain tells kind, version, types and descriptions of a kind and of a field."""
        shown = await self.run_ok("explain", "bakery")
        opening = "(?s)APIVersion defines.*Kind is a string.*Standard object's"  # reference OPENAPI-20
        self.assertRegex(shown, opening)
        for line in (
            r"KIND:\s+Bakery\n",
            r"VERSION:\s+(.*/)?v1\n",
            r"A place where bread is made\.",
            r"spec\s+<Object>",
        ):
            self.assertRegex(shown, line)
        field = await self.run_ok("explain", "bakeries.spec.flour")
        self.assertIn("The flour of the bread.", field)
        self.assertRegex(field, r"flour <string>")
        tree = await self.run_ok("explain", "bk.status", "--recursive")
        for line in (r"conditions\s+<\[\]Object>", r"observedGeneration\s+<integer>", r"selector\s+<string>"):
            self.assertRegex(tree, line)
        missing = await self.run_any("explain", "bakeries.spec.yeast")
        self.assertEqual((missing.status, "yeast" in missing.errors), (1, True), missing)

    async def test_refused(self) -> None:
        """Schema violations are refused with every cause, and unknown fields by name."""
        refused = await self.run_any("create", "-f", "-", stdin=self.bakery(flour="chalk", ovens=21))
        self.assertEqual(refused.status, 1)
        self.assertIn('The Bakery "corner" is invalid', refused.errors)
        self.assertIn(
            'spec.flour: Unsupported value: "chalk": supported values: "rye", "wheat", "spelt"', refused.errors
        )
        self.assertIn("spec.ovens in body should be less than or equal to 20", refused.errors)
        unknown = await self.run_any("create", "-f", "-", stdin=self.bakery(yeast="much"))
        self.assertEqual(unknown.status, 1)
        self.assertRegex(unknown.errors, r"unknown field \"(Bakery\.|.*)spec.*yeast|ValidationError.*yeast|yeast")
        self.assertEqual(await self.run_ok("get", "bk", "-o", "name"), "")

    async def test_scale(self) -> None:
        """scale reads and writes where the definition says."""
        await self.run_ok("apply", "-f", "-", stdin=self.bakery(ovens=2))
        told = await self.run_ok("scale", "bakery/corner", "--replicas=4", "--current-replicas=2")
        self.assertEqual(told, f"bakery.{self.group_name}/corner scaled\n")
        self.assertEqual(await self.run_ok("get", "bk", "corner", "-o", "jsonpath={.spec.ovens}"), "4")
        too_many = await self.run_any("scale", "bakery/corner", "--replicas=99")
        self.assertEqual(too_many.status, 1, too_many)

    async def test_patch(self) -> None:
        """merge and JSON patches work, strategic ones are for built-in kinds only."""
        await self.run_ok("apply", "-f", "-", stdin=self.bakery(labels={"a": "1"}))
        await self.run_ok("patch", "bk", "corner", "--type=merge", "-p", '{"spec":{"labels":{"b":"2"}}}')
        patch = '[{"op":"test","path":"/spec/labels/b","value":"2"},{"op":"remove","path":"/spec/labels/a"}]'
        await self.run_ok("patch", "bk", "corner", "--type=json", "-p", patch)
        self.assertEqual(await self.run_ok("get", "bk", "corner", "-o", "jsonpath={.spec.labels}"), '{"b":"2"}')
        refused = await self.run_any("patch", "bk", "corner", "-p", '{"spec":{"ovens":3}}')
        self.assertEqual(refused.status, 1)
        self.assertIn("application/strategic-merge-patch+json is not supported", refused.errors)

    async def test_wait(self) -> None:
        """wait sees conditions, fields and the end."""
        if OLD_KUBECTL:
            raise self.skipTest(OLD_KUBECTL)
        await self.run_ok("apply", "-f", "-", stdin=self.bakery())
        waiting = self.kubectl.start(
            "wait", "--for=condition=Ready", "bk/corner", "--timeout=60s", f"--namespace={self.namespace}"
        )
        await self.set_status()
        self.assertEqual((await waiting.result).status, 0)
        await self.run_ok("wait", "--for=jsonpath={.status.ovens}=1", "bk/corner", "--timeout=30s")
        await self.run_ok("delete", "bk", "corner", "--wait=false")
        await self.run_ok("wait", "--for=delete", "bk/corner", "--timeout=30s")

    async def test_watch(self) -> None:
        """`get -w` shows rows with the kind's columns as things happen."""
        watching = self.kubectl.start("get", "bk", "-w", "--output-watch-events", f"--namespace={self.namespace}")
        await self.run_ok("apply", "-f", "-", stdin=self.bakery())
        await watching.until("corner")
        await self.run_ok("patch", "bk", "corner", "--type=merge", "-p", '{"spec":{"flour":"wheat"}}')
        await watching.until("MODIFIED")
        await self.run_ok("delete", "bk", "--all")
        await self.lines_until(watching, "DELETED")
        rows = [line.split()[:4] for line in (await watching.stop()).output.splitlines()]
        self.assertEqual(rows[0], ["EVENT", "NAME", "FLOUR", "OVENS"])
        expected = [("ADDED", "rye"), ("MODIFIED", "wheat"), ("DELETED", "wheat")]
        self.assertEqual(rows[1:], [[event, "corner", flour, "1"] for event, flour in expected])

    async def test_definition(self) -> None:
        """The definition itself is listed and described, and its end takes the kind away."""
        name = f"bakeries.{self.group_name}"
        self.assertIn(name, await self.run_ok("get", "crd"))
        self.assertRegex(await self.run_ok("describe", "crd", name), r"Kind:\s+Bakery\n")
        resources = await self.words("api-resources", f"--api-group={self.group_name}", "--no-headers")
        self.assertEqual(resources, [["bakeries", "bk", f"{self.group_name}/v1", "true", "Bakery"]])
        await self.run_ok("apply", "-f", "-", stdin=self.bakery())
        told = await self.run_ok("delete", "crd", name)
        self.assertIn(f'"{name}" deleted', told)
        gone = await self.run_any("get", f"bakeries.{self.group_name}")
        self.assertEqual(gone.status, 1)
        self.assertIn("the server doesn't have a resource type", gone.errors)


EXPLAINED = {
    "certificates": ("certificates.spec.privateKey.algorithm", "issuers.spec.acme.solvers.dns01.webhook.config"),
    "monitoring": ("collectors.spec.compactor.template.spec.containers.livenessProbe.httpGet.port", "rulesets.spec"),
    "gitops": ("releases.spec.values", "applications.status.history.source.helm.valuesObject"),
    "databases": ("clusters.spec.bootstrap.recovery.recoveryTarget", "poolers.spec.template.spec.affinity"),
    "gateways": ("httproutes.spec.rules.filters.requestRedirect.path", "gateways.spec.listeners.tls.certificateRefs"),
}


class OperatorKubectlTests(CustomKubectlCase):
    """The definitions of well-known operators, installed as their manuals say."""

    async def operator(self, name: str) -> None:
        """create the definitions, wait for them, apply an object of each kind, explain, get all, delete."""
        operator = OPERATORS[name]
        definitions = [in_vocabulary(each, self.naming) for each in operator.definitions()]
        manifests = yaml.safe_dump_all(in_vocabulary(each, self.naming) for each in operator.objects())
        names = [each["metadata"]["name"] for each in definitions]
        for each in names:
            self.addCleanup(self.uninstall, each)
        await self.run_ok("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(definitions))
        crds = [f"crd/{each}" for each in names]
        await self.run_ok("wait", "--for=condition=Established", *crds, "--timeout=30s")
        for each in names:
            await self.served(each)
        applied = await self.run_ok("apply", "-f", "-", stdin=manifests)
        self.assertEqual(len(applied.splitlines()), len(definitions))
        before = [await self.client.get(self.custom(each, "sample")) for each in definitions]
        await self.run_ok("apply", "-f", "-", stdin=manifests)
        after = [await self.client.get(self.custom(each, "sample")) for each in definitions]
        self.assertEqual([each.version for each in after], [each.version for each in before])
        for path in EXPLAINED[name]:
            plural, _, rest = path.partition(".")
            group = next(each.partition(".")[2] for each in names if each.startswith(f"{plural}."))
            versions = next(
                each["spec"]["versions"] for each in definitions if each["spec"]["names"]["plural"] == plural
            )
            shown = await self.run_ok("explain", path, f"--api-version={group}/{versions[-1]['name']}")
            self.assertIn(rest.rpartition(".")[2], shown)
        shown = await self.run_ok("get", ",".join(names))
        described = await self.run_ok("describe", ",".join(names), "sample")
        for definition in definitions:
            spec = definition["spec"]
            self.assertIn(f"{spec['names']['singular']}.{spec['group']}/sample ", shown)
            self.assertRegex(described, rf"\nKind:\s+{spec['names']['kind']}\n")
        self.assertEqual(described.count("\nAPI Version:"), len(names))
        await self.run_ok("delete", "-f", "-", stdin=manifests)
        await self.run_ok("delete", *crds)

    async def test_certificates(self) -> None:
        """The definitions of the certificates operator install."""
        await self.operator("certificates")

    async def test_monitoring(self) -> None:
        """The definitions of the monitoring operator install."""
        await self.operator("monitoring")

    async def test_gitops(self) -> None:
        """The definitions of the GitOps operators install."""
        await self.operator("gitops")

    async def test_databases(self) -> None:
        """The definitions of the databases operator install."""
        await self.operator("databases")

    async def test_gateways(self) -> None:
        """The definitions of the gateways install."""
        await self.operator("gateways")


del CustomKubectlCase
