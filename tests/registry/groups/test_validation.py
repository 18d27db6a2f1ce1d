"""Rules of kinds that the schema or their record holds, as writes meet them."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.scheduling.priority_classes import validate_priority_class
from orchtw.wire.objects import Object
from tests.in_process import InProcessServer

RESERVED = "Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "


class PriorityClassTests(SynchronousTestCase):
    """Facts, validation of scheduling."""

    def causes(self, name: str, value: int, old: Object | None = None, /, **more: object) -> list[Cause]:
        return validate_priority_class({"metadata": {"name": name}, "value": value, **more}, old, Naming.orch())

    def test_highest_value(self) -> None:
        """A user's class has at most a value of 1000000000."""
        self.assertEqual(self.causes("a", 1_000_000_000), [])
        text = "Forbidden: maximum allowed value of a user defined priority is 1000000000"
        self.assertEqual(self.causes("a", 1_000_000_001), [Cause("FieldValueForbidden", text, "value")])

    def test_system_names(self) -> None:
        """Names with the system's prefix are those of its two classes, with their values."""
        self.assertEqual(self.causes("system-node-critical", 2_000_001_000), [])
        self.assertEqual(self.causes("system-cluster-critical", 2_000_000_000), [])
        for name, value, more, why in [
            ("system-mine", 1, {}, "system-mine is not a known system priority class"),
            ("system-node-critical", 1, {}, "value of system-node-critical PriorityClass must be 2000001000"),
            ("system-node-critical", 2_000_001_000, {"globalDefault": True},
             "globalDefault of system-node-critical PriorityClass must be false"),
        ]:  # fmt: skip
            expected = [Cause("FieldValueForbidden", RESERVED + why, "metadata.name")]
            self.assertEqual(self.causes(name, value, **more), expected)

    def test_value_stays(self) -> None:
        """The value of a class never changes; the cause names the field as the original does."""
        self.assertEqual(self.causes("a", 1, {"value": 1}), [])
        text = "Forbidden: may not be changed in an update."
        self.assertEqual(self.causes("a", 2, {"value": 1}), [Cause("FieldValueForbidden", text, "Value")])


class RefusalTests(TestCase):
    """422s of the whole server."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def test_lease(self) -> None:
        """All causes come at once, on create, update and patch; what is refused is not stored."""
        path = "/apis/coordination.orch.io/v1/namespaces/default/leases"
        spec = {"leaseDurationSeconds": 0, "leaseTransitions": -1}
        bad = {"metadata": {"name": "a", "labels": {"-": ""}}, "spec": spec}
        answer = await self.server.request("POST", path, bad)
        self.assertEqual(answer.code, 422)
        causes = [(each["field"], each["message"]) for each in answer.json["details"]["causes"]]
        self.assertEqual(causes[0][0], "metadata.labels")
        self.assertEqual(
            causes[1:],
            [
                ("spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0"),
                ("spec.leaseTransitions", "Invalid value: -1: must to greater or equal than 0"),
            ],
        )
        good = {"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": 1, "leaseTransitions": 0}}
        self.assertEqual((await self.server.request("POST", path, good)).code, 201)
        patch = {"content-type": "application/merge-patch+json"}
        refused = await self.server.request("PATCH", f"{path}/a", {"spec": {"leaseDurationSeconds": 0}}, patch)
        self.assertEqual(refused.code, 422)
        stored = (await self.server.request("GET", f"{path}/a")).json
        self.assertEqual(stored["spec"], good["spec"])

    async def test_runtime_class(self) -> None:
        """A handler is a DNS label, and stays what it is; a PUT that creates is a create."""
        path = "/apis/node.orch.io/v1/runtimeclasses"
        empty = await self.server.request("POST", path, {"metadata": {"name": "a"}, "handler": ""})
        self.assertEqual((empty.code, empty.json["details"]["causes"][0]["field"]), (422, "handler"))
        created = await self.server.request("PUT", f"{path}/a", {"metadata": {"name": "a"}, "handler": "b"})
        self.assertEqual(created.code, 201)
        changed = await self.server.request("PUT", f"{path}/a", {**created.json, "handler": "c"})
        self.assertEqual(
            changed.json["message"],
            'RuntimeClass.node.orch.io "a" is invalid: handler: Invalid value: "c": field is immutable',
        )

    async def test_priority_class(self) -> None:
        """Declared rules and those of the record are reported together."""
        path = "/apis/scheduling.orch.io/v1/priorityclasses"
        sent = {"metadata": {"name": "a"}, "value": 2_000_000_000, "preemptionPolicy": "Perhaps"}
        answer = await self.server.request("POST", path, sent)
        self.assertEqual([each["field"] for each in answer.json["details"]["causes"]], ["value", "preemptionPolicy"])
