"""Controller that lets claims grow (reference SIM-51)."""

from __future__ import annotations

from orchtw.simulation.volumes.binder import VolumeBinder
from orchtw.simulation.volumes.expander import VolumeExpander
from orchtw.wire.objects import Object
from tests.simulation.volumes.case import VolumeCase


class ExpanderTests(VolumeCase):
    made = (VolumeBinder, VolumeExpander)

    def test_growth(self) -> None:
        """Volume and claim have the size that is requested."""
        self.settle()
        self.claim("data", storageClassName="simulated")
        larger: Object = {"spec": {"resources": {"requests": {"storage": "4Gi"}}}}
        self.merge("persistentvolumeclaims", "data", larger, "v1")
        claim = self.get_claim("data")
        self.assertEqual(claim["status"]["capacity"], {"storage": "4Gi"})
        self.assertEqual(self.get_volume(claim["spec"]["volumeName"])["spec"]["capacity"], {"storage": "4Gi"})
        self.assertIn("VolumeResizeSuccessful", [reason for reason, _ in self.events("data")])
