"""Claims and volumes for tests of their controllers."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.simulation.workloads.case import WorkloadCase

CLASSES = "storageclasses"


class VolumeCase(WorkloadCase):
    """Tests with claims of namespace a, under both vocabularies."""

    def claim(self, name: str, size: str = "1Gi", *, notes: Object | None = None, **spec: Any) -> Object:
        """Create a claim of a size."""
        whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
        return self.create("persistentvolumeclaims", {
            "metadata": {"name": name, "annotations": notes or {}}, "spec": whole,
        }, "v1")

    def volume(self, name: str, size: str = "1Gi", **spec: Any) -> Object:
        """Create a volume without a class, unless one is given."""
        whole = {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/tmp/v"}, **spec,
        }
        return self.create("persistentvolumes", {"metadata": {"name": name}, "spec": whole}, "v1")

    def storage_class(self, name: str, provisioner: str, **fields: Any) -> None:
        """Create a class of a provisioner."""
        obj = {"metadata": {"name": name}, "provisioner": provisioner, **fields}
        self.create(CLASSES, obj, self.world.naming.api_version("storage.orch.io/v1"))

    def get_claim(self, name: str) -> Object:
        """Return the claim of that name."""
        return self.get("persistentvolumeclaims", name, "v1")

    def get_volume(self, name: str) -> Object:
        """Return the volume of that name."""
        return self.get("persistentvolumes", name, "v1")

    def state(self, name: str) -> tuple[str, str]:
        """Phase of a claim, and name of its volume."""
        claim = self.get_claim(name)
        return claim["status"]["phase"], claim["spec"].get("volumeName", "")

    def phase(self, name: str) -> str:
        """Phase of a volume."""
        return str(self.get_volume(name)["status"].get("phase", ""))
