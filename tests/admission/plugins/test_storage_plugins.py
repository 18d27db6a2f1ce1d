"""Plugins of claims and volumes, in a whole server (reference PLUG-20, PLUG-22)."""

from __future__ import annotations

from typing import Any

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from orchtw.errors import Forbidden
from orchtw.registry.listers.storage_classes import expandable_classes
from orchtw.registry.targets import Targets
from orchtw.wire.objects import Object
from tests.admission.asked import CATALOGUE, CODECS, NAMING, attributes, pass_chain
from tests.verbs.served import DEFAULT, MERGE, ServedCase

CLASSES = "/apis/storage.orch.io/v1/storageclasses"
CLAIMS, VOLUMES = f"{DEFAULT}/persistentvolumeclaims", "/api/v1/persistentvolumes"
TARGETS = Targets(CATALOGUE, CODECS, CATALOGUE.resources)
NEW, OLD = "storageclass.orch.io/is-default-class", "storageclass.beta.orch.io/is-default-class"


class StorageCase(ServedCase):
    """Makes classes and claims."""

    def storage_class(self, name: str, *default: str, **more: Any) -> None:
        meta = {"name": name, "annotations": dict.fromkeys(default, "true")}
        self.done("POST", CLASSES, {"metadata": meta, "provisioner": "ex.io/a", **more})

    def claim(self, name: str, meta: Object | None = None, **spec: Any) -> Object:
        given = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
        return {"metadata": {"name": name, **(meta or {})}, "spec": given}

    def refusal(self, method: str, path: str, obj: Object) -> str:
        answer = self.send(method, path, obj)
        self.assertEqual(answer.code, 403)
        message: str = answer.json["message"]
        return message


class DefaultStorageClassTests(StorageCase):
    """Tests of DefaultStorageClass (reference PLUG-20)."""

    def class_of(self, claim: Object) -> Any:
        return self.done("POST", CLAIMS, claim)["spec"].get("storageClassName")

    def test_default(self) -> None:
        """A claim without a class gets the default one of the moment, by the annotation new or old."""
        self.assertIsNone(self.class_of(self.claim("a")))
        self.storage_class("usual", NEW)
        self.assertEqual(self.class_of(self.claim("b", volumeMode="Block")), "usual")
        order = ["accessModes", "resources", "storageClassName", "volumeMode"]
        self.assertEqual(list(self.done("GET", f"{CLAIMS}/b")["spec"]), order)
        self.done("DELETE", f"{CLASSES}/usual")
        self.storage_class("old", OLD)
        self.assertEqual(self.class_of(self.claim("c")), "old")

    def test_chosen(self) -> None:
        """A class that is chosen stays: also none, and the annotation of old."""
        self.storage_class("usual", NEW)
        self.assertEqual(self.class_of(self.claim("a", storageClassName="other")), "other")
        self.assertEqual(self.class_of(self.claim("b", storageClassName="")), "")
        annotated = {"annotations": {"volume.beta.orch.io/storage-class": "old"}}
        self.assertIsNone(self.class_of(self.claim("c", annotated)))

    def test_several(self) -> None:
        """Two defaults are a 403 for those who do not choose."""
        self.storage_class("a", NEW, OLD)
        self.storage_class("b", OLD)
        why = "Internal error occurred: 2 default StorageClasses were found"
        text = f'persistentvolumeclaims "x" is forbidden: {why}'
        self.assertEqual(self.refusal("POST", CLAIMS, self.claim("x")), text)


class ResizeTests(StorageCase):
    """Tests of PersistentVolumeClaimResize (reference PLUG-22)."""

    def bound(self, name: str, class_name: str, phase: str = "Bound", meta: Object | None = None) -> Object:
        spec = {} if meta else {"storageClassName": class_name}
        made = self.done("POST", CLAIMS, self.claim(name, meta, volumeName="v", **spec))
        return self.done("PUT", f"{CLAIMS}/{name}/status", {**made, "status": {"phase": phase}})

    def grown(self, claim: Object, size: str = "2Gi") -> Object:
        return {**claim, "spec": {**claim["spec"], "resources": {"requests": {"storage": size}}}}

    def test_grows(self) -> None:
        """A bound claim of a class that lets it may grow; the class may stand in the annotation of old."""
        self.storage_class("grows", allowVolumeExpansion=True)
        annotated = {"annotations": {"volume.beta.orch.io/storage-class": "grows"}}
        for claim in (self.bound("a", "grows"), self.bound("b", "", meta=annotated)):
            path = f"{CLAIMS}/{claim['metadata']['name']}"
            made = self.done("PUT", path, self.grown(claim))
            self.assertEqual(made["spec"]["resources"]["requests"]["storage"], "2Gi")

    def test_unbound(self) -> None:
        """One that is not bound may not: validation refuses it before the plugin is asked (reference KIND-74)."""
        plugin = PersistentVolumeClaimResize(expandable_classes(TARGETS, NAMING), "a")
        old = {**self.claim("x", storageClassName="grows"), "status": {"phase": "Pending"}}
        asked = attributes("UPDATE", "persistentvolumeclaims", obj=self.grown(old), old=old)
        refused = self.failureResultOf(pass_chain(Chain([plugin]), asked), Forbidden).value.message
        why = "Only bound persistent volume claims can be expanded"
        self.assertEqual(refused, f'persistentvolumeclaims "x" is forbidden: {why}')
        self.done("POST", CLAIMS, old)
        answer = self.send("PUT", f"{CLAIMS}/x", self.grown(self.done("GET", f"{CLAIMS}/x")))
        settled = "spec: Forbidden: spec is immutable after creation except resources.requests for bound claims"
        self.assertEqual(answer.code, 422)
        self.assertIn(settled, answer.json["message"])

    def test_class(self) -> None:
        """Without a class, with one that is not there, or that does not say so, it may not."""
        self.storage_class("no", allowVolumeExpansion=False)
        self.storage_class("silent")
        why = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            "support resize"
        )
        for name, class_name in (("a", "no"), ("b", "silent"), ("c", "missing"), ("d", "")):
            claim = self.grown(self.bound(name, class_name))
            text = f'persistentvolumeclaims "{name}" is forbidden: {why}'
            self.assertEqual(self.refusal("PUT", f"{CLAIMS}/{name}", claim), text)

    def test_same(self) -> None:
        """Another spelling of the same size does not count as growth."""
        claim = self.bound("a", "missing")
        self.done("PUT", f"{CLAIMS}/a", self.grown(claim, "1024Mi"))


class InUseTests(StorageCase):
    """Tests of StorageObjectInUseProtection (reference PLUG-22)."""

    def finalizers(self, path: str, obj: Object) -> Any:
        return self.done("POST", path, obj)["metadata"]["finalizers"]

    def volume(self, name: str, **meta: Any) -> Object:
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
        return {"metadata": {"name": name, **meta}, "spec": spec}

    def test_added(self) -> None:
        """Claims and volumes get their finalizer behind others, once."""
        self.assertEqual(self.finalizers(CLAIMS, self.claim("a")), ["orch.io/pvc-protection"])
        self.assertEqual(self.finalizers(VOLUMES, self.volume("a")), ["orch.io/pv-protection"])
        given = ["ex.io/a", "orch.io/pv-protection"]
        self.assertEqual(self.finalizers(VOLUMES, self.volume("b", finalizers=given)), given)
        self.assertEqual(
            self.finalizers(VOLUMES, self.volume("c", finalizers=["ex.io/a"])), ["ex.io/a", "orch.io/pv-protection"]
        )

    def test_update(self) -> None:
        """A removed finalizer stays removed."""
        self.done("POST", CLAIMS, self.claim("a"))
        patched = self.done("PATCH", f"{CLAIMS}/a", {"metadata": {"finalizers": None}}, MERGE)
        self.assertNotIn("finalizers", patched["metadata"])
