"""Metadata that the server writes, owners, names and formats of every kind (reference OBJ-1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.naming.naming import Naming
from orchtw.registry.strategies import KINDS
from orchtw.registry.traits import GENERIC
from orchtw.schema.catalogue import Catalogue
from orchtw.values import addresses, file_paths, names, ports
from orchtw.values.names import LABEL_1035_NAME, LABEL_NAME, PATH_SEGMENT_NAME, SUBDOMAIN_NAME, NameForm
from orchtw.wire.objects import Object
from tests.validation import test_meta
from tests.validation.meta import (
    MAP,
    MAPS,
    NAMESPACED,
    OWNER,
    long,
)
from tests.validation.paths import changed
from tests.verbs.served import MERGE, ServedCase


class ServerFieldsTests(ServedCase):
    """Metadata that the server writes, whatever clients send (reference OBJ-3)."""

    def test_create(self) -> None:
        """The identity of a new object is its own: a random UID, and now to the second."""
        sent = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
        first, second = (
            self.done("POST", MAPS, {**MAP, "metadata": {**sent, "name": name}})["metadata"] for name in "ab"
        )
        self.assertNotEqual(first["uid"], second["uid"])
        self.assertRegex(first["uid"], "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertRegex(first["creationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertNotEqual(first["creationTimestamp"], sent["creationTimestamp"])

    def test_generated_name(self) -> None:
        """58 characters of what is given, and five that spell nothing."""
        made = self.done("POST", MAPS, {**MAP, "metadata": {"generateName": "a" * 70 + "-"}})
        self.assertRegex(made["metadata"]["name"], "^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$")
        self.assertEqual(made["metadata"]["generateName"], "a" * 70 + "-")

    def test_update(self) -> None:
        """The time of creation stays as it is, without a word."""
        made = self.done("POST", MAPS, MAP)
        sent = changed(made, {"metadata.creationTimestamp": "2001-01-01T00:00:00Z"})
        meta = self.done("PUT", f"{MAPS}/a", sent)["metadata"]
        self.assertEqual(meta["creationTimestamp"], made["metadata"]["creationTimestamp"])

    def test_deletion_of_a_live_object(self) -> None:
        """No write but a DELETE begins a deletion: PUT, every kind of PATCH and writes to /status are refused."""
        made = self.done("POST", MAPS, MAP)
        fields = {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3}
        time = "metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable"
        grace = "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable"
        apply = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **fields}}
        operations = [{"op": "add", "path": f"/metadata/{key}", "value": value} for key, value in fields.items()]
        for method, body, content in [
            ("PUT", {**made, "metadata": {**made["metadata"], **fields}}, "json"),
            ("PATCH", {"metadata": fields}, "merge-patch+json"),
            ("PATCH", {"metadata": fields}, "strategic-merge-patch+json"),
            ("PATCH", operations, "json-patch+json"),
            ("PATCH", apply, "apply-patch+yaml"),
        ]:
            query = "?fieldManager=m&force=true" if content.startswith("apply") else ""
            headers = {"content-type": f"application/{content}"}
            answer = self.send(method, f"{MAPS}/a{query}", orjson.dumps(body), headers)
            self.assertEqual(answer.code, 422, answer)
            self.assertEqual(answer.json["message"], f'ConfigMap "a" is invalid: [{time}, {grace}]')
        self.assertEqual(self.done("GET", f"{MAPS}/a"), made)

    def test_deletion_of_a_terminating_object(self) -> None:
        """A deletion cannot be taken back, nor its grace period changed."""
        self.done("POST", MAPS, changed(MAP, {"metadata.finalizers": ["a.b/c"]}))
        ending = self.done("DELETE", f"{MAPS}/a")
        meta = {key: value for key, value in ending["metadata"].items() if not key.startswith("deletion")}
        for sent in (meta, {**meta, "deletionTimestamp": "2001-01-01T00:00:00Z"}):
            kept = self.done("PUT", f"{MAPS}/a", {**ending, "metadata": sent})["metadata"]
            self.assertEqual(kept["deletionTimestamp"], ending["metadata"]["deletionTimestamp"])
            self.assertEqual(kept["deletionGracePeriodSeconds"], 0)
        longer = changed(ending, {"metadata.deletionGracePeriodSeconds": 9})
        answer = self.send("PUT", f"{MAPS}/a", longer)
        self.assertEqual([each["field"] for each in answer.json["details"]["causes"]],
                         ["metadata.deletionGracePeriodSeconds"])

    def test_all_at_once(self) -> None:
        """The causes of metadata and of the kind come in one answer, in the order of the fields; no warnings come."""
        self.done("POST", MAPS, {**MAP, "immutable": True})
        bad = {**MAP, "immutable": True, "metadata": {"name": "a", "labels": {"a": "b c"}, "clusterName": "x"}}
        answer = self.send("PUT", f"{MAPS}/a", {**bad, "data": {"a b": "c"}})
        fields = [each["field"] for each in answer.json["details"]["causes"]]
        self.assertEqual(fields[0], "metadata.labels")


class OwnerTests(ServedCase):
    def warnings(self, method: str, path: str, body: Object, headers: Any = None) -> str:
        """The warnings of a request, which leaves one owner."""
        answer = self.send(method, path, body, headers)
        self.assertEqual(len(answer.json["metadata"]["ownerReferences"]), 1)
        return answer.headers.get("warning", "")

    def test_after_admission(self) -> None:
        """In patches, and where admission repeats an owner, the warning says so."""
        twice = {"ownerReferences": [OWNER, OWNER]}
        sent = self.warnings("POST", MAPS, {**MAP, "metadata": {**MAP["metadata"], **twice}})
        self.assertIn("contains duplicate entries; ", sent)
        patched = self.warnings("PATCH", f"{MAPS}/a", {"metadata": twice}, MERGE)
        self.assertIn("contains duplicate entries after mutating admission happens; ", patched)

        def repeat(attributes: Attributes) -> None:
            assert attributes.obj is not None
            attributes.obj["metadata"].update(twice)

        self.plugin.mutate = repeat
        for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/b")):
            admitted = self.warnings(method, path, {**MAP, "metadata": {"name": "b"}})
            self.assertIn("after mutating admission happens", admitted)


class DeletionTests(ServedCase):
    def test_events(self) -> None:
        """An event that is deleted is gone, whatever is asked about dependents."""
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
        for options in ({"propagationPolicy": "Orphan"}, {"orphanDependents": True}, None):
            self.done("POST", "events", event)
            self.done("DELETE", "events/e", options)
            self.assertEqual(self.code("GET", "events/e"), 404)

    def test_answers(self) -> None:
        """The kinds whose deletion answers with the object; a namespace is not gone yet (reference DEL-9)."""
        found = {
            each.kind
            for each in Catalogue.load(Naming.orch()).resources
            if each.delete_returns_object and "delete" in each.verbs
        }
        self.assertEqual(found, set(ANSWERED))


ANSWERED = (
    "Pod", "Service", "PersistentVolume", "PersistentVolumeClaim", "ServiceAccount", "ResourceQuota",
    "PodTemplate", "PodSecurityPolicy", "StorageClass", "VolumeAttachment", "CSIDriver", "CSINode",
)  # fmt: skip


class NameTests(ServedCase):
    """Forms of names (reference OBJ-20)."""

    FORMS: dict[int, NameForm] = {
        125: SUBDOMAIN_NAME, 126: LABEL_NAME, 127: LABEL_1035_NAME, 128: PATH_SEGMENT_NAME,
    }  # fmt: skip

    def test_forms(self) -> None:
        """The kinds that the file names have these forms."""
        forms = {kind.kind: kind.name_form for kind in KINDS.values()}
        entries = test_meta.MetaTests("test_every_entry").entries()
        for number, form in self.FORMS.items():
            kinds = re.findall(r"[A-Z]\w+", re.sub(r" \(v1\)", "", entries[number].fact["when"]))
            for kind in kinds:
                if kind not in ("Scale", "Binding", "CronJob", "CSIDriver"):  # never stored, or shorter
                    self.assertIs(forms.get(kind, GENERIC.name_form), form, kind)

    def test_cron_job(self) -> None:
        """A CronJob leaves room for what its jobs are called."""
        form = next(kind.name_form for kind in KINDS.values() if kind.kind == "CronJob")
        self.assertEqual(form.check("a" * 52), ())
        self.assertEqual(form.check("a" * 53), ("must be no more than 52 characters",))

    def test_priority_class(self) -> None:
        """The names of the system's classes are its own."""
        self.refused(
            "/apis/scheduling.orch.io/v1/priorityclasses",
            {"metadata": {"name": "system-mine"}, "value": 1},
            "priority class names with 'system-' prefix are reserved for system use only",
        )

    def test_csi_driver(self) -> None:
        """The name of a driver is there, and has at most 63 characters."""
        containers = [{"name": "c", "image": "i"}]
        for name, reason in (("", "FieldValueRequired"), (long(64), "FieldValueTooLong")):
            spec = {"containers": containers, "volumes": [{"name": "v", "csi": {"driver": name}}]}
            answer = self.send("POST", f"{NAMESPACED}/pods", {"metadata": {"name": "p"}, "spec": spec})
            causes = {each["field"]: each["reason"] for each in answer.json["details"]["causes"]}
            self.assertEqual(causes["spec.volumes[0].csi.driver"], reason)

    def refused(self, path: str, obj: Object, text: str) -> None:
        """The name of a new object is refused with a text."""
        answer = self.send("POST", path, obj)
        said = {each["field"]: each["message"] for each in answer.json["details"]["causes"]}
        self.assertIn(text, said["metadata.name"])


class FormatTests(SynchronousTestCase):
    """The forms of texts that many kinds share."""

    FORMS: dict[int, tuple[Callable[[Any], tuple[str, ...]], tuple[Any, ...], tuple[Any, ...]]] = {
        100: (names.dns_label, ("a", "1-a", long(63)), ("", "-a", "a-", "A", "a.b", long(64))),
        101: (
            names.dns_subdomain,
            ("a", "a.b-c.1", f"{long(63)}.{long(63)}"),
            ("", "a..b", "a.-b", "A.b", long(254)),
        ),
        102: (names.dns_1035_label, ("a", "a-1"), ("1a", "-a", "a.b", long(64))),
        103: (names.wildcard_subdomain, ("*.a", "*.a-1.b"), ("", "*", "a", "*.*.a", "*a.b", "*.A", f"*.{long(252)}")),
        104: (
            names.qualified_name,
            ("a", "A.b_c-1", "x.y/a", f"x/{long(63)}"),
            ("", "/a", "x/", "x/y/z", "X/a", "a b", f"x/{long(64)}"),
        ),
        105: (names.label_value, ("", "A.b_c-1"), ("-a", "a-", "a b", long(64))),
        106: (names.c_identifier, ("a", "_A1", "__"), ("", "1a", "a-b", "a.b", "a\n", "\xe9")),
        107: (ports.port_number, (1, 65535), (0, -1, 65536, 2**63 - 1)),
        108: (ports.port_name, ("a", "1-a", "a" * 15), ("", "A", "12", "a--b", "-a", "a-", "a_b", "a" * 16)),
        109: (names.environment_variable, ("a", "_A.b-1", ".a"), ("", "1a", ".", "..", "..a", "a b", "a=")),
        110: (names.config_key, ("a", ".a", "A_b-c.d"), (".", "..", "..a", "a b", "", long(254))),
        111: (names.http_header, ("X-Header-Name", "1"), ("", "a_b", "a b", "a:")),
        113: (
            addresses.ip,
            ("10.9.8.7", "010.009.8.7", "2001:db8::ffff", "::"),
            ("", "a", "10.9.8", "10.9.8.256", "10.9.8.7/8"),
        ),
        115: (names.fully_qualified_name, ("a.b.c", "a.b.c.d"), ("", "A.b.c", "a..c", "a.b.", "a.b")),
        118: (
            addresses.socket_address,
            ("10.9.8.7:80", "[2001:db8::1]:65535", "[10.9.8.7]:1"),
            ("", "10.9.8.7", "[::]", "::1:80", "a:80", ":80", "10.9.8.7:", "10.9.8.7:0", "10.9.8.7:a", "[::]:65536"),
        ),
        120: (file_paths.descending_path, ("", "a/b", "..a", "a..b"), ("..", "a/..", "a/../b", "/a")),
        121: (file_paths.file_path, ("", "a/b", "a/..b"), ("..", "a/..", "/a", "..a")),
    }
    """The others are shown with fields that have them."""

    def test_formats(self) -> None:
        """Each accepts what is right, refuses what is not, and says how long is too long."""
        facts = {each.number: each for each in test_meta.MetaTests("test_every_entry").entries()}
        for number, (check, good, bad) in self.FORMS.items():
            rule = facts[number].fact["path"]
            self.assertEqual([value for value in good if check(value)], [], rule)
            self.assertEqual([value for value in bad if not check(value)], [], rule)
            texts = [text for value in bad for text in check(value)]
            for detail in filter(None, facts[number].details):
                self.assertTrue(any(re.search(detail, text) for text in texts), rule)
