"""Claims and volumes that are in use do not go away (reference CTRL-28)."""
# covers: orchtw.controllers.claim_protection

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase

CLAIM, VOLUME = "orch.io/pvc-protection", "orch.io/pv-protection"


class ProtectionCase(ControllerTestCase):
    """Works on objects of a world without admission."""

    names = ("pvc-protection", "pv-protection")

    def make(self, plural: str, obj: Object, namespace: str = "a") -> None:
        self.world.run(self.world.client.create(self.world.resource(plural), namespace, obj))
        self.world.settle()

    def patch_object(self, plural: str, name: str, changes: Object, namespace: str = "a", sub: str = "") -> None:
        self.world.run(self.world.client.patch(self.world.resource(plural), namespace, name, changes, sub))
        self.world.settle()

    def remove(self, plural: str, name: str, namespace: str = "a") -> None:
        self.world.run(self.world.client.delete(self.world.resource(plural), namespace, name))
        self.world.settle()

    def finalizers(self, plural: str, name: str, namespace: str = "a") -> Any:
        """Return the object, or None if it is gone."""
        item = self.world.run(self.world.client.find(self.world.resource(plural), namespace, name))
        return None if item is None else list(item.owner_metadata().finalizers)


class ClaimTests(ProtectionCase):
    def claim(self, name: str, *finalizers: str) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        self.make("persistentvolumeclaims", {"metadata": {"name": name, "finalizers": [*finalizers]}, "spec": spec})

    def pod(self, name: str, **source: Any) -> None:
        volumes = [{"name": "v", **source}]
        containers = [{"name": "c", "image": "i"}]
        self.make("pods", {"metadata": {"name": name}, "spec": {"containers": containers, "volumes": volumes}})

    def user_of(self, claim: str, name: str = "p") -> None:
        self.pod(name, persistentVolumeClaim={"claimName": claim})

    def left(self, name: str) -> Any:
        return self.finalizers("persistentvolumeclaims", name)

    def test_unused(self) -> None:
        """An unused claim is deleted at once, whatever other claims are used."""
        self.claim("x", CLAIM)
        self.user_of("other")
        self.remove("persistentvolumeclaims", "x")
        self.assertIsNone(self.left("x"))

    def test_used(self) -> None:
        """A used claim waits until the last of its pods is gone."""
        self.claim("x", CLAIM)
        self.user_of("x", "p")
        self.user_of("x", "q")
        self.remove("persistentvolumeclaims", "x")
        self.assertEqual(self.left("x"), [CLAIM])
        self.remove("pods", "p")
        self.assertEqual(self.left("x"), [CLAIM])
        self.remove("pods", "q")
        self.assertIsNone(self.left("x"))

    def test_new_user(self) -> None:
        """A pod that comes while the claim waits counts too."""
        self.claim("x", CLAIM)
        self.user_of("x", "p")
        self.remove("persistentvolumeclaims", "x")
        self.user_of("x", "q")
        self.remove("pods", "p")
        self.assertEqual(self.left("x"), [CLAIM])

    def test_over(self) -> None:
        """A pod that has succeeded or failed uses nothing."""
        for phase in ("Succeeded", "Failed"):
            self.claim(phase.lower(), CLAIM)
            self.user_of(phase.lower(), f"p-{phase.lower()}")
            self.remove("persistentvolumeclaims", phase.lower())
            self.assertEqual(self.left(phase.lower()), [CLAIM])
            self.patch_object("pods", f"p-{phase.lower()}", {"status": {"phase": phase}}, sub="status")
            self.assertIsNone(self.left(phase.lower()))

    def test_ephemeral(self) -> None:
        """The claim of an ephemeral volume is named by pod and volume."""
        self.claim("p-v", CLAIM)
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        self.pod("p", ephemeral={"volumeClaimTemplate": {"spec": spec}})
        self.remove("persistentvolumeclaims", "p-v")
        self.assertEqual(self.left("p-v"), [CLAIM])
        self.remove("pods", "p")
        self.assertIsNone(self.left("p-v"))

    def test_other_finalizers(self) -> None:
        """Those of others stay."""
        self.claim("x", "ex.io/a", CLAIM)
        self.remove("persistentvolumeclaims", "x")
        self.assertEqual(self.left("x"), ["ex.io/a"])

    def test_without(self) -> None:
        """A claim that lacks the finalizer gets it: one from before the plugin, or that somebody took it off."""
        self.claim("x")
        self.assertEqual(self.left("x"), [CLAIM])
        self.patch_object("persistentvolumeclaims", "x", {"metadata": {"finalizers": ["ex.io/a"]}})
        self.assertEqual(self.left("x"), ["ex.io/a", CLAIM])

    def test_restart(self) -> None:
        """Objects that waited before a restart are released after it; those in use still wait."""
        self.claim("x", CLAIM)
        self.claim("y", CLAIM)
        self.user_of("x", "p")
        self.user_of("y", "q")
        self.remove("persistentvolumeclaims", "x")
        self.remove("persistentvolumeclaims", "y")
        self.end()
        self.remove("pods", "p")
        self.begin()
        self.world.settle()
        self.assertIsNone(self.left("x"))
        self.assertEqual(self.left("y"), [CLAIM])


class VolumeTests(ProtectionCase):
    def volume(self, name: str, *finalizers: str) -> None:
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
        self.make("persistentvolumes", {"metadata": {"name": name, "finalizers": [*finalizers]}, "spec": spec}, "")

    def phase(self, name: str, phase: str) -> None:
        self.patch_object("persistentvolumes", name, {"status": {"phase": phase}}, "", "status")

    def left(self, name: str) -> Any:
        return self.finalizers("persistentvolumes", name, "")

    def test_bound(self) -> None:
        """A volume that is bound waits until it is not."""
        self.volume("x", VOLUME)
        self.phase("x", "Bound")
        self.remove("persistentvolumes", "x", "")
        self.assertEqual(self.left("x"), [VOLUME])
        self.phase("x", "Released")
        self.assertIsNone(self.left("x"))

    def test_unbound(self) -> None:
        """Any other goes at once; one without the finalizer gets it."""
        self.volume("x")
        self.assertEqual(self.left("x"), [VOLUME])
        self.remove("persistentvolumes", "x", "")
        self.assertIsNone(self.left("x"))
