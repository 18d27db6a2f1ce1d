"""Controller that binds claims and volumes (reference SIM-50)."""
# covers: orchtw.simulation.volumes.writing

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.simulation.volumes.binder import VolumeBinder
from orchtw.simulation.volumes.names import PROVISIONER
from tests.simulation.volumes.case import CLASSES, VolumeCase


class BinderTests(VolumeCase):
    made = (VolumeBinder,)

    def setUp(self) -> None:
        super().setUp()
        self.settle()

    def test_smallest(self) -> None:
        """A claim without a class gets the smallest volume that will do."""
        for name, size in (("small", "1Gi"), ("large", "10Gi"), ("middle", "5Gi")):
            self.volume(name, size)
        self.claim("data", "3Gi")
        self.assertEqual(self.state("data"), ("Bound", "middle"))
        self.assertEqual((self.phase("middle"), self.phase("small")), ("Bound", "Available"))
        claim, translate = self.get_claim("data"), self.world.naming.translate
        self.assertEqual(claim["status"]["capacity"], {"storage": "5Gi"})
        names = [translate(f"pv.orch.io/{name}") for name in ("bind-completed", "bound-by-controller")]
        self.assertEqual([claim["metadata"]["annotations"].get(name) for name in names], ["yes", "yes"])

    def test_modes_and_labels(self) -> None:
        """Access modes, the volume mode and the selector must fit."""
        self.volume("v")
        self.claim("shared", accessModes=["ReadWriteMany"])
        self.claim("block", volumeMode="Block")
        self.claim("chosen", selector={"matchLabels": {"a": "b"}})
        self.assertEqual({self.state(name)[0] for name in ("shared", "block", "chosen")}, {"Pending"})
        expected = ("FailedBinding", "no persistent volumes available for this claim and no storage class is set")
        self.assertIn(expected, self.events("block"))

    def test_later_volume(self) -> None:
        """A claim that waits gets a volume that comes."""
        self.claim("data")
        self.volume("v")
        self.assertEqual(self.state("data"), ("Bound", "v"))

    def test_reserved(self) -> None:
        """A volume that names a claim waits for it; a claim gets the volume that it names."""
        self.volume("mine", "5Gi", claimRef={"namespace": "a", "name": "data"})
        self.volume("v")
        self.claim("data")
        self.assertEqual(self.state("data"), ("Bound", "mine"))
        self.volume("w", "2Gi")
        self.claim("named", volumeName="w")
        self.assertEqual(self.state("named"), ("Bound", "w"))
        self.claim("late", volumeName="w")
        self.assertEqual(self.state("late"), ("Pending", "w"))
        self.assertIn(("FailedBinding", 'volume "w" already bound to a different claim.'), self.events("late"))

    def test_provisioning(self) -> None:
        """The simulated class makes a volume for a claim, and deletes it with the claim."""
        found = self.get(CLASSES, "simulated", self.world.naming.api_version("storage.orch.io/v1"))
        self.assertEqual(found["provisioner"], PROVISIONER)
        made = self.claim("data", storageClassName="simulated", accessModes=["ReadWriteMany"])
        name = f"pvc-{made['metadata']['uid']}"
        self.assertEqual(self.state("data"), ("Bound", name))
        self.assertIn(("ProvisioningSucceeded", f"Successfully provisioned volume {name}"), self.events("data"))
        self.assertEqual(self.get_volume(name)["spec"]["accessModes"], ["ReadWriteMany"])
        self.merge("persistentvolumeclaims", "data", {"metadata": {"finalizers": None}}, "v1")
        self.delete("persistentvolumeclaims", "data", "v1")
        self.assertRaises(NotFound, self.get_volume, name)

    def test_other_provisioner(self) -> None:
        """Another provisioner is asked by an annotation; a class that is not there is told of."""
        self.storage_class("other", "example.com/p")
        self.claim("data", storageClassName="other")
        note = self.world.naming.translate("volume.beta.orch.io/storage-provisioner")
        self.assertEqual(self.get_claim("data")["metadata"]["annotations"][note], "example.com/p")
        self.assertIn("ExternalProvisioning", [reason for reason, _ in self.events("data")])
        self.claim("lost", storageClassName="none")
        group = self.world.naming.group("storage.orch.io")
        self.assertIn(("ProvisioningFailed", f'storageclass.{group} "none" not found'), self.events("lost"))
        self.storage_class("none", PROVISIONER)
        self.assertEqual(self.state("lost")[0], "Bound")

    def test_first_consumer(self) -> None:
        """A claim of a class that waits gets its volume when its pod's node is chosen."""
        self.storage_class("late", PROVISIONER, volumeBindingMode="WaitForFirstConsumer")
        self.claim("data", storageClassName="late")
        self.assertEqual(self.state("data")[0], "Pending")
        text = "waiting for first consumer to be created before binding"
        self.assertEqual(self.events("data"), [("WaitForFirstConsumer", text)])
        selected = {self.world.naming.translate("volume.orch.io/selected-node"): "n1"}
        self.merge("persistentvolumeclaims", "data", {"metadata": {"annotations": selected}}, "v1")
        self.assertEqual(self.state("data")[0], "Bound")

    def test_reclaiming(self) -> None:
        """A volume whose claim has gone stays released, or is recycled for others."""
        for name, policy in (("kept", "Retain"), ("again", "Recycle")):
            self.volume(name, persistentVolumeReclaimPolicy=policy, claimRef={"namespace": "a", "name": name})
            self.claim(name)
            self.merge("persistentvolumeclaims", name, {"metadata": {"finalizers": None}}, "v1")
            self.delete("persistentvolumeclaims", name, "v1")
        self.assertEqual(self.phase("kept"), "Released")
        self.assertEqual(self.phase("again"), "Available")

    def test_lost(self) -> None:
        """A bound claim whose volume has gone is lost."""
        self.volume("v")
        self.claim("data")
        self.merge("persistentvolumes", "v", {"metadata": {"finalizers": None}}, "v1")
        self.delete("persistentvolumes", "v", "v1")
        self.assertEqual(self.state("data"), ("Lost", "v"))
        self.assertIn("ClaimLost", [reason for reason, _ in self.events("data")])


class KubernetesBinderTests(BinderTests):
    vocabulary = "kubernetes"
