"""fieldValidation over the wire: unknown and repeated fields on create, update and patch (reference WRITE-24)."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.client import JSON, MERGE_PATCH, Answer

YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

# A ConfigMap with two unknown fields and two that come twice; `%s` is its name.
CONFIG_MAP = (
    b'{"foo":1,"metadata":{"name":"%s","labels":{"a":"1","a":"2"},"bar":{"x":1,"x":2}},'
    b'"data":{"k":"1","k":"2"}}'
)
FOUND = (
    'unknown field "foo"',
    'duplicate field "metadata.labels.a"',
    'unknown field "metadata.bar"',
    'duplicate field "data.k"',
)


def warnings(answer: Answer) -> list[str]:
    """The texts of the Warning headers."""
    lines = answer.headers.get("warning", "")
    parts = lines.split('299 - "')[1:]
    return [part.rstrip(", ").removesuffix('"').replace('\\"', '"').replace("\\\\", "\\") for part in parts]


class FieldValidationTests(ServerCase):
    """Directives of field validation for each finding."""

    async def send(self, method: str, path: str, body: bytes, media_type: str = JSON) -> Answer:
        """A request, with the values of its Warning headers joined."""
        return await self.client.send(method, path, body, {"Content-Type": media_type})

    def refusal(self, *found: str) -> str:
        """The text of a refused ConfigMap."""
        why = ", ".join(found)
        return f'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: {why}'

    async def test_create(self) -> None:
        """Ignore says nothing, Warn and no directive warn of all, Strict refuses with 400 that lists all."""
        for directive, found in (("?fieldValidation=Ignore", ()), ("?fieldValidation=Warn", FOUND), ("", FOUND)):
            body = CONFIG_MAP % self.unique("cm").encode()
            answer = await self.send("POST", self.core("configmaps") + directive, body)
            self.assertEqual((answer.code, warnings(answer)), (201, list(found)), answer.headers)
            self.assertNotIn("foo", answer.json)
            self.assertEqual((answer.json["metadata"]["labels"], answer.json["data"]), ({"a": "2"}, {"k": "2"}))
        name = self.unique("cm")
        path = self.core("configmaps") + "?fieldValidation=Strict"
        answer = await self.send("POST", path, CONFIG_MAP % name.encode())
        self.assertRefused(answer, 400, "BadRequest", self.refusal(*FOUND))
        self.assertEqual((await self.client.get(self.core("configmaps", name))).code, 404)

    async def test_update(self) -> None:
        """A PUT is treated as a POST is."""
        name = self.unique("cm")
        path, body = self.core("configmaps", name), CONFIG_MAP % name.encode()
        await self.created(self.core("configmaps"), {"metadata": {"name": name}})
        answer = await self.send("PUT", path + "?fieldValidation=Strict", body)
        self.assertRefused(answer, 400, "BadRequest", self.refusal(*FOUND))
        answer = await self.send("PUT", path + "?fieldValidation=Ignore", body)
        self.assertEqual((answer.code, warnings(answer)), (200, []))
        answer = await self.send("PUT", path, body)
        self.assertEqual((answer.code, warnings(answer)), (200, list(FOUND)), answer.headers)

    async def test_yaml(self) -> None:
        """In YAML repeated keys are named by their lines."""
        text = "metadata:\n  name: %s\nfoo: 1\ndata:\n  a: b\n  a: c\n"
        found = ('line 6: key "a" already set in map', 'unknown field "foo"')
        answer = await self.send("POST", self.core("configmaps"), (text % self.unique("cm")).encode(), YAML)
        self.assertEqual((answer.code, warnings(answer), answer.json["data"]), (201, list(found), {"a": "c"}))
        path = self.core("configmaps") + "?fieldValidation=Strict"
        answer = await self.send("POST", path, (text % self.unique("cm")).encode(), YAML)
        self.assertRefused(answer, 400, "BadRequest", self.refusal(*found))

    async def test_protobuf(self) -> None:
        """Protobuf has neither: Strict changes nothing."""
        name = self.unique("cm").encode()
        metadata = b"\x0a" + bytes([len(name)]) + name
        message = b"\x0a" + bytes([len(metadata)]) + metadata + b"\xfa\x07\x01x"  # field 127: unknown
        kind = b"\x0a\x02v1\x12\x09ConfigMap"
        unknown = b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(message)]) + message
        path = self.core("configmaps") + "?fieldValidation=Strict"
        answer = await self.send("POST", path, b"k8s\0" + unknown, self.naming.protobuf_media_type)
        self.assertEqual((answer.code, warnings(answer)), (201, []), answer)

    async def test_clean_objects(self) -> None:
        """Objects written by the server pass strict validation when they are sent back."""
        created = await self.created(self.group("apps/v1", "statefulsets"), self.stateful_set())
        path = self.group("apps/v1", "statefulsets", created["metadata"]["name"])
        answer = await self.client.put(path + "?fieldValidation=Strict", created)
        self.assertEqual((answer.code, warnings(answer)), (200, []), answer)

    def stateful_set(self) -> Object:
        """Objects in it carry their types."""
        claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "c"}, "spec": {}}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "s"}
        return {"metadata": {"name": self.unique("s")}, "spec": {**spec, "volumeClaimTemplates": [claim]}}

    async def test_patches(self) -> None:
        """Patches warn, or are refused with a 422 that shows the result or, strategic ones, the patch."""
        name = self.unique("cm")
        path = self.core("configmaps", name)
        await self.created(self.core("configmaps"), {"metadata": {"name": name}})
        unknown, repeated = 'unknown field "foo"', 'duplicate field "data.a"'
        for media_type, body, found, shown in (
            (MERGE_PATCH, b'{"foo":1,"data":{"a":"1","a":"2"}}', (repeated, unknown), '"{\\"kind\\":'),
            (STRATEGIC, b'{"foo":1,"data":{"a":"1","a":"3"}}', (repeated, unknown), '"map[data:map[a:3] foo:1]"'),
            (
                JSON_PATCH,
                b'[{"op":"add","path":"/foo","value":1,"x":2,"path":"/foo"}]',
                ('json patch unknown field "[0].x"', 'json patch duplicate field "[0].path"', unknown),
                '"{\\"kind\\":',
            ),
        ):
            status: Any = (await self.send("PATCH", path + "?fieldValidation=Strict", body, media_type)).json
            self.assertEqual((status["code"], status["reason"]), (422, "Invalid"), status)
            start = f' "" is invalid: patch: Invalid value: {shown}'
            self.assertEqual(status["message"][: len(start)], start)
            self.assertTrue(status["message"].endswith(": strict decoding error: " + ", ".join(found)), status)
            answer = await self.send("PATCH", path + "?fieldValidation=Ignore", body, media_type)
            self.assertEqual((answer.code, warnings(answer)), (200, []))
            answer = await self.send("PATCH", path, body, media_type)
            self.assertEqual((answer.code, warnings(answer)), (200, list(found)), answer.headers)
            self.assertNotIn("foo", answer.json)

    async def test_unknown_directive(self) -> None:
        """Any other directive is a 422."""
        answer = await self.send("POST", self.core("configmaps") + "?fieldValidation=x", b"{}")
        text = (
            f'CreateOptions.{self.naming.meta_group} "" is invalid: fieldValidation: Unsupported value: "x": '
            'supported values: "", "Ignore", "Strict", "Warn"'
        )
        self.assertRefused(answer, 422, "Invalid", text)
