"""Persistent volumes and claims (reference KIND-34)."""
# covers: orchtw.registry.groups.core.claim_validation
# covers: orchtw.registry.groups.core.volumes

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.registry.unchecked import without_rules
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Changes, Refused, Shown, Stored
from tests.validation.paths import changed

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "v"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "nfs": {"server": "a", "path": "/a"},
    },
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
SNAPSHOT = {"apiGroup": "snapshot.storage.orch.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER_SOURCE = {"apiGroup": "example.com", "kind": "Image", "name": "i"}
OTHER_AFFINITY: Any = {"required": {"nodeSelectorTerms": [{"matchExpressions": []}]}}
AFFINITY = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
CHANGES: tuple[Changes, ...] = (
    {"spec.accessModes": ["ReadOnlyMany"]},
    {"spec.storageClassName": "a"},
    {"spec.resources.requests.storage": "2Gi"},
    {"spec.resources.limits": {"storage": "2Gi"}},
    {"spec.selector": {}},
    {"spec.dataSource": SNAPSHOT},
)
"""What the spec of a claim that is not bound does not take."""
CLASS = "metadata.annotations[volume.beta.orch.io/storage-class]"
CLASS_FIELD = "metadata.annotations.volume.beta.orch.io/storage-class"
def source(name: str, **fields: Any) -> dict[str, Any]:
    return {"spec.nfs": GONE, f"spec.{name}": fields}


def lacking(name: str, field: str, **fields: Any) -> Refused:
    """A source of all these fields, and without one of them."""
    rest = {key: value for key, value in fields.items() if key != field}
    return Refused(change=source(name, **rest), accepts=source(name, **fields), field=f"spec.{name}.{field}")


def wrong(name: str, field: str, value: Any, **fields: Any) -> Refused:
    """A source with these fields, and with another value for one of them."""
    changed = {**fields, field: value}
    return Refused(change=source(name, **changed), accepts=source(name, **fields), field=f"spec.{name}.{field}")


def secret(name: str, reference: str, part: str, **fields: Any) -> Refused:
    """A source whose Secret has no name, or no namespace."""
    full = {"name": "a", "namespace": "b"}
    return Refused(
        change=source(name, **{**fields, reference: {**full, part: ""}}),
        accepts=source(name, **{**fields, reference: full}),
        field=f"spec.{name}.{reference}.{part}",
    )


def test(name: str) -> Shown:
    return Shown(f"{__name__}.StorageTests.{name}")


ISCSI = {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a", "lun": 0}
CINDER = {"volumeID": "a"}
SCALE_IO = {"gateway": "a", "system": "b", "volumeName": "c", "secretRef": {"name": "d"}}
STORAGE_OS = {"volumeName": "a"}
CSI = {"driver": "a.B", "volumeHandle": "b"}
AZURE_FILE = {"secretName": "a", "shareName": "b"}


class StorageTests(case.EntryCase):
    file = "storage.json"
    beyond = (68, 69, 106, 107, 108)  # what admission adds to volumes and claims, or refuses
    bases = {
        "PersistentVolume": Base(path=VOLUMES, obj=VOLUME),
        "PersistentVolumeClaim": Base(path=CLAIMS, obj=CLAIM),
    }
    examples = {
        0: Refused(change={"spec.accessModes": []}),
        1: Refused(
            change={"spec.accessModes": ["Other"]},
            accepts={"spec.accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]},
        ),
        2: test("test_one_pod_only"),
        3: test("test_one_pod_only"),
        4: Refused(change={"spec.capacity": GONE}),
        5: [
            Refused(change={"spec.capacity": capacity}, field="spec.capacity")
            for capacity in ({"cpu": "1"}, {"storage": "1", "cpu": "1"})
        ],
        6: Refused(change={"spec.capacity.storage": "-1"}),
        7: [Refused(change={"spec.capacity.storage": value}) for value in ("0", "-1")],
        8: Refused(
            change={"spec.persistentVolumeReclaimPolicy": "Other"},
            accepts={"spec.persistentVolumeReclaimPolicy": "Recycle"},
        ),
        9: [
            Refused(
                change={**source("hostPath", path=path), "spec.persistentVolumeReclaimPolicy": "Recycle"},
                accepts={**source("hostPath", path="/a"), "spec.persistentVolumeReclaimPolicy": "Recycle"},
            )
            for path in ("/", "//.", "/./")
        ],
        10: Refused(change={"spec.nodeAffinity": {}}, accepts={"spec.nodeAffinity": AFFINITY}),
        11: Refused(
            change={
                "spec.nodeAffinity.required.nodeSelectorTerms": [{"matchFields": [{"key": "a", "operator": "In"}]}]
            },
            field="spec.nodeAffinity.required.nodeSelectorTerms[0].matchFields[0].key",
        ),
        12: Refused(
            change=source("local", path="/a"), accepts={**source("local", path="/a"), "spec.nodeAffinity": AFFINITY}
        ),
        13: Refused(change={"spec.storageClassName": "A b"}, accepts={"spec.storageClassName": "a.b"}),
        14: Refused(change={"spec.volumeMode": "Other"}, accepts={"spec.volumeMode": "Block"}),
        15: Refused(change={"spec.nfs": GONE}),
        16: [
            Refused(change={"spec.hostPath": {"path": "/a"}}, field="spec.nfs"),
            Refused(change={"spec.csi": CSI}, field="spec.csi"),
            Accepted(change={"spec.flexVolume": {"driver": "a"}}),
        ],
        17: [
            Refused(change=source("hostPath", path="/a/.."), field="spec.hostPath.path", detail="must not contain"),
            Refused(
                change=source("gcePersistentDisk", pdName="a", partition=256),
                field="spec.persistentDisk.partition",
                detail="must be between 1 and 255",
            ),
            Refused(change=source("flocker", datasetName="a/b"), field="spec.flocker.datasetName", detail="'/'"),
            Refused(change={"spec.nfs.path": "a"}, field="spec.nfs.path", detail="must be an absolute path"),
            Refused(
                change=source("quobyte", registry="a", volume="b"), field="spec.quobyte.registry", detail="host:port"
            ),
            Refused(change=source("fc", targetWWNs=["a"], lun=256), field="spec.fc.lun", detail="between 0 and 255"),
            *(
                Accepted(change=source(name, **fields))
                for name, fields in {
                    "awsElasticBlockStore": {"volumeID": "a"},
                    "vsphereVolume": {"volumePath": "a"},
                    "photonPersistentDisk": {"pdID": "a"},
                    "portworxVolume": {"volumeID": "a"},
                    "azureDisk": {"diskName": "a", "diskURI": "https://a.blob.core.windows.net/b/c.vhd"},
                }.items()
            ),
        ],
        18: lacking("glusterfs", "endpoints", endpoints="a", path="b"),
        19: lacking("glusterfs", "path", endpoints="a", path="b"),
        20: [
            wrong("glusterfs", "endpointsNamespace", "", endpoints="a", path="b", endpointsNamespace="c"),
            Refused(
                change=source("glusterfs", endpoints="a", path="b", endpointsNamespace="a.b"),
                field="spec.glusterfs.endpointsNamespace",
                detail="a lowercase RFC 1123 label",
            ),
        ],
        21: lacking("rbd", "monitors", monitors=["a"], image="b"),
        22: lacking("rbd", "image", monitors=["a"], image="b"),
        23: lacking("cephfs", "monitors", monitors=["a"]),
        24: [
            wrong("iscsi", "lun", 256, **ISCSI),
            Refused(change=source("iscsi", **{**ISCSI, "iqn": "a"}), field="spec.iscsi.iqn", detail="valid format"),
        ],
        25: Refused(
            change=source(
                "iscsi", **{**ISCSI, "targetPortal": "a" * 64, "initiatorName": "iqn.2001-04.com.example:a"}
            ),
            accepts=source("iscsi", **{**ISCSI, "targetPortal": "a" * 64}),
        ),
        26: secret("iscsi", "secretRef", "name", **ISCSI),
        27: lacking("cinder", "volumeID", **CINDER),
        28: secret("cinder", "secretRef", "name", **CINDER),
        29: secret("cinder", "secretRef", "namespace", **CINDER),
        30: lacking("flexVolume", "driver", driver="a"),
        31: Refused(
            change=source("flexVolume", driver="a", options={"orch.io/a": "b"}),
            accepts=source("flexVolume", driver="a", options={"example.com/a": "b"}),
            field="spec.flexVolume.options",
        ),
        32: lacking("azureFile", "secretName", **AZURE_FILE),
        33: lacking("azureFile", "shareName", **AZURE_FILE),
        34: wrong("azureFile", "secretNamespace", "", **AZURE_FILE, secretNamespace="c"),
        35: lacking("scaleIO", "gateway", **SCALE_IO),
        36: lacking("scaleIO", "system", **SCALE_IO),
        37: lacking("scaleIO", "volumeName", **SCALE_IO),
        38: Refused(change={**source("local", path=""), "spec.nodeAffinity": AFFINITY}, field="spec.local.path"),
        39: Refused(
            change={**source("local", path="/a/../b"), "spec.nodeAffinity": AFFINITY}, field="spec.local.path"
        ),
        40: lacking("storageos", "volumeName", **STORAGE_OS),
        41: wrong("storageos", "volumeName", "a.b", **STORAGE_OS),
        42: wrong("storageos", "volumeNamespace", "a.b", **STORAGE_OS, volumeNamespace="a"),
        43: secret("storageos", "secretRef", "name", **STORAGE_OS),
        44: secret("storageos", "secretRef", "namespace", **STORAGE_OS),
        45: wrong("csi", "driver", "a b", **CSI),
        46: lacking("csi", "volumeHandle", **CSI),
        47: secret("csi", "controllerPublishSecretRef", "name", **CSI),
        48: Refused(change=source("csi", **CSI, controllerPublishSecretRef={"name": "a.b", "namespace": "c"})),
        49: [secret("csi", "controllerPublishSecretRef", "namespace", **CSI), test("test_form_of_secret_namespaces")],
        50: secret("csi", "controllerExpandSecretRef", "name", **CSI),
        51: secret("csi", "controllerExpandSecretRef", "namespace", **CSI),
        52: secret("csi", "nodePublishSecretRef", "name", **CSI),
        53: secret("csi", "nodePublishSecretRef", "namespace", **CSI),
        54: Accepted(change=source("csi", **CSI, nodeStageSecretRef={})),
        55: Accepted(change={"spec.claimRef": {"name": "a b"}}),
        56: Accepted(change={"spec.mountOptions": ["any $ text"]}),
        57: Refused(
            change={
                **source("hostPath", path="/a"),
                "metadata.annotations": {"volume.beta.orch.io/mount-options": "a"},
            },
            accepts={"metadata.annotations": {"volume.beta.orch.io/mount-options": "a"}},
            field="metadata.annotations.volume.beta.orch.io/mount-options",
        ),
        58: [
            Refused(change={"spec.nfs.server": "b"}),
            Refused(change=source("hostPath", path="/a")),
            Refused(
                before=source("csi", **CSI),
                change={"spec.csi.controllerPublishSecretRef": {"name": "a", "namespace": "b"}},
                accepts={"spec.csi.controllerExpandSecretRef": {"name": "a", "namespace": "b"}},
            ),
            Refused(
                before=source("csi", **CSI, controllerExpandSecretRef={"name": "a", "namespace": "b"}),
                change={"spec.csi.controllerExpandSecretRef": GONE},
            ),
        ],
        59: Refused(change={"spec.volumeMode": "Block"}),
        60: [
            Refused(before={"spec.nodeAffinity": AFFINITY}, change={"spec.nodeAffinity": value})
            for value in (GONE, OTHER_AFFINITY)
        ]
        + [Accepted(change={"spec.nodeAffinity": AFFINITY})],
        61: Accepted(
            change={
                "spec.capacity.storage": "1Mi",
                "spec.accessModes": ["ReadOnlyMany"],
                "spec.persistentVolumeReclaimPolicy": "Delete",
                "spec.storageClassName": "a",
                "spec.claimRef": {"name": "a"},
                "spec.mountOptions": ["a"],
            }
        ),
        62: test("test_status_without_version"),
        63: Accepted(change={"status": {"phase": "Other", "reason": "any $ text"}}),
        64: Stored(change={"status": {"phase": "Bound", "message": "a"}}, expected={"status": {"phase": "Pending"}}),
        65: Stored(change={"status": {"phase": "Bound"}}, expected={"status": {"phase": "Pending"}}),
        66: Stored(change={"spec.storageClassName": "a"}, expected={"spec.storageClassName": GONE}),
        67: Stored(expected={"metadata.generation": GONE}),
        70: test("test_no_warnings"),
        71: Refused(change={"spec.accessModes": []}),
        72: Refused(
            change={"spec.accessModes": ["Other"]},
            accepts={"spec.accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]},
        ),
        73: test("test_one_pod_only"),
        74: test("test_one_pod_only"),
        75: Refused(
            change={"spec.selector": {"matchExpressions": [{"key": "a", "operator": "Other"}]}},
            accepts={"spec.selector": {"matchLabels": {"a": "b"}}},
            field="spec.selector.matchExpressions[0].operator",
        ),
        76: Refused(change={"spec.resources.requests": {"cpu": "1"}}),
        77: [Refused(change={"spec.resources.requests.storage": value}) for value in ("0", "-1")],
        78: Refused(change={"spec.storageClassName": "A b"}, accepts={"spec.storageClassName": ""}),
        79: Refused(change={"spec.volumeMode": "Other"}, accepts={"spec.volumeMode": "Block"}),
        80: Refused(
            change={"spec.dataSource": {**SNAPSHOT, "name": ""}},
            accepts={"spec.dataSource": SNAPSHOT},
            field="spec.dataSource.name",
        ),
        81: Refused(
            change={"spec.dataSourceRef": {"apiGroup": "example.com", "name": "a"}}, field="spec.dataSource.kind"
        ),
        82: Refused(change={"spec.dataSourceRef": {"kind": "Pod", "name": "a"}}, field="spec.dataSource"),
        83: [
            Stored(
                change={"spec.dataSource": OTHER_SOURCE},
                expected={"spec.dataSource": GONE, "spec.dataSourceRef": GONE},
            ),
            Stored(change={"spec.dataSource": {"kind": "Pod", "name": "a"}}, expected={"spec.dataSource": GONE}),
            Stored(
                change={"spec.dataSource": OTHER_SOURCE, "spec.dataSourceRef": OTHER_SOURCE},
                expected={"spec.dataSource": OTHER_SOURCE, "spec.dataSourceRef": OTHER_SOURCE},
            ),
        ],
        84: Refused(change={"spec.dataSourceRef": {**SNAPSHOT, "name": ""}}),
        85: Refused(change={"spec.dataSourceRef": {**SNAPSHOT, "kind": ""}}),
        86: Refused(
            change={"spec.dataSourceRef": {"kind": "Pod", "name": "a"}},
            accepts={"spec.dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a"}},
        ),
        87: Refused(
            change={"spec.dataSource": SNAPSHOT, "spec.dataSourceRef": {**SNAPSHOT, "name": "other"}},
            accepts={"spec.dataSource": SNAPSHOT, "spec.dataSourceRef": SNAPSHOT},
        ),
        88: [
            Accepted(change={"spec.volumeName": "a"}),
            test("test_volume_is_named_once"),
        ],
        89: test("test_size"),
        90: Refused(change={"spec.resources.requests.storage": "1Mi"}, field="spec.resources.requests.storage"),
        91: test("test_no_way_back"),
        92: test("test_class_moves_from_the_annotation"),
        93: [
            Refused(change=change)
            for change in CHANGES
        ],
        94: [
            Refused(change={CLASS: "a"}, field=CLASS_FIELD),
            Refused(before={CLASS: "a"}, change={CLASS: GONE}, field=CLASS_FIELD),
        ],
        95: Refused(change={"spec.volumeMode": "Block"}),
        96: test("test_status_without_version"),
        97: test("test_status_of_claim_from_before"),
        98: Refused(change={"status.capacity": {"storage": "-1"}}, accepts={"status.capacity": {"storage": "1"}}),
        99: Stored(on="status", change={"status.resizeStatus": "Other"}, expected={"status.resizeStatus": GONE}),
        100: Stored(
            on="status",
            change={"status.allocatedResources": {"cpu": "-1"}},
            expected={"status.allocatedResources": GONE},
        ),
        101: Stored(change={"status": {"phase": "Bound"}}, expected={"status": {"phase": "Pending"}}),
        102: Stored(change={"status": {"phase": "Bound"}}, expected={"status": {"phase": "Pending"}}),
        103: Stored(change={"spec.volumeName": "a"}, expected={"spec.volumeName": GONE}),
        104: [
            Stored(change={"spec.dataSource": SNAPSHOT}, expected={"spec.dataSourceRef": SNAPSHOT}),
            Stored(change={"spec.dataSourceRef": OTHER_SOURCE}, expected={"spec.dataSource": OTHER_SOURCE}),
            Stored(
                on="update",
                before={"spec.dataSourceRef": OTHER_SOURCE},
                change={"spec.dataSourceRef": GONE},
                expected={"spec.dataSource": OTHER_SOURCE, "spec.dataSourceRef": OTHER_SOURCE},
            ),
        ],
        105: Stored(expected={"metadata.generation": GONE}),
        109: test("test_no_warnings"),
    }

    def fields(self, method: str, path: str, obj: Object) -> list[tuple[str, str]]:
        """Field and reason of each cause of a refusal."""
        answer = self.send(method, path, obj)
        self.assertEqual(answer.code, 422, answer.body)
        return [(cause["field"], cause["reason"]) for cause in answer.json["details"]["causes"]]

    def test_one_pod_only(self) -> None:
        """ReadWriteOncePod is behind a gate that is off: it is not known, alone or with others."""
        for path, obj in ((VOLUMES, VOLUME), (CLAIMS, CLAIM)):
            for modes in (["ReadWriteOncePod"], ["ReadWriteOnce", "ReadWriteOncePod"]):
                found = self.fields("POST", path, changed(obj, {"spec.accessModes": modes}))
                self.assertEqual(found, [("spec.accessModes", "FieldValueNotSupported")])

    def test_form_of_secret_namespaces(self) -> None:
        """The namespaces of Secrets are told of beside the references."""
        for reference in ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef"):
            csi = {**CSI, reference: {"name": "a", "namespace": "b.c"}}
            found = self.fields("POST", VOLUMES, changed(VOLUME, {"spec.nfs": GONE, "spec.csi": csi}))
            self.assertEqual(found, [("spec.csi.namespace", "FieldValueInvalid")])

    def test_status_without_version(self) -> None:
        """A write to /status that names no version is given the live one before the rule is asked: it is fine."""
        for path, obj in ((VOLUMES, VOLUME), (CLAIMS, CLAIM)):
            made = self.done("POST", path, obj)
            made = changed(made, {"metadata.resourceVersion": GONE, "status.phase": "Bound"})
            name = made["metadata"]["name"]
            self.assertEqual(self.done("PUT", f"{path}/{name}/status", made)["status"]["phase"], "Bound")

    def test_status_of_claim_from_before(self) -> None:
        """A claim that never said how it can be mounted has no status to be written."""
        with without_rules():
            made = self.done("POST", CLAIMS, changed(CLAIM, {"spec.accessModes": GONE}))
        found = self.fields("PUT", f"{CLAIMS}/c/status", changed(made, {"status.phase": "Bound"}))
        self.assertEqual(found, [("Spec.accessModes", "FieldValueRequired")])

    def test_no_warnings(self) -> None:
        """Warnings of later releases are not given."""
        for path, obj in (
            (VOLUMES, changed(VOLUME, {CLASS: "a", "spec.persistentVolumeReclaimPolicy": "Recycle"})),
            (CLAIMS, changed(CLAIM, {CLASS: "a", "spec.resources.requests.storage": "500m"})),
        ):
            answer = self.send("POST", path, obj)
            self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))

    def test_volume_is_named_once(self) -> None:
        """The volume of a claim does not change any more."""
        made = self.done("POST", CLAIMS, changed(CLAIM, {"spec.volumeName": "a"}))
        for value in ("b", GONE):
            found = self.fields("PUT", f"{CLAIMS}/c", changed(made, {"spec.volumeName": value}))
            self.assertEqual(found, [("spec", "FieldValueForbidden")])

    def bound(self, storage_class: str = "") -> Object:
        spec = {"spec.volumeName": "a", "spec.storageClassName": storage_class}
        made = self.done("POST", CLAIMS, changed(CLAIM, spec))
        status = {"phase": "Bound", "capacity": {"storage": "500Mi"}}
        return self.done("PUT", f"{CLAIMS}/c/status", {**made, "status": status})

    def test_size(self) -> None:
        """A bound claim may ask for more, and for nothing else."""
        grows = {"metadata": {"name": "grows"}, "provisioner": "ex.io/a", "allowVolumeExpansion": True}
        self.done("POST", "/apis/storage.orch.io/v1/storageclasses", grows)
        made = changed(self.bound("grows"), {"spec.resources.requests.storage": "2Gi"})
        made = self.done("PUT", f"{CLAIMS}/c", made)
        found = self.fields("PUT", f"{CLAIMS}/c", changed(made, {"spec.resources.requests.cpu": "1"}))
        self.assertEqual(found, [("spec", "FieldValueForbidden")])

    def test_no_way_back(self) -> None:
        """The way back to what the volume has is behind a gate that is off."""
        made = changed(self.bound(), {"spec.resources.requests.storage": "600Mi"})
        found = self.fields("PUT", f"{CLAIMS}/c", made)
        self.assertEqual(found, [("spec.resources.requests.storage", "FieldValueForbidden")])

    def test_class_moves_from_the_annotation(self) -> None:
        """The class of the annotation may be written into its field, with the annotation or without."""
        for name, change in (("c", {}), ("d", {CLASS: GONE})):
            path = f"{CLAIMS}/{name}"
            made = self.done("POST", CLAIMS, changed(CLAIM, {"metadata.name": name, CLASS: "a"}))
            found = self.fields("PUT", path, changed(made, {"spec.storageClassName": "b"}))
            self.assertEqual(found, [("spec", "FieldValueForbidden")])
            self.done("PUT", path, changed(made, {"spec.storageClassName": "a", **change}))
