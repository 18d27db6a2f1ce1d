"""Writes of objects and collections pass admission, as the reference shows them (reference ADM-1)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import ChainPlugin
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.declarations import GroupVersionKind
from tests.verbs.admission_case import AdmissionCase
from tests.verbs.objects import config_map
from tests.verbs.served import APPLY, MERGE, ServedCase


class ObjectTests(AdmissionCase):
    """Admission of writes to objects and collections."""

    def test_verbs(self) -> None:
        """POST, PUT, the patches and DELETE, each with its operation and the kind of its options."""
        for method, path, body, headers, operation in (
            ("POST", "configmaps?fieldManager=me", config_map(), {}, "CREATE"),
            ("PUT", "configmaps/x?fieldManager=me", config_map(labels={"a": "b"}), {}, "UPDATE"),
            ("PATCH", "configmaps/x?fieldManager=me", {"data": {"a": "b"}}, MERGE, "UPDATE"),
            ("PATCH", "configmaps/x?fieldManager=me&force=true", config_map(), APPLY, "UPDATE"),
        ):
            asked = self.seen(method, path, body, headers)
            self.assertEqual(self.asked(asked), (operation, "configmaps", "", "x"))
            kind = f"{operation.title()}Options"
            options = {"kind": kind, "apiVersion": "meta.orch.io/v1", "fieldManager": "me"}
            self.assertEqual((asked.options, asked.dry_run, asked.namespace), (options, False, "default"))
            self.assertIn("system:masters", asked.user.groups)
        asked = self.seen("DELETE", "configmaps/x", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        self.assertEqual(self.asked(asked), ("DELETE", "configmaps", "", "x"))
        self.assertEqual((asked.options or {})["propagationPolicy"], "Background")

    def test_creating(self) -> None:
        """An apply or a PUT that creates is a CREATE."""
        asked = self.seen("PATCH", "configmaps/x?fieldManager=me", config_map(), APPLY)
        self.assertEqual((asked.operation, (asked.options or {})["kind"]), ("CREATE", "CreateOptions"))
        lease = "/apis/coordination.orch.io/v1/namespaces/default/leases/l"
        self.assertEqual(self.seen("PUT", lease, {"metadata": {"name": "l"}}).operation, "CREATE")

    def test_and_not_stored(self) -> None:
        """An admitted object may be refused later, or be stored as a later plugin has made it (reference ADM-11)."""
        self.assertEqual(self.code("POST", "configmaps", config_map("A")), 422)
        self.assertEqual((len(self.plugin.admitted), len(self.plugin.validated)), (1, 0))
        self.forget()
        seen: list[bool] = []
        self.plugin.mutate = lambda attributes: seen.append("tolerations" in (attributes.obj or {})["spec"])
        spec = {"containers": [{"name": "c", "image": "i"}]}
        self.done("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})
        self.assertTrue(self.done("GET", "pods/p")["spec"]["tolerations"])
        self.assertEqual(seen, [False])

    def test_dry_run(self) -> None:
        """A dry run passes every plugin, and the options say so."""
        asked = self.seen("POST", "configmaps?dryRun=All", config_map())
        self.assertTrue(asked.dry_run)
        self.assertEqual((asked.options or {})["dryRun"], ["All"])

    def test_status(self) -> None:
        """So does a write to a sub-resource, which is named."""
        self.pod()
        status = {"status": {"phase": "Running"}}
        asked = self.seen("PATCH", "pods/p/status", status, MERGE)
        self.assertEqual(self.asked(asked), ("UPDATE", "pods", "status", "p"))
        self.assertEqual(asked.kind, GroupVersionKind(group="", version="v1", kind="Pod"))

    def test_collection(self) -> None:
        """A DELETE of a collection is a DELETE of each item."""
        for name in ("a", "b"):
            self.done("POST", "configmaps", config_map(name))
        self.forget()
        self.done("DELETE", "configmaps")
        deleted = [("DELETE", "configmaps", "", "a"), ("DELETE", "configmaps", "", "b")]
        self.assertEqual([self.asked(each) for each in self.plugin.validated], deleted)

    def test_reads(self) -> None:
        """Reads do not pass admission."""
        for path in ("configmaps", "configmaps/x", "pods/p/log"):
            self.send("GET", path)
        self.assertEqual((self.plugin.admitted, self.plugin.validated), ([], []))

    def test_measured(self) -> None:
        """The duration of its admission is among the server's metrics (reference ADM-15)."""
        self.done("POST", "configmaps", config_map())
        text = self.send("GET", "/metrics").body.decode()
        labels = 'name="AlwaysAdmit",operation="CREATE",rejected="false",type="validate"'
        self.assertIn(f"\napiserver_admission_controller_admission_duration_seconds_count{{{labels}}} ", text)

    def test_no_op(self) -> None:
        """A write that changes nothing has been admitted all the same."""
        self.done("POST", "configmaps", config_map())
        self.forget()
        self.assertEqual(self.seen("PATCH", "configmaps/x", {}, MERGE).operation, "UPDATE")

    def test_warnings(self) -> None:
        """Warnings and audit annotations go to the request, also when it is refused."""

        def note(attributes: Attributes) -> None:
            attributes.warn("do not")
            attributes.annotate("a.b/key", "value")

        self.plugin.mutate = note
        answer = self.send("POST", "configmaps", config_map())
        self.assertEqual((answer.code, answer.headers["warning"]), (201, '299 - "do not"'))
        request = self.plugin.only().request
        assert request is not None
        self.assertEqual(request.annotations, {"a.b/key": "value"})
        self.plugin.mutate = self.refuse
        answer = self.send("DELETE", "configmaps/x")
        self.assertEqual((answer.code, answer.headers["warning"]), (403, '299 - "refused"'))
        self.assertEqual(answer.json["message"], 'configmaps "x" is forbidden: no')


class EndTests(ServedCase):
    """Validating plugins may be notified of the end of a write."""

    def make_plugin(self) -> ChainPlugin:
        self.ended: list[str] = []
        return Watcher(self)

    def test_ends(self) -> None:
        """It has ended when it is stored, has failed, was refused, or was a dry run; each try of it ends once."""
        for method, path, body, code in (
            ("POST", "configmaps", config_map(), 201),
            ("POST", "configmaps", config_map(), 409),
            ("POST", "configmaps?dryRun=All", config_map("y"), 201),
            ("PATCH", "configmaps/x", {"data": {"a": "b"}}, 200),
            ("PATCH", "configmaps/x", {"data": {"a": "b"}}, 200),
            ("PATCH", "configmaps/x", {"metadata": {"labels": {"refused": "yes"}}}, 403),
        ):
            self.ended = []
            self.assertEqual(self.code(method, path, body, MERGE if method == "PATCH" else None), code)
            self.assertEqual(len(self.ended), 1, (method, path))

    def test_stored(self) -> None:
        """Stored objects can be seen then."""
        self.ended = []
        self.done("POST", "configmaps", config_map())
        self.assertEqual(self.ended, ["old"])


class Watcher:
    """Notes what is there when a write of a ConfigMap by people has ended."""

    def __init__(self, test: EndTests) -> None:
        self._test = test

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        return resource.qualified == "configmaps" and operation != "DELETE"

    async def validate(self, attributes: Attributes) -> None:
        obj = attributes.obj or {}
        attributes.on_end(lambda: self._test.ended.append(self._seen(attributes.name)))
        if (obj["metadata"].get("labels") or {}).get("refused"):
            raise attributes.forbidden("refused")

    def _seen(self, name: str) -> str:
        stored = self._test.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored
        entry = stored.get("default", name)
        return "" if entry is None else str(stored.load(entry)["data"]["key"])
