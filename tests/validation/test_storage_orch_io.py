"""Classes of storage, drivers and attachments (reference KIND-34)."""
# covers: orchtw.registry.groups.storage.attachments, orchtw.registry.groups.storage.drivers

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.registry.groups.storage.attachments import validate_attachment_status
from orchtw.registry.groups.storage.classes import validate_storage_class
from orchtw.registry.groups.storage.drivers import validate_driver
from orchtw.values.causes import required, too_long
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

V1 = "storage.orch.io/v1"
ALL = f"/apis/{V1}"
CAPACITIES = f"{ALL}/namespaces/default/csistoragecapacities"
ZONE = {"key": "zone", "values": ["a", "b"]}
CLASS = {
    "apiVersion": V1,
    "kind": "StorageClass",
    "metadata": {"name": "a"},
    "provisioner": "ex.io/Disk",
    "parameters": {"type": "ssd"},
}
ATTACHMENT = {
    "apiVersion": V1,
    "kind": "VolumeAttachment",
    "metadata": {"name": "a"},
    "spec": {"attacher": "Ex.io", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
}
DRIVER = {"apiVersion": V1, "kind": "CSIDriver", "metadata": {"name": "a"}, "spec": {}}
NODE = {
    "apiVersion": V1,
    "kind": "CSINode",
    "metadata": {"name": "a"},
    "spec": {"drivers": [{"name": "Ex.io", "nodeID": "n", "topologyKeys": ["zone"]}]},
}
CAPACITY = {
    "apiVersion": V1,
    "kind": "CSIStorageCapacity",
    "metadata": {"name": "a"},
    "storageClassName": "c",
    "capacity": "1Gi",
}
SPEC = "spec.source.inlineVolumeSpec"
INLINE = {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}
TERM = "allowedTopologies[0].matchLabelExpressions"


def inline(**more: object) -> dict[str, object]:
    return {"spec.source": {"inlineVolumeSpec": {**INLINE, **more}}}


class StorageTests(case.EntryCase):
    file = "storage.orch.io.json"
    bases = {
        "StorageClass": Base(path=f"{ALL}/storageclasses", obj=CLASS),
        "VolumeAttachment": Base(path=f"{ALL}/volumeattachments", obj=ATTACHMENT),
        "CSIDriver": Base(path=f"{ALL}/csidrivers", obj=DRIVER),
        "CSINode": Base(path=f"{ALL}/csinodes", obj=NODE),
        "CSIStorageCapacity": Base(path=CAPACITIES, obj=CAPACITY),
    }
    examples = {
        0: Refused(change={"provisioner": ""}),
        1: Refused(change={"provisioner": "a/b/c"}),
        2: Refused(
            change={"parameters": {str(number): "" for number in range(513)}},
            accepts={"parameters": {str(number): "" for number in range(512)}},
            detail="must have at most 512 bytes",
        ),
        3: Refused(change={"parameters": {"": "a"}}),
        4: Shown(f"{__name__}.StorageTests.test_sizes"),
        5: Refused(
            change={"reclaimPolicy": "Recycle"},
            accepts={"reclaimPolicy": "Retain"},
            detail='supported values: "Delete", "Retain"',
        ),
        6: (
            Shown(f"{__name__}.StorageTests.test_required_but_defaulted"),
            Stored(expected={"volumeBindingMode": "Immediate"}),
        ),
        7: Refused(
            change={"volumeBindingMode": "Late"},
            accepts={"volumeBindingMode": "WaitForFirstConsumer"},
            detail='supported values: "Immediate", "WaitForFirstConsumer"',
        ),
        8: Refused(change={f"{TERM}": [{"key": "a", "values": []}]}, accepts={f"{TERM}": [ZONE]}),
        9: Refused(change={f"{TERM}": [{"key": "a", "values": ["b", "b"]}]}),
        10: Refused(change={f"{TERM}": [{"key": "a b", "values": ["b"]}]}),
        11: Refused(change={f"{TERM}": [ZONE, ZONE]}),
        12: Refused(
            change={
                "allowedTopologies": [
                    {"matchLabelExpressions": [ZONE]},
                    {"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]},
                ]
            },
            accepts={
                "allowedTopologies": [
                    {"matchLabelExpressions": [ZONE]},
                    {"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]},
                ]
            },
            field="allowedTopologies[1].matchLabelExpressions",
        ),
        13: Accepted(change={"mountOptions": ["", "any thing"]}),
        14: (Refused(change={"parameters": {"type": "hdd"}}), Refused(change={"parameters": GONE})),
        15: Refused(change={"provisioner": "ex.io/other"}),
        16: Refused(change={"reclaimPolicy": "Retain"}),
        17: Refused(change={"volumeBindingMode": "WaitForFirstConsumer"}),
        18: Accepted(
            change={
                "allowVolumeExpansion": True,
                "mountOptions": ["ro"],
                "allowedTopologies": [{"matchLabelExpressions": [ZONE]}],
            }
        ),
        19: Stored(expected={"metadata.generation": GONE}),
        20: Shown(f"{__name__}.StorageTests.test_deprecated_labels"),
        21: Refused(change={"spec.attacher": ""}),
        22: (
            Refused(change={"spec.attacher": "a_b"}),
            Shown(f"{__name__}.StorageTests.test_long_attacher"),
        ),
        23: Refused(change={"spec.source": {}}),
        24: Refused(change={f"{SPEC}": INLINE}),
        25: Refused(change={"spec.source.persistentVolumeName": ""}),
        26: Refused(change={"spec.source.persistentVolumeName": "A"}),
        27: Refused(change=inline(csi=None), accepts=inline()),
        28: (
            Refused(change=inline(claimRef={"name": "c"}), field=f"{SPEC}.claimRef"),
            Refused(change=inline(capacity={"storage": "1"}), field=f"{SPEC}.capacity"),
            Refused(change=inline(nodeAffinity={}), field=f"{SPEC}.nodeAffinity", accepts=inline(nodeAffinity=None)),
            Refused(change=inline(storageClassName="c"), field=f"{SPEC}.storageClassName"),
        ),
        29: Refused(
            change=inline(persistentVolumeReclaimPolicy="Delete"),
            accepts=inline(persistentVolumeReclaimPolicy="Retain"),
        ),
        30: Refused(change=inline(volumeMode="Block"), accepts=inline(volumeMode="Filesystem")),
        31: Refused(change=inline(accessModes=[])),
        32: (Refused(change={"spec.nodeName": ""}), Refused(change={"spec.nodeName": "A"})),
        33: Shown(f"{__name__}.StorageTests.test_sizes"),
        34: (
            Refused(
                on="status",
                change={"status": {"attached": False, "attachError": {"message": "b" * 1025}}},
                accepts={"status": {"attached": False, "attachError": {"message": "b" * 1024}}},
                field="status.attachError.message",
                detail="must have at most 262144 bytes",
            ),
            Refused(
                on="status",
                change={"status": {"attached": False, "detachError": {"message": "b" * 1025}}},
                field="status.detachError.message",
            ),
        ),
        35: (Refused(change={"spec.nodeName": "m"}), Refused(change={"spec.source.persistentVolumeName": "w"})),
        36: Stored(change={"status": {"attached": True}}, expected={"status": {"attached": False}}),
        37: Stored(change={"status": {"attached": True}}, expected={"status": {"attached": False}}),
        38: Stored(
            change={"spec.nodeName": "m", "metadata.labels": {"a": "b"}, "status": {"attached": True}},
            expected={"spec.nodeName": "n", "metadata.labels": GONE, "status": {"attached": True}},
        ),
        39: Stored(expected={"metadata.generation": GONE}),
        40: (
            Refused(change={"metadata.name": "a_b"}),
            Refused(change={"metadata.name": "a" * 64}, accepts={"metadata.name": "a" * 63}),
        ),
        41: (
            Shown(f"{__name__}.StorageTests.test_required_but_defaulted"),
            Stored(expected={"spec.attachRequired": True}),
        ),
        42: Stored(expected={"spec.podInfoOnMount": False}),
        43: Stored(expected={"spec.storageCapacity": False}),
        44: Refused(
            change={"spec.fsGroupPolicy": "Maybe"},
            accepts={"spec.fsGroupPolicy": "File"},
            detail='supported values: "File", "None", "ReadWriteOnceWithFSType"',
        ),
        45: (
            Refused(change={"spec.tokenRequests": [{"audience": "a"}, {"audience": "a"}]}),
            Refused(
                change={"spec.tokenRequests": [{"audience": ""}, {"audience": ""}]},
                accepts={"spec.tokenRequests": [{"audience": ""}, {"audience": "a"}]},
            ),
        ),
        46: (
            Refused(
                change={"spec.tokenRequests": [{"audience": "", "expirationSeconds": 599}]},
                accepts={"spec.tokenRequests": [{"audience": "", "expirationSeconds": 600}]},
                detail="less than 10 minutes",
            ),
            Refused(
                change={"spec.tokenRequests": [{"audience": "", "expirationSeconds": (1 << 32) + 1}]},
                accepts={"spec.tokenRequests": [{"audience": "", "expirationSeconds": 1 << 32}]},
                detail=r"larger than 2\^32 seconds",
            ),
        ),
        47: Refused(
            change={"spec.volumeLifecycleModes": ["Persistent", "Brief"]},
            accepts={"spec.volumeLifecycleModes": ["Ephemeral", "Persistent"]},
            detail='supported values: "Ephemeral", "Persistent"',
        ),
        48: Refused(change={"spec.attachRequired": False}),
        49: Refused(change={"spec.fsGroupPolicy": "File"}),
        50: Refused(change={"spec.volumeLifecycleModes": ["Ephemeral"]}),
        51: Refused(change={"spec.podInfoOnMount": True}),
        52: Accepted(change={"spec.storageCapacity": True}),
        53: Accepted(change={"spec.tokenRequests": [{"audience": "a"}], "spec.requiresRepublish": True}),
        54: Stored(change={"metadata.generation": 3}, expected={"metadata.generation": GONE}),
        55: (
            Stored(change={"spec.storageCapacity": True}, expected={"metadata.generation": 1}),
            Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": GONE}),
            Shown(f"{__name__}.StorageTests.test_generation_counts"),
        ),
        56: Refused(change={"metadata.name": "a_b"}, accepts={"metadata.name": "a.b"}),
        57: (
            Refused(change={"spec.drivers[0].name": "a_b"}),
            Shown(f"{__name__}.StorageTests.test_driver_names"),
        ),
        58: Refused(change={"spec.drivers[1]": {"name": "Ex.io", "nodeID": "m"}}),
        59: Refused(change={"spec.drivers[0].nodeID": ""}),
        60: Refused(change={"spec.drivers[0].nodeID": "n" * 193}, accepts={"spec.drivers[0].nodeID": "n" * 192}),
        61: Refused(
            change={"spec.drivers[0].allocatable.count": -1},
            accepts={"spec.drivers[0].allocatable.count": 0},
            detail="must be greater than or equal to 0",
        ),
        62: Refused(change={"spec.drivers[0].topologyKeys": [""]}, field="spec.drivers[0]"),
        63: Refused(change={"spec.drivers[0].topologyKeys": ["a", "a"]}, field="spec.drivers[0]"),
        64: Refused(change={"spec.drivers[0].topologyKeys": ["a b"]}, field="spec.drivers[0]"),
        65: (
            Refused(change={"spec.drivers[0].nodeID": "m"}),
            Accepted(change={"spec.drivers": [{"name": "Ex2.io", "nodeID": "m"}]}),
            Accepted(change={"spec.drivers[1]": {"name": "Ex2.io", "nodeID": "m"}}),
        ),
        66: Stored(expected={"metadata.generation": GONE}),
        68: Refused(
            change={"nodeTopology": {"matchLabels": {"a": "b c"}}},
            accepts={"nodeTopology": {"matchLabels": {"a": "b"}}},
            field="nodeTopology.matchLabels",
        ),
        69: (Refused(change={"storageClassName": ""}), Refused(change={"storageClassName": "A"})),
        70: Refused(change={"capacity": "-1Gi"}, accepts={"capacity": "0"}),
        71: Accepted(change={"maximumVolumeSize": "-1"}),
        72: (
            Refused(change={"nodeTopology": {}}),
            Refused(before={"nodeTopology": {}}, change={"nodeTopology": {"matchLabels": {"a": "b"}}}),
        ),
        73: Refused(change={"storageClassName": "d"}),
        74: Accepted(change={"capacity": "2Gi", "maximumVolumeSize": "1Gi"}),
        75: Stored(expected={"metadata.generation": GONE}),
    }
    beyond = (67,)  # what nodes may write

    def test_required_but_defaulted(self) -> None:
        """Fields with defaults are required of objects that come without them."""
        causes = validate_driver({"spec": {}}, None, Naming.orch())
        self.assertEqual(causes, [required("spec.attachedRequired")])

    def test_sizes(self) -> None:
        """Parameters and metadata of attachments have at most 256 KiB."""
        for size, wrong in ((262143, False), (262144, True)):
            texts = {"a": "b" * size}
            storage_class = {"provisioner": "a", "parameters": texts}
            expected = [too_long("parameters", 262144)] if wrong else []
            self.assertEqual(validate_storage_class(storage_class, None, Naming.orch()), expected)
            attachment = {"status": {"attachmentMetadata": texts}}
            expected = [too_long("status.attachmentMetadata", 262144)] if wrong else []
            self.assertEqual(validate_attachment_status(attachment, attachment, Naming.orch()), expected)

    def test_deprecated_labels(self) -> None:
        """Labels of nodes that are deprecated are not warned of."""
        terms = [{"matchLabelExpressions": [{"key": "failure-domain.beta.orch.io/zone", "values": ["a"]}]}]
        answer = self.send("POST", f"{ALL}/storageclasses", {**CLASS, "allowedTopologies": terms})
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))

    def test_long_attacher(self) -> None:
        """The name of a driver has at most 63 bytes."""
        spec = {**ATTACHMENT["spec"], "attacher": "a" * 64}  # type: ignore[dict-item]
        answer = self.send("POST", f"{ALL}/volumeattachments", {**ATTACHMENT, "spec": spec})
        self.assertEqual([cause["reason"] for cause in answer.json["details"]["causes"]], ["FieldValueTooLong"])

    def test_driver_names(self) -> None:
        """They are required, and have at most 63 bytes."""
        for name, reason in (("", "FieldValueRequired"), ("a" * 64, "FieldValueTooLong")):
            spec = {"drivers": [{"name": name, "nodeID": "n"}]}
            answer = self.send("POST", f"{ALL}/csinodes", {**NODE, "spec": spec})
            (cause,) = answer.json["details"]["causes"]
            self.assertEqual((cause["field"], cause["reason"]), ("spec.drivers[0].name", reason))

    def test_generation_counts(self) -> None:
        """The generation rises with each change that counts."""
        made = self.done("POST", f"{ALL}/csidrivers", DRIVER)
        for number, value in enumerate((True, False, True), 1):
            made["spec"]["requiresRepublish"] = value
            made = self.done("PUT", f"{ALL}/csidrivers/a", made)
            self.assertEqual(made["metadata"]["generation"], number)
