"""Volumes made for claims, by the simulated provisioner; other provisioners are asked by an annotation."""

from __future__ import annotations

from orchtw.client.interface import Client
from orchtw.errors import AlreadyExists
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.volumes.matching import holder_of
from orchtw.simulation.volumes.names import DEFAULT_CLASS, DRIVER, PROVISIONER, Names
from orchtw.wire.objects import Object


def new_volume(claim: Object, storage_class: Object, names: Names) -> Object:
    """Return the volume for a claim of the simulated provisioner, which every node can reach."""
    spec, name = claim["spec"], f"pvc-{claim['metadata']['uid']}"
    made: Object = {
        "accessModes": spec.get("accessModes") or [],
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "claimRef": holder_of(claim),
        "csi": {"driver": DRIVER, "volumeHandle": name, "fsType": "ext4"},
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": spec.get("volumeMode") or "Filesystem",
    }
    if storage_class.get("mountOptions"):
        made["mountOptions"] = storage_class["mountOptions"]
    return {"metadata": {"name": name, "annotations": {names.provisioned_by: PROVISIONER}}, "spec": made}


async def ensure_class(client: Client, classes: SharedInformer, names: Names) -> None:
    """Create the simulated class unless it is there; it is the default one unless there is another."""
    if classes.get(DEFAULT_CLASS) is not None:
        return
    others = any(_is_default(each, names) for each in classes)
    wanted = {
        "metadata": {"name": DEFAULT_CLASS, "annotations": {names.default_class: "false" if others else "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }
    try:
        await client.create(classes.resource, "", wanted)
    except AlreadyExists:
        return


def _is_default(storage_class: Object, names: Names) -> bool:
    return (storage_class["metadata"].get("annotations") or {}).get(names.default_class) == "true"
