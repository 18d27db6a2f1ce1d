"""Controller of the claims of ephemeral volumes (reference SIM-52)."""

from __future__ import annotations

from orchtw.simulation.volumes.ephemeral import EphemeralVolumes
from orchtw.wire.objects import Object
from tests.simulation.volumes.case import VolumeCase
from tests.simulation.workloads.case import SPEC

CLAIM: Object = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


class EphemeralTests(VolumeCase):
    made = (EphemeralVolumes,)

    def pod(self) -> Object:
        """Create a pod with an ephemeral volume."""
        volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": CLAIM}}]
        return self.create("pods", {"metadata": {"name": "p"}, "spec": {**SPEC, "volumes": volumes}}, "v1")

    def test_claim(self) -> None:
        """A pod's ephemeral volume has a claim that belongs to the pod."""
        pod = self.pod()
        meta = self.get_claim("p-scratch")["metadata"]
        self.assertEqual(meta["labels"], {"a": "b"})
        self.assertEqual(meta["ownerReferences"], [{
            "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True,
            "blockOwnerDeletion": True,
        }])

    def test_foreign_claim(self) -> None:
        """A claim of that name that belongs to nobody is left alone, and told of."""
        self.claim("p-scratch")
        self.pod()
        text = 'PVC "a/p-scratch" was not created for pod "a/p" (pod is not owner)'
        self.assertIn(text, dict(self.events("p")).values())
