"""JSON bodies become canonical dicts, or a 400 that names the place."""
# covers: orchtw.schema.codec.codecs

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.schema.values import MAX_DEPTH
from orchtw.wire.objects import Object

CODECS = Codecs(Catalogue.load(Naming.orch()))
CRD = "apiextensions.orch.io/v1", "CustomResourceDefinition"


def nested(levels: int) -> Any:
    """A list in a list in a list …"""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def read(api_version: str, kind: str, body: bytes) -> Object:
    """The object in a JSON body."""
    return read_body(CODECS.kind(api_version, kind), body, "json", IGNORE)[0]


class CanonicalTests(SynchronousTestCase):
    """Content of canonical dicts (reference ENC-17)."""

    def _pod(self, **members: Any) -> dict[str, Any]:
        return CODECS.kind("v1", "Pod").normalise(members)

    def test_empty(self) -> None:
        """An empty object shows the structs in place and a null creationTimestamp, as Go servers do."""
        self.assertEqual(
            orjson.dumps(self._pod()),
            b'{"kind":"Pod","apiVersion":"v1","metadata":{"creationTimestamp":null},"spec":{"containers":null},'
            b'"status":{}}',
        )

    def test_order(self) -> None:
        """Keys come out in emission order and map keys sorted, however they were sent."""
        pod = self._pod(
            spec={"nodeName": "n", "containers": []}, metadata={"labels": {"b": "2", "a": "1"}, "name": "p"}
        )
        self.assertEqual(list(pod), ["kind", "apiVersion", "metadata", "spec", "status"])
        self.assertEqual(list(pod["metadata"]), ["name", "creationTimestamp", "labels"])
        self.assertEqual(list(pod["metadata"]["labels"]), ["a", "b"])

    def test_null_is_absent(self) -> None:
        """Null leaves a field unset; among a list's elements or a map's values it is the zero value, as in Go."""
        pod = self._pod(metadata={"name": None, "labels": {"a": None}}, spec=None)
        self.assertEqual(pod["metadata"], {"creationTimestamp": None, "labels": {"a": ""}})
        pod = self._pod(spec={"containers": [None]})
        self.assertEqual(pod["spec"]["containers"], [{"name": "", "resources": {}}])

    def test_unknown_and_wrong_case(self) -> None:
        """Unknown fields are dropped, and names are case-sensitive (reference OBJ-15, OBJ-16)."""
        pod = self._pod(metadata={"Name": "x", "foo": 1}, bar=[])
        self.assertEqual(pod["metadata"], {"creationTimestamp": None})
        self.assertNotIn("bar", pod)

    def test_pointers(self) -> None:
        """Behind a pointer zero is a value; in place it is left out."""
        spec = self._pod(spec={"hostNetwork": False, "priority": 0, "containers": [], "securityContext": {}})["spec"]
        self.assertEqual(spec, {"containers": None, "securityContext": {}, "priority": 0})

    def test_inline(self) -> None:
        """An inline struct's keys stand in the parent."""
        spec = self._pod(spec={"volumes": [{"emptyDir": {}, "name": "v"}]})["spec"]
        self.assertEqual(spec["volumes"], [{"name": "v", "emptyDir": {}}])

    def test_duplicate_keys(self) -> None:
        """Of a key that comes twice the last one counts (reference OBJ-15)."""
        self.assertEqual(read("v1", "ConfigMap", b'{"data":{"a":"1"},"data":{"b":"2"}}')["data"], {"b": "2"})

    def test_special_forms(self) -> None:
        """Quantities, times, int-or-strings, bytes and durations come out in canonical form (reference OBJ-17)."""
        pod = self._pod(
            metadata={"creationTimestamp": "2026-01-02T05:04:05.9+02:00"},
            spec={
                "containers": [
                    {
                        "resources": {"limits": {"memory": " 1024Ki ", "cpu": 0.5, "a/b": 2}},
                        "ports": [{"containerPort": 80}],
                        "livenessProbe": {"httpGet": {"port": "http"}},
                        "readinessProbe": {"tcpSocket": {"port": 80}},
                    }
                ]
            },
        )
        self.assertEqual(pod["metadata"]["creationTimestamp"], "2026-01-02T03:04:05Z")
        container = pod["spec"]["containers"][0]
        self.assertEqual(container["resources"]["limits"], {"a/b": "2", "cpu": "500m", "memory": "1Mi"})
        self.assertEqual(container["livenessProbe"], {"httpGet": {"port": "http"}})
        self.assertEqual(container["readinessProbe"], {"tcpSocket": {"port": 80}})
        secret = CODECS.kind("v1", "Secret").normalise({"data": {"k": "aG\nk="}})
        self.assertEqual(secret["data"], {"k": "aGk="})
        lease = CODECS.kind("coordination.orch.io/v1", "Lease").normalise(
            {"spec": {"renewTime": "2026-01-02T03:04:05Z"}}
        )
        self.assertEqual(lease["spec"]["renewTime"], "2026-01-02T03:04:05.000000Z")

    def test_any_value(self) -> None:
        """A RawExtension keeps any JSON value as it is and shows null when there is none."""
        codec = CODECS.kind("apps/v1", "ControllerRevision")
        self.assertEqual(codec.normalise({"data": {"z": [1, None], "a": 1}})["data"], {"z": [1, None], "a": 1})
        self.assertIsNone(codec.normalise({})["data"])

    def test_schema_alternatives(self) -> None:
        """A JSON schema may stand beside a list, a boolean or strings, and a number is written without a fraction."""
        properties = {
            "a": {"items": [{"type": "string"}], "maximum": 2.0},
            "b": {"items": {"type": "string"}, "additionalProperties": False, "enum": [None, 1, "x"]},
            "c": {"additionalProperties": {"type": "object"}, "dependencies": {"x": ["y"], "z": {"type": "string"}}},
        }
        version = {"name": "v1", "schema": {"openAPIV3Schema": {"properties": properties}}}
        codec = CODECS.kind(*CRD)
        obj = codec.normalise({"spec": {"versions": [version]}})
        self.assertEqual(obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"], properties)
        self.assertEqual(codec.decode_protobuf(codec.encode_protobuf(obj)), obj)
        self.assertIn(b'"maximum":2,', orjson.dumps(obj).replace(b"}", b","))

    def test_lists(self) -> None:
        """A list's items are never null and carry no type of their own (reference OBJ-14)."""
        codec = CODECS.kind("v1", "PodList")
        self.assertEqual(codec.normalise({}), {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []})
        self.assertEqual(codec.decode_protobuf(b"")["items"], [])
        items = codec.normalise({"items": [{"kind": "Pod", "apiVersion": "v1"}]})["items"]
        self.assertEqual(list(items[0]), ["metadata", "spec", "status"])

    def test_type_prefix(self) -> None:
        """An object's JSON begins with its codec's type_prefix, so that a list can be joined from tails."""
        for api_version, kind in (("v1", "Pod"), ("apps/v1", "Deployment"), CRD):
            codec = CODECS.kind(api_version, kind)
            self.assertTrue(orjson.dumps(codec.normalise({})).startswith(codec.type_prefix))
        self.assertEqual(CODECS.kind("v1", "Pod").type_prefix, b'{"kind":"Pod","apiVersion":"v1",')

    def test_message(self) -> None:
        """A message that is not a kind has a codec too, without a type."""
        meta = CODECS.message("orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta")
        self.assertEqual(meta.normalise({"name": "a"}), {"name": "a", "creationTimestamp": None})
        self.assertRaises(BadRequest, meta.normalise, {"name": 1})
        self.assertRaises(KeyError, CODECS.message, "orch.io.apimachinery.pkg.api.resource.Quantity")
        self.assertRaises(KeyError, CODECS.message, "no.such.Message")
        self.assertRaises(KeyError, CODECS.kind, "v1", "Nothing")

    def test_vocabulary(self) -> None:
        """Group, field and default names follow the vocabulary (reference DESIGN-6)."""
        codecs = Codecs(Catalogue.load(Naming.kubernetes()))
        node = codecs.kind("v1", "Node").normalise(
            {"status": {"nodeInfo": {"kubeletVersion": "v1", "orchletVersion": ""}}}
        )
        self.assertEqual(node["status"]["nodeInfo"]["kubeletVersion"], "v1")
        self.assertNotIn("orchletVersion", node["status"]["nodeInfo"])
        self.assertEqual(codecs.kind("node.k8s.io/v1", "RuntimeClass").normalise({})["apiVersion"], "node.k8s.io/v1")


MISFITS: tuple[tuple[str, str, bytes, str], ...] = (
    ("apps/v1", "Deployment", b'{"spec":{"replicas":"x"}}', 'spec.replicas: expected an integer, got string "x"'),
    ("apps/v1", "Deployment", b'{"spec":{"replicas":1.0}}', "spec.replicas: expected an integer, got number 1.0"),
    ("apps/v1", "Deployment", b'{"spec":{"replicas":true}}', "spec.replicas: expected an integer, got boolean true"),
    ("apps/v1", "Deployment", b'{"spec":{"replicas":2147483648}}', "spec.replicas: expected a 32-bit integer"),
    ("apps/v1", "Deployment", b'{"spec":{"replicas":-2147483649}}', "spec.replicas: expected a 32-bit integer"),
    ("apps/v1", "Deployment", b'{"spec":{"paused":1}}', "spec.paused: expected a boolean, got number 1"),
    ("apps/v1", "Deployment", b'{"spec":[]}', "spec: expected an object, got a list"),
    ("v1", "Pod", b'{"metadata":{"name":5}}', "metadata.name: expected a string, got number 5"),
    (
        "v1",
        "Pod",
        b'{"metadata":{"generation":9223372036854775808}}',
        "metadata.generation: expected a 64-bit integer",
    ),
    ("v1", "Pod", b'{"metadata":{"generation":1e3}}', "metadata.generation: expected an integer, got number 1000.0"),
    ("v1", "Pod", b'{"metadata":{"labels":{"a":1}}}', "metadata.labels[a]: expected a string, got number 1"),
    ("v1", "Pod", b'{"metadata":{"labels":[]}}', "metadata.labels: expected an object, got a list"),
    (
        "v1",
        "Pod",
        b'{"metadata":{"finalizers":["a",{}]}}',
        "metadata.finalizers[1]: expected a string, got an object",
    ),
    ("v1", "Pod", b'{"metadata":{"finalizers":"a"}}', 'metadata.finalizers: expected a list, got string "a"'),
    (
        "v1",
        "Pod",
        b'{"metadata":{"creationTimestamp":"now"}}',
        "metadata.creationTimestamp: expected an RFC 3339 time",
    ),
    (
        "v1",
        "Pod",
        b'{"metadata":{"creationTimestamp":"0001-01-01T00:00:00+01:00"}}',
        "metadata.creationTimestamp: expec",
    ),
    (
        "v1",
        "Pod",
        b'{"metadata":{"managedFields":[{"fieldsV1":[]}]}}',
        "metadata.managedFields[0].fieldsV1: expected an",
    ),
    ("v1", "Pod", b'{"spec":{"containers":{}}}', "spec.containers: expected a list, got an object"),
    (
        "v1",
        "Pod",
        b'{"spec":{"containers":[{},{"ports":[{"name":"a"},{"name":1}]}]}}',
        "spec.containers[1].ports[1].name: expected a string, got number 1",
    ),
    (
        "v1",
        "Pod",
        b'{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}',
        'spec.containers[0].resources.limits[cpu]: expected a quantity such as 500m, 1.5Gi or 1e3, got string "x"',
    ),
    (
        "v1",
        "Pod",
        b'{"spec":{"containers":[{"readinessProbe":{"httpGet":{"port":1.5}}}]}}',
        "spec.containers[0].readinessProbe.httpGet.port: expected an integer or a string, got number 1.5",
    ),
    ("v1", "Secret", b'{"data":{"k":"%%"}}', 'data[k]: expected base64 text, got string "%%"'),
    ("v1", "Secret", b'{"data":{"k":"aGk"}}', "data[k]: expected base64 text"),
    ("v1", "Secret", b'{"data":{"k":1}}', "data[k]: expected a base64 string, got number 1"),
    ("v1", "PodList", b'{"items":[{},{"spec":1}]}', "items[1].spec: expected an object, got number 1"),
    ("v1", "Pod", b'{"kind":1}', "kind: expected a string, got number 1"),
    ("v1", "Pod", b'{"apiVersion":{"a":1}}', "apiVersion: expected a string, got an object"),
    (
        *CRD,
        b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"items":[{},{"type":1}]}}}}}]}}',
        "spec.versions[0].schema.openAPIV3Schema.properties[a].items[1].type: expected a string, got number 1",
    ),
    (
        *CRD,
        b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":1}}}]}}',
        "spec.versions[0].schema.openAPIV3Schema.additionalProperties: expected an object or a boolean, got number 1",
    ),
)
UNPARSEABLE = (
    b"[]",
    b"null",
    b'"x"',
    b"{",
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":1e999}',
    b'{"a":"\xff"}',
    b'{"a":"\\ud800"}',
    b"\xef\xbb\xbf{}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
)


class RefusalTests(SynchronousTestCase):
    """Bodies that do not fit, and the texts of reference ERR-15."""

    def _message(self, api_version: str, kind: str, body: bytes) -> str:
        error: BadRequest = self.assertRaises(BadRequest, read, api_version, kind, body)
        return error.message

    def test_misfits(self) -> None:
        """A value of the wrong type is a 400 that names kind, version and place (reference ERR-15)."""
        for api_version, kind, body, why in MISFITS:
            version = api_version.rpartition("/")[2]
            expected = f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
            message = self._message(api_version, kind, body)
            self.assertTrue(message.startswith(expected), f"{message} / {expected}")

    def test_unparseable(self) -> None:
        """Anything but a JSON object is a 400 that shows the first bytes (reference ERR-15)."""
        for body in UNPARSEABLE:
            message = self._message("v1", "ConfigMap", body)
            prefix = (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json "
            )
            self.assertTrue(message.startswith(f"{prefix}parse error: "), message)
            self.assertLess(len(message), 400)
        self.assertTrue(self._message("v1", "ConfigMap", b"").endswith("(<empty>)"))
        self.assertTrue(self._message("v1", "ConfigMap", b"abc").endswith("(616263)"))

    def test_another_kind(self) -> None:
        """Another kind or version in the body is a 400 with the texts of reference ERR-15 and WRITE-7."""
        cases = {
            b'{"kind":"Foo","apiVersion":"v1"}': (
                'Foo in version "v1" cannot be handled as a Deployment: no kind "Foo" is registered for version "v1"'
            ),
            b'{"kind":"Pod","apiVersion":"v1"}': (
                'Pod in version "v1" cannot be handled as a Deployment: '
                "converting (v1.Pod) to (apps.Deployment): unknown conversion"
            ),
            b'{"kind":"Deployment","apiVersion":"apps/v1beta1"}': (
                "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
            ),
            b'{"apiVersion":"apps/v9"}': (
                'Deployment in version "v9" cannot be handled as a Deployment: '
                'no kind "Deployment" is registered for version "apps/v9"'
            ),
        }
        for body, expected in cases.items():
            self.assertEqual(self._message("apps/v1", "Deployment", body), expected)

    def test_type_may_be_absent(self) -> None:
        """Kind and apiVersion may be missing, null or empty; the URL says them (reference WRITE-6)."""
        for body in (b"{}", b'{"kind":"Pod"}', b'{"apiVersion":"v1"}', b'{"kind":null,"apiVersion":""}'):
            self.assertEqual(read("v1", "Pod", body)["kind"], "Pod")

    def test_options_of_any_group(self) -> None:
        """DeleteOptions may name v1, either meta group or the resource's group (reference DEL-1, VOC-5)."""
        for api_version in ("v1", "meta.orch.io/v1", "meta.k8s.io/v1", "apps/v1"):
            body = orjson.dumps({"kind": "DeleteOptions", "apiVersion": api_version, "gracePeriodSeconds": 3})
            self.assertEqual(read("v1", "DeleteOptions", body)["gracePeriodSeconds"], 3)

    def test_bounded(self) -> None:
        """However long what a client sent, the message about it is short (reference DESIGN-8)."""
        long = b"x" * 1_000_000
        for body in (b'{"data":{"%b":1}}' % long, b'{"data":"%b"}' % long, b'{"kind":"%b"}' % long, b"%b" % long):
            self.assertLess(len(self._message("v1", "ConfigMap", body)), 1000)

    def test_depth(self) -> None:
        """A value of any type may be MAX_DEPTH levels deep, one more is a 400; so may a recursive type."""
        codec = CODECS.kind("apps/v1", "ControllerRevision")
        orjson.dumps(codec.normalise({"data": nested(MAX_DEPTH)}))
        error = self.assertRaises(BadRequest, codec.normalise, {"data": nested(MAX_DEPTH + 1)})
        self.assertIn("data: expected at most 200 levels", error.message)
        schema: dict[str, Any] = {}
        for _ in range(MAX_DEPTH):
            schema = {"not": schema}
        crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
        error = self.assertRaises(BadRequest, CODECS.kind(*CRD).normalise, crd)
        self.assertIn("spec.versions[0].schema.openAPIV3Schema: expected at most 200 levels", error.message)
