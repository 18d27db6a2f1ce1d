"""Metadata in writes to /status, of every kind that has one (reference KIND-12)."""

from __future__ import annotations

from typing import ClassVar

from tests.end_to_end.minimal import Minimal
from tests.verbs.served import MERGE, PLUGIN, ServedCase

# Of the others labels and annotations follow the body.
KEPT = {
    "Deployment": {"labels"},
    "APIService": {"labels", "annotations"},
    "CustomResourceDefinition": {"labels", "annotations"},
    "FlowSchema": {"labels", "annotations"},
    "PriorityLevelConfiguration": {"labels", "annotations"},
    "StorageVersion": {"labels", "annotations"},
    "VolumeAttachment": {"labels", "annotations"},
}


class StatusMetadataTests(ServedCase):
    more: ClassVar = {
        "runtime_config": (("api/all", "true"),),
        "enable_admission_plugins": (),
        "disable_admission_plugins": (),
        "admission_control": (PLUGIN,),
    }

    def test_every_kind(self) -> None:
        """A patch of /status takes labels and annotations, but where the kind keeps them."""
        resources = self.server.instance.resources
        catalogue = resources.codecs.catalogue
        minimal, tried = Minimal(catalogue, resources.codecs), set()
        for number, resource in enumerate(catalogue.resources):
            if resource.storage_version is None or not any(sub.name == "status" for sub in resource.subresources):
                continue
            root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
            root += f"{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"
            obj = minimal.obj(resource, f"x{number}", "default")
            path = f"{root}/{obj['metadata']['name']}"
            if self.code("GET", path) != 200:
                self.done("POST", root, obj)
            marks = {"labels": {"a.b/c": "d"}, "annotations": {"a.b/c": "d"}}
            after = self.done("PATCH", f"{path}/status", {"metadata": marks}, MERGE)["metadata"]
            kept = {key for key in marks if (after.get(key) or {}).get("a.b/c") != "d"}
            self.assertEqual(kept, KEPT.get(resource.kind, set()), f"{resource.kind} of {resource.api_version}")
            tried.add(resource.kind)
        self.assertLessEqual(set(KEPT), tried)
        self.assertGreater(len(tried), 20)
