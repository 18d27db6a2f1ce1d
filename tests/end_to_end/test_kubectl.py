"""`kubectl`, unmodified, against both vocabularies (reference CLIENT-1, CLIENT-6).

Under the specification's own names generic commands work; commands that send typed Protobuf of the original
groups need the original names, and are tried there only.
"""

from __future__ import annotations

import json

import yaml

from orchtw.wire.objects import Object
from tests.end_to_end.case import surface
from tests.end_to_end.kubectl_case import KubectlCase

TEMPLATE: Object = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "example.com/web:1"}]},
}
JOB_TEMPLATE: Object = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}


class CommandCase(KubectlCase):
    """Output of kubectl in both vocabularies."""

    def manifests(self) -> dict[str, Object]:
        """One manifest of each kind that the issue names, by resource."""
        rbac = self.naming.group("rbac.authorization.orch.io")
        web: Object = {"name": "web", "labels": {"app": "web"}}
        role = {**web, "name": self.unique("role")}
        selector = {"matchLabels": {"app": "web"}}
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
        return {
            "deployments.apps": _manifest(
                "apps/v1", "Deployment", web, spec={"replicas": 2, "selector": selector, "template": TEMPLATE}
            ),
            "services": _manifest("v1", "Service", web, spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
            "configmaps": _manifest("v1", "ConfigMap", web, data={"key": "value"}),
            "secrets": _manifest("v1", "Secret", web, stringData={"password": "s3cr3t"}),
            "jobs.batch": _manifest("batch/v1", "Job", web, spec={"template": JOB_TEMPLATE}),
            f"clusterroles.{rbac}": _manifest(f"{rbac}/v1", "ClusterRole", role, rules=[rule]),
        }

    async def make_pods(self, *names: str) -> None:
        """Pods with label `app: web`."""
        for name in names:
            await self.created(self.core("pods"), {**TEMPLATE, "metadata": {"name": name, "labels": {"app": "web"}}})

    async def test_version(self) -> None:
        """`version` shows the release of both sides."""
        shown = json.loads(await self.run_ok("version", "-o", "json"))
        self.assertEqual((shown["serverVersion"]["major"], shown["serverVersion"]["minor"]), ("1", "24"))

    async def test_api_resources(self) -> None:
        """`api-resources` lists every resource that is on, with group, scope, kind and verbs."""
        lines = (await self.run_ok("api-resources", "--no-headers", "-o", "wide")).splitlines()
        shown = {(words[0], kind) for line in lines for words in [line.split()] for kind in words}
        for resource in surface(self.vocabulary)[0].resources:
            if resource.default_on and resource.preferred:
                self.assertIn((resource.plural, resource.kind), shown)
                self.assertIn((resource.plural, resource.api_version), shown)

    async def test_get_namespaces_wide(self) -> None:
        """`get ns -o wide` lists the namespaces that exist from the start, and their ages."""
        lines = (await self.run_ok("get", "ns", "-o", "wide")).splitlines()
        self.assertIn("AGE", lines[0])
        names = {line.split()[0] for line in lines}
        naming = self.naming
        self.assertLess({"default", naming.system_namespace, naming.public_namespace, self.namespace}, names)

    async def test_manifests(self) -> None:
        """create -f, get, get -o yaml, describe, label, annotate and delete work for the common kinds."""
        manifests = self.manifests()
        places = [f"{resource}/{manifest['metadata']['name']}" for resource, manifest in manifests.items()]
        created = await self.run_ok("create", "-f", "-", stdin=yaml.safe_dump_all(manifests.values()))
        names = [_singular(place) for place in places]
        self.assertEqual(created.splitlines(), [f"{name} created" for name in names])
        self.assertEqual((await self.run_ok("get", *places, "-o", "name")).split(), names)
        described = await self.run_ok("describe", *places)
        for manifest in manifests.values():
            self.assertRegex(described, rf"Name:\s+{manifest['metadata']['name']}\n")
        await self.run_ok("label", *places, "tested=label")
        await self.run_ok("annotate", *places, "tested=annotation")
        shown = yaml.safe_load(await self.run_ok("get", *places, "-o", "yaml"))["items"]
        for item, manifest in zip(shown, manifests.values(), strict=True):
            self.assertEqual((item["kind"], item["apiVersion"]), (manifest["kind"], manifest["apiVersion"]))
            meta = item["metadata"]
            self.assertEqual((meta["labels"]["tested"], meta["annotations"]["tested"]), ("label", "annotation"))
        deleted = await self.run_ok("delete", *places)
        self.assertEqual(len(deleted.splitlines()), len(places))
        gone = await self.run_any("get", *places)
        self.assertEqual(gone.status, 1)
        errors = [f"Error from server (NotFound): {place.replace('/', ' ', 1)} not found" for place in places]
        self.assertEqual(gone.errors.replace('"', "").splitlines(), errors)

    async def test_secret_data(self) -> None:
        """`stringData` of a manifest is stored as `data`."""
        await self.run_ok("create", "-f", "-", stdin=yaml.safe_dump(self.manifests()["secrets"]))
        self.assertEqual(await self.run_ok("get", "secret", "web", "-o", "jsonpath={.data.password}"), "czNjcjN0")

    async def test_watch(self) -> None:
        """`get pods -w` shows a pod that was there, a new one, a change and a removal."""
        await self.make_pods("first")
        watching = self.kubectl.start(
            "get", "pods", "-w", "--output-watch-events", "--no-headers", f"--namespace={self.namespace}"
        )
        await watching.until("first")
        await self.make_pods("second")
        await watching.until("second")
        await self.run_ok("label", "pod", "first", "a=b")
        await watching.until("MODIFIED")
        await self.run_ok("delete", "pod", "second", "--wait=false")
        await self.lines_until(watching, "DELETED")
        result = await watching.stop()
        shown = [line.split()[:2] for line in result.output.splitlines()]
        self.assertEqual(
            shown, [["ADDED", "first"], ["ADDED", "second"], ["MODIFIED", "first"], ["DELETED", "second"]]
        )

    async def test_raw(self) -> None:
        """`get --raw` gives a path's bytes."""
        self.assertEqual(await self.run_ok("get", "--raw", "/readyz"), "ok")
        shown = json.loads(await self.run_ok("get", "--raw", "/api/v1/namespaces/default"))
        self.assertEqual(shown["metadata"]["name"], "default")

    async def test_chunks(self) -> None:
        """`--chunk-size=2` reads a longer list in several requests, without loss or repetition."""
        names = [f"pod-{number}" for number in range(5)]
        await self.make_pods(*names)
        shown = await self.run_ok("get", "pods", "--chunk-size=2", "-o", "name")
        self.assertEqual(shown.split(), [f"pod/{name}" for name in names])

    async def test_selectors(self) -> None:
        """`-l` and `--field-selector` choose."""
        await self.make_pods("one", "two")
        await self.run_ok("label", "pod", "two", "tier=back")
        self.assertEqual(await self.run_ok("get", "pods", "-l", "tier=back", "-o", "name"), "pod/two\n")
        self.assertEqual(await self.run_ok("get", "pods", "-l", "app=web,!tier", "-o", "name"), "pod/one\n")
        by_name = await self.run_ok("get", "pods", "--field-selector=metadata.name!=two", "-o", "name")
        self.assertEqual(by_name, "pod/one\n")
        self.assertEqual(await self.run_ok("get", "pods", "--field-selector=spec.nodeName=x", "-o", "name"), "")


    async def test_columns(self) -> None:
        """kubectl prints the server's own columns (reference TABLE-7, VOC-5)."""
        await self.run_ok("create", "-f", "-", stdin=yaml.safe_dump(self.manifests()["deployments.apps"]))
        lines = (await self.run_ok("get", "deployments")).splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"])
        self.assertEqual(lines[1].split()[:4], ["web", "0/2", "0", "0"])
        wide = (await self.run_ok("get", "deployments", "-o", "wide")).splitlines()
        self.assertEqual(wide[0].split()[5:], ["CONTAINERS", "IMAGES", "SELECTOR"])
        await self.make_pods("first")
        watching = self.kubectl.start("get", "pods", "-w", f"--namespace={self.namespace}")
        await self.lines_until(watching, "Pending")
        shown = (await watching.stop()).output.splitlines()
        self.assertEqual(shown[0].split(), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"])
        self.assertEqual(shown[1].split()[:4], ["first", "0/1", "Pending", "0"])


class OrchVocabularyTests(CommandCase):
    vocabulary = "orch"

    async def test_own_groups(self) -> None:
        """The groups carry the specification's names."""
        shown = await self.run_ok("api-versions")
        self.assertIn("rbac.authorization.orch.io/v1\n", shown)
        self.assertNotIn("k8s.io", shown)


class KubernetesVocabularyTests(CommandCase):
    vocabulary = "kubernetes"

    async def test_typed_commands(self) -> None:
        """Commands that send Protobuf of hard-coded groups are understood (reference CLIENT-6)."""
        role = self.unique("role")
        made = await self.run_ok("create", "clusterrole", role, "--verb=get", "--resource=pods")
        self.assertEqual(made, f"clusterrole.rbac.authorization.k8s.io/{role} created\n")
        rules = json.loads(await self.run_ok("get", "clusterrole", role, "-o", "json"))["rules"]
        self.assertEqual(rules, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
        self.assertEqual(await self.run_ok("auth", "can-i", "list", "pods"), "yes\n")
        await self.run_ok("create", "configmap", "typed", "--from-literal=a=b")
        await self.run_ok("create", "deployment", "typed", "--image=example.com/web:1")
        await self.run_ok("scale", "deployment", "typed", "--replicas=3")
        shown = await self.run_ok("get", "deployment", "typed", "-o", "jsonpath={.spec.replicas}")
        self.assertEqual(shown, "3")


def _singular(place: str) -> str:
    """`deployment.apps/web` for `deployments.apps/web`, as kubectl names what it works on."""
    resource, _, name = place.partition("/")
    plural, dot, group = resource.partition(".")
    return f"{plural.removesuffix('s')}{dot}{group}/{name}"


def _manifest(api_version: str, kind: str, metadata: Object, **fields: object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


del CommandCase
