"""Rules of Leases (reference KIND-34)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

LEASES = "/apis/coordination.orch.io/v1/namespaces/default/leases"
LEASE = {"apiVersion": "coordination.orch.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}}


class CoordinationTests(case.EntryCase):
    file = "coordination.json"
    bases = {"Lease": Base(path=LEASES, obj=LEASE)}
    examples = {
        0: Refused(change={"spec.leaseDurationSeconds": 0}, accepts={"spec.leaseDurationSeconds": 1}),
        1: Refused(change={"spec.leaseTransitions": -1}, accepts={"spec.leaseTransitions": 0}),
        2: Accepted(change={"spec.holderIdentity": "any $ text"}),
        3: Accepted(
            before={"spec.holderIdentity": "a", "spec.leaseDurationSeconds": 5},
            change={"spec.holderIdentity": "b", "spec.leaseDurationSeconds": GONE},
        ),
        4: Refused(
            change={"metadata.resourceVersion": GONE},
            detail="must be specified for an update",
        ),
        5: Shown(f"{__name__}.CoordinationTests.test_create_by_update"),
        6: Stored(change={"spec.leaseTransitions": 3}, expected={"metadata.generation": GONE}),
    }

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates it."""
        answer = self.send("PUT", f"{LEASES}/new", {**LEASE, "metadata": {"name": "new"}})
        self.assertEqual(answer.code, 201)
