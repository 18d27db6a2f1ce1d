"""Rules of custom resources over HTTP (reference CRD-28, CRD-30, CRD-32)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.config.releases import NEWEST, OLDEST
from tests.emulated import since
from tests.in_process import InProcessServer
from tests.registry.custom.definitions import (
    GROUP,
    INTEGER,
    STRING,
    definition,
    lamp,
    serve,
    served,
    struct,
    version,
)

LAMPS = f"/apis/{GROUP}/v1/namespaces/default/lamps"
MERGE = "application/merge-patch+json"
RULES = [
    {"rule": "self.replicas <= self.most", "message": "no more than most"},
    {"rule": "!has(oldSelf.colour) || self.colour == oldSelf.colour"},
    {"rule": "!has(self.parts) || self.parts.all(a, self.parts.exists_one(b, a == b))", "message": "are unique"},
]
PARTS = {"type": "array", "maxItems": 500, "items": {**STRING, "maxLength": 10}}
SPEC = {**struct(replicas=INTEGER, most=INTEGER, colour=STRING, parts=PARTS), "x-orch-validations": RULES}
STATUS = {**struct(replicas=INTEGER), "x-orch-validations": [{"rule": "self.replicas >= oldSelf.replicas"}]}
SCHEMA = {
    **struct(spec=SPEC, status=STATUS),
    "x-orch-validations": [{"rule": "self.metadata.name.startsWith('lamp-')", "message": "is called lamp-"}],
}


class RuleCase(TestCase):
    """A server in this process that serves lamps by a definition."""

    async def start(self, **settings: Any) -> None:
        """Start it with the settings, and wait until there are lamps."""
        self.server = InProcessServer(reactor, self.mktemp(), **settings)
        await self.server.start()
        self.addCleanup(lambda: self.server.stop())
        await serve(self.server, version(schema={"openAPIV3Schema": SCHEMA}, subresources={"status": {}}))

    async def causes(self, method: str, path: str, body: Any, **headers: str) -> list[tuple[str, str]]:
        """Field and message of each cause; none: it is done."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        answer = await self.server.request(method, LAMPS + path, body, named)
        self.assertIn(answer.code, (200, 201, 422), answer.body)
        if answer.code != 422:
            return []
        return [(each["field"], each["message"]) for each in answer.json["details"]["causes"]]

    async def create(self, name: str, **spec: Any) -> list[tuple[str, str]]:
        """The causes of a new lamp."""
        return await self.causes("POST", "", {**lamp(name), "spec": {"replicas": 1, "most": 3, **spec}})

    async def merge(self, path: str, patch: Any) -> list[tuple[str, str]]:
        """The causes of a merge patch."""
        return await self.causes("PATCH", path, orjson.dumps(patch), content_type=MERGE)


class RuleTests(RuleCase):
    async def test_writes(self) -> None:
        """Creates and updates hold to the rules, those about what was there before included."""
        await self.start()
        refused = await self.create("a", replicas=5)
        messages = 'Invalid value: "object": is called lamp-', 'Invalid value: "object": no more than most'
        self.assertEqual(dict(refused), dict(zip(("<nil>", "spec"), messages, strict=True)))
        self.assertEqual(await self.create("lamp-a"), [])
        self.assertEqual(await self.merge("/lamp-a", {"spec": {"replicas": 4}}), [("spec", messages[1])])
        self.assertEqual(await self.merge("/lamp-a", {"spec": {"colour": "red"}}), [])
        ((field, message),) = await self.merge("/lamp-a", {"spec": {"colour": "blue"}})
        self.assertEqual((field, message), ("spec", f'Invalid value: "object": failed rule: {RULES[1]["rule"]}'))
        self.assertEqual(await self.merge("/lamp-a", {"spec": {"replicas": 2}}), [])

    async def test_status(self) -> None:
        """The status has its rules too."""
        await self.start()
        await self.create("lamp-a")
        self.assertEqual(await self.merge("/lamp-a/status", {"status": {"replicas": 2}}), [])
        ((field, _),) = await self.merge("/lamp-a/status", {"status": {"replicas": 1}})
        self.assertEqual(field, "status")

    async def test_wrong_values(self) -> None:
        """A wrong type keeps rules from running, which since 1.25 is reported too (reference CRD-72)."""
        await self.start(emulated_version=NEWEST)
        found = await self.create("lamp-a", replicas="x")
        self.assertEqual([field for field, _ in found], ["spec.replicas", "<nil>"])

    async def test_wrong_values_in_the_release(self) -> None:
        """In 1.24 a wrong type is reported alone (reference CRD-72)."""
        await self.start(emulated_version=OLDEST)
        found = await self.create("lamp-a", replicas="x")
        self.assertEqual([field for field, _ in found], ["spec.replicas"])

    async def test_large(self) -> None:
        """Rules that go over all pairs of elements hold for hundreds of them."""
        await self.start()
        self.assertEqual(await self.create("lamp-a", parts=[str(index) for index in range(300)]), [])
        found = await self.create("lamp-b", parts=["x"] * 300)
        self.assertEqual(found, [("spec", 'Invalid value: "object": are unique')])

    async def test_off(self) -> None:
        """Without the gate no rule is kept, and none holds."""
        await self.start(feature_gates=(("CustomResourceValidationExpressions", "false"),))
        self.assertEqual(await self.create("a", replicas=5), [])


@since((1, 28))
class RatchetingTests(RuleCase):
    async def test_unchanged_values(self) -> None:
        """With the gate an update keeps what a stricter definition refuses: rules are warnings (reference CRD-73)."""
        await self.start(feature_gates=(("CRDValidationRatcheting", "true"),))
        self.assertEqual(await self.create("lamp-a", replicas=2, colour="red"), [])
        stricter = {**SPEC["properties"], "colour": {**STRING, "enum": ["blue"]}}
        rule = {"rule": "self > 5", "message": "are too few"}
        stricter["replicas"] = {**INTEGER, "x-orch-validations": [rule]}
        stricter["most"] = {**INTEGER, "x-orch-validations": [{"rule": "self < 9"}]}
        url = f"/apis/apiextensions.orch.io/v1/customresourcedefinitions/lamps.{GROUP}"
        path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"
        patch = orjson.dumps([{"op": "replace", "path": path, "value": stricter}])
        headers = {"content-type": "application/json-patch+json"}
        answer = await self.server.request("PATCH", url, patch, headers)
        self.assertEqual(answer.code, 200, answer.body)
        merge = {"content-type": MERGE}
        patch = orjson.dumps({"spec": {"most": 4}})
        answer = await self.server.request("PATCH", f"{LAMPS}/lamp-a", patch, merge)
        self.assertEqual(answer.code, 200, answer.body)
        warning = '299 - "spec.replicas: Invalid value: \\"integer\\": are too few"'
        self.assertEqual(answer.headers.get("warning"), warning)
        patch = orjson.dumps({"spec": {"most": 9}})
        answer = await self.server.request("PATCH", f"{LAMPS}/lamp-a", patch, merge)
        self.assertEqual([each["field"] for each in answer.json["details"]["causes"]], ["spec.most"])
        self.assertEqual(answer.headers.get("warning"), warning)  # beside errors too
        patch = orjson.dumps({"status": {"replicas": 2}})
        answer = await self.server.request("PATCH", f"{LAMPS}/lamp-a/status", patch, merge)
        self.assertEqual(answer.code, 200, answer.body)
        self.assertEqual(answer.headers.get("warning"), warning)
        told = await self.merge("/lamp-a", {"spec": {"replicas": 1}})
        self.assertEqual(told, [("spec.replicas", 'Invalid value: "integer": are too few')])
        told = await self.create("lamp-b", colour="red", replicas=6, most=9)
        self.assertEqual([field for field, _ in told], ["spec.colour", "<nil>"])


class FormatTests(RuleCase):
    async def made(self, emulated: str) -> tuple[str | None, int]:
        """The warning about a definition with newer formats, and the code for an object without such a form."""
        server = InProcessServer(reactor, self.mktemp(), emulated_version=emulated)
        await server.start()
        self.addCleanup(server.stop)
        short, other = {**STRING, "format": "k8s-short-name"}, {**STRING, "format": "odd"}
        schema = struct(spec=struct(name=short, other=other))
        made = {"apiVersion": "apiextensions.orch.io/v1", "kind": "CustomResourceDefinition"}
        made |= definition(version(schema={"openAPIV3Schema": schema}, subresources={}))
        answer = await server.request("POST", "/apis/apiextensions.orch.io/v1/customresourcedefinitions", made)
        self.assertEqual(answer.code, 201, answer.body)
        await served(server)
        tried = await server.request("POST", LAMPS, lamp(spec={"name": "A.b", "other": "x"}))
        return answer.headers.get("warning"), tried.code

    async def test_newer_formats(self) -> None:
        """Names are validated from release 1.34 on, and other formats are warned about (reference CRD-75)."""
        self.assertEqual(await self.made("1.34"), ('299 - "unrecognized format \\"odd\\""', 422))
        self.assertEqual(await self.made("1.33"), (None, 201))
