"""Mutations of one write, without a server (reference POLICY-12, POLICY-13)."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies.definitions import policy_of
from orchtw.admission.policies.known import Pairing
from orchtw.admission.policies.mutator import Mutator
from orchtw.admission.policies.records import Binding
from orchtw.errors import Forbidden, ServiceUnavailable
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, canonical, host, resource
from tests.admission.policies.case import mutating

ADD = "[JSONPatch{op: 'add', path: '/data', value: {'k': 'v'}}]"
MERGE = "Object{data: {'m': object.metadata.name}}"


class MutatorTests(SynchronousTestCase):
    def mutated(self, *policies: Object, binding: str = "") -> Deferred[Any]:
        """Let policies change a ConfigMap named x; fires with its data. `binding`: the fault of each binding."""
        obj = canonical("v1", "ConfigMap", {"metadata": {"name": "x", "namespace": "default"}})
        write = attributes("CREATE", "configmaps", namespace="default", obj=obj)
        pairings = []
        for each in policies:
            policy = policy_of(each)
            bound = Binding(name="b", policy=policy.name, broken=binding)
            pairings.append(Pairing(policy, resource("configmaps"), (bound,)))

        async def work() -> Any:
            await Mutator(host()).mutate(pairings, write)
            assert write.obj is not None
            return write.obj.get("data")

        return Deferred.fromCoroutine(work())

    def refusal(self, *policies: Object, binding: str = "") -> str:
        """Return the text of the refusal."""
        error: Forbidden = self.failureResultOf(self.mutated(*policies, binding=binding), Forbidden).value
        self.assertEqual(error.reason, "Invalid")
        return error.message

    def test_order(self) -> None:
        """Each policy sees what those before it have made."""
        found = self.successResultOf(self.mutated(mutating(ADD), mutating(MERGE, name="q")))
        self.assertEqual(found, {"k": "v", "m": "x"})

    def test_conditions(self) -> None:
        """A condition that is false leaves the object alone."""
        conditions = [{"name": "c", "expression": "object.metadata.name == 'y'"}]
        self.assertIsNone(self.successResultOf(self.mutated(mutating(ADD, matchConditions=conditions))))

    def test_failure(self) -> None:
        """A failed expression refuses the write, unless the failurePolicy is Ignore."""
        wrong = mutating("Object{data: {'m': object.x}}")
        self.assertIn("policy 'p' with binding 'b' denied request: ", self.refusal(wrong))
        patient = mutating("Object{data: {'m': object.x}}", failurePolicy="Ignore")
        self.assertIsNone(self.successResultOf(self.mutated(patient)))

    def test_unknown_schema(self) -> None:
        """An object whose kind is not served any more cannot be merged with: the client is to try again (503)."""
        write = attributes("CREATE", "configmaps", namespace="default", obj={"metadata": {"name": "x"}})
        write.resource = gone = attrs.evolve(resource("configmaps"), group="x.io", kind="Gone")
        pairing = Pairing(policy_of(mutating(MERGE)), gone, (Binding(name="b", policy="p"),))
        work = Deferred.fromCoroutine(Mutator(host()).mutate([pairing], write))
        error: ServiceUnavailable = self.failureResultOf(work, ServiceUnavailable).value
        text = (
            "Resource kind x.io/v1, Kind=Gone not found. There can be a delay between when CustomResourceDefinitions "
            "are created and when they are available."
        )
        self.assertEqual(error.message, text)

    def test_broken(self) -> None:
        """A binding that cannot be matched refuses the write."""
        self.assertIn("failed to configure binding: why", self.refusal(mutating(ADD), binding="why"))
