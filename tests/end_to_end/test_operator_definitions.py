"""The definitions of five well-known operators: installed, served, their objects validated (reference CRD-8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.config.releases import FIRST
from orchtw.wire.objects import Object
from tests.definitions.build import in_vocabulary
from tests.definitions.sets import OPERATORS, plural_of
from tests.emulated import RELEASE
from tests.end_to_end.definitions import DefinitionCase
from tests.end_to_end.objects import TABLE

UNCHECKED = ["<nil>"] if RELEASE > FIRST else []
"""Later releases say that rules were not checked (reference CRD-72)."""

FAULTS: Mapping[str, list[tuple[str, Object, list[str]]]] = {
    "certificates": [
        ("Certificate", {"usages": ["signing", "magic"]}, ["spec.usages[1]"]),
        ("Certificate", {"privateKey": {"algorithm": "ROT13", "size": 9000}}, [
            "spec.privateKey.algorithm", "spec.privateKey.size",
        ]),
        ("Certificate", {"secretName": None}, ["spec.secretName"]),
        ("Issuer", {"selfSigned": {}}, ["<nil>"]),
    ],
    "monitoring": [
        ("Collector", {"retentionSize": "much", "logLevel": "chatty"}, ["spec.logLevel", "spec.retentionSize"]),
        ("Collector", {"containers": [{"name": "a"}, {"name": "a"}]}, ["spec.containers[1]"]),
        ("Collector", {"resources": {"requests": {"cpu": "a lot"}}}, ["spec.resources.requests.cpu"]),
        ("RuleSet", {"groups": [{"name": "a", "rules": [{"expr": 1, "record": "r", "alert": "a"}]}]}, ["<nil>"]),
    ],
    "gitops": [
        ("GitRepository", {"url": "file:///etc", "interval": "soon"}, ["spec.interval", "spec.url"]),
        ("Release", {"chartRef": {"kind": "Bucket", "name": "b"}}, ["<nil>"]),
        ("Application", {"source": {"path": "p"}}, ["spec.source.repoURL"]),
    ],
    "databases": [
        ("Cluster", {"instances": 0}, ["spec.instances"]),
        ("Cluster", {"minSyncReplicas": 4}, ["spec"]),
        ("Cluster", {"storage": {}}, ["spec.storage"]),
        ("Cluster", {"extraObjects": [{"metadata": {}}]}, [
            *UNCHECKED, "spec.extraObjects[0].apiVersion", "spec.extraObjects[0].kind",
        ]),
        ("User", {"limits": {"rate": 0.75}, "searchPath": []}, ["spec.limits.rate", "spec.searchPath"]),
        ("ScheduledBackup", {"schedule": "daily"}, ["spec.schedule"]),
    ],
    "gateways": [
        ("Gateway", {"listeners": [{"name": "a", "port": 0, "protocol": "TCP"}]}, ["spec.listeners[0].port"]),
        ("HTTPRoute", {"hostnames": ["a.example.com"] * 17}, ["spec.hostnames"]),
        ("GatewayClass", {"controllerName": "nobody"}, ["spec.controllerName"]),
    ],
}  # fmt: skip
"""Of each operator: a kind, what is changed in its sample's spec, and the fields at fault.

Conditions over several fields name none of them: <nil>.
"""


class OperatorDefinitionTests(DefinitionCase):
    async def operator(self, name: str) -> None:
        """Everything of one operator."""
        plain = OPERATORS[name].definitions()
        await self.install(*plain)
        definitions = [in_vocabulary(each, self.naming) for each in plain]
        samples = [in_vocabulary(each, self.naming) for each in OPERATORS[name].objects()]
        for sample in samples:
            await self.sample(definitions, sample)
        for kind, change, fields in FAULTS[name]:
            await self.fault(definitions, next(each for each in samples if each["kind"] == kind), change, fields)
        await self.discovered(definitions)
        for definition in definitions:
            await self.uninstall(definition["metadata"]["name"])
        for definition in definitions:
            self.assertEqual((await self.client.get(self.everywhere(definition))).code, 404)

    async def sample(self, definitions: list[Object], sample: Object) -> None:
        """It is stored with everything that it says, twice the same, and read in every version that is served."""
        plural = plural_of(definitions, sample)
        definition = next(each for each in definitions if each["spec"]["names"]["plural"] == plural)
        collection = self.custom(definition)
        made = await self.created(f"{collection}?fieldValidation=Strict", sample)
        self.assertContains(made["spec"], sample["spec"], sample["kind"])
        self.assertEqual(made["metadata"]["generation"], 1)
        again = await self.client.put(f"{collection}/sample?fieldValidation=Strict", made)
        self.assertEqual((again.code, again.json), (200, made), "reading and writing what is there changes nothing")
        for version in definition["spec"]["versions"]:
            path = self.custom(definition, "sample", version=version["name"])
            answer = await self.client.get(path)
            self.assertEqual(answer.code, 200 if version["served"] else 404, path)
            if version["served"]:
                self.assertEqual(answer.json["apiVersion"].rpartition("/")[2], version["name"])
                self.assertEqual(answer.json["spec"], made["spec"])
        table = (await self.client.get(collection, TABLE.replace("meta.orch.io", self.naming.meta_group))).json
        named = [column["name"] for column in table["columnDefinitions"]]
        storing = next(each for each in definition["spec"]["versions"] if each["storage"])
        wanted = [each["name"] for each in storing.get("additionalPrinterColumns") or [{"name": "Age"}]]
        self.assertEqual(named, ["Name", *wanted])
        self.assertEqual(len(table["rows"][0]["cells"]), len(named))

    async def fault(self, definitions: list[Object], sample: Object, change: Object, fields: list[str]) -> None:
        """The sample with that change is refused, and the causes name the fields."""
        plural = plural_of(definitions, sample)
        definition = next(each for each in definitions if each["spec"]["names"]["plural"] == plural)
        spec = {key: value for key, value in {**sample["spec"], **change}.items() if value is not None}
        bad = {**sample, "metadata": {"name": "bad"}, "spec": spec}
        answer = await self.client.post(self.custom(definition), bad)
        self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"), answer)
        found = sorted({cause["field"] for cause in answer.json["details"]["causes"]})
        self.assertEqual(found, sorted(fields), answer)

    async def discovered(self, definitions: list[Object]) -> None:
        """Discovery lists each kind in each version that is served, with its sub-resources."""
        for definition in definitions:
            spec = definition["spec"]
            for version in spec["versions"]:
                if not version["served"]:
                    continue
                answer = await self.client.get(f"/apis/{spec['group']}/{version['name']}")
                found = {each["name"]: each for each in answer.json["resources"]}
                plural = spec["names"]["plural"]
                self.assertEqual(found[plural].get("shortNames", []), spec["names"].get("shortNames", []))
                self.assertEqual(found[plural]["categories"], spec["names"]["categories"])
                self.assertEqual(found[plural]["namespaced"], spec["scope"] == "Namespaced")
                for each in version.get("subresources") or ():
                    self.assertIn(f"{plural}/{each}", found)

    def assertContains(self, found: Any, wanted: Any, path: str) -> None:
        """Everything wanted is there, whatever defaults have come beside it."""
        if isinstance(wanted, dict):
            for key, value in wanted.items():
                self.assertIn(key, found, path)
                self.assertContains(found[key], value, f"{path}.{key}")
        elif isinstance(wanted, list):
            self.assertEqual(len(found), len(wanted), path)
            for index, value in enumerate(wanted):
                self.assertContains(found[index], value, f"{path}[{index}]")
        else:
            self.assertEqual(found, wanted, path)

    async def test_certificates(self) -> None:
        """Certificates, issuers with one of five signers, orders and challenges in a group of their own."""
        await self.operator("certificates")

    async def test_monitoring(self) -> None:
        """Kinds with whole pods inside: 3,000 schemas in one version."""
        await self.operator("monitoring")

    async def test_gitops(self) -> None:
        """Four groups, values of which nothing is known, defaults in a status."""
        await self.operator("gitops")

    async def test_databases(self) -> None:
        """Embedded objects, sets, scales, a version that is not served."""
        await self.operator("databases")

    async def test_gateways(self) -> None:
        """A group of the API's own with approvals, kinds without a namespace, defaults inside of defaults."""
        await self.operator("gateways")


class KubernetesOperatorDefinitionTests(OperatorDefinitionTests):
    vocabulary = "kubernetes"
