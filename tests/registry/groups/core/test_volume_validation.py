"""PersistentVolumes: one source, a capacity, and what never changes (reference KIND-73)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.volume_validation import validate_volume
from orchtw.wire.objects import Object


def volume(**spec: object) -> Object:
    local = {"hostPath": {"path": "/data", "type": ""}}
    modes = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return {"metadata": {"name": "v"}, "spec": {**local, **modes, **spec}}


class VolumeTests(SynchronousTestCase):
    """Causes that reject a PersistentVolume."""

    def fields(self, new: Object, old: Object | None = None) -> list[str]:
        return [cause.field for cause in validate_volume(new, old, Naming.orch())]

    def test_create(self) -> None:
        """A volume has one source, access modes, a capacity and a known policy."""
        self.assertEqual(self.fields(volume()), [])
        self.assertEqual(self.fields(volume(accessModes=[])), ["spec.accessModes"])
        self.assertEqual(set(self.fields(volume(capacity={}))), {"spec.capacity"})
        policy = "spec.persistentVolumeReclaimPolicy"
        self.assertIn(policy, self.fields(volume(persistentVolumeReclaimPolicy="Keep")))
        self.assertNotEqual(self.fields(volume(hostPath=None)), [])

    def test_update(self) -> None:
        """The source of a volume cannot change."""
        moved = volume(hostPath={"path": "/other", "type": ""})
        self.assertEqual((self.fields(volume(), volume()), len(self.fields(moved, volume()))), ([], 1))
