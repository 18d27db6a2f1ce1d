"""Examples of the rules of volumes, by the numbers of the entries in `pod.json`."""

from __future__ import annotations

from typing import Any

from tests.validation.case import Examples
from tests.validation.examples import Accepted, Changes, Refused, Stored

AT = "spec.volumes[0]"
MODE = "must be a number between 0 and 0777"
BACKSTEPS = "must not contain '..'"
DISK = {"diskName": "d", "diskURI": "https://a.blob"}
ISCSI = {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0}
QUOBYTE = {"registry": "a:1,[::1]:2", "volume": "v"}
RBD = {"monitors": ["a"], "image": "i"}
SCALE_IO = {"gateway": "g", "system": "s", "volumeName": "v", "secretRef": {"name": "s"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
FIELD = {"fieldPath": "metadata.name"}
RESOURCE = {"containerName": "c", "resource": "limits.cpu"}


def volume(source: str, value: Any = None, name: str = "v") -> Changes:
    """The first volume has this source."""
    return {AT: {"name": name, source: {} if value is None else value}}


def refused(source: str, wrong: Any, right: Any, **more: Any) -> Refused:
    """`right` is a source, `wrong` none."""
    return Refused(change=volume(source, wrong), accepts=volume(source, right), **more)


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    """`value` without a key."""
    return {name: each for name, each in value.items() if name != key}


def lacking(source: str, right: dict[str, Any], key: str, **more: Any) -> Refused:
    """`right` is a source, but not without `key`."""
    return refused(source, without(right, key), right, **more)


def files(*items: dict[str, Any]) -> dict[str, Any]:
    """A source with these items."""
    return {"items": list(items)}


def shown(source: str, wrong: dict[str, Any], right: dict[str, Any], **more: Any) -> Refused:
    """Items of a downward API volume."""
    return refused(source, files(wrong), files(right), **more)


def projected(*sources: dict[str, Any]) -> Changes:
    """A projected volume with these sources."""
    return volume("projected", {"sources": list(sources)})


def token(**more: Any) -> dict[str, Any]:
    """Return a projected token volume."""
    return {"serviceAccountToken": {"path": "t", **more}}


def ephemeral(**template: Any) -> Changes:
    """Return a generic ephemeral volume."""
    return volume("ephemeral", {"volumeClaimTemplate": template})


ACCOUNT: Changes = {"spec.serviceAccountName": "s"}
ITEM = {"key": "k", "path": "p"}
SECRET = {"secretName": "s"}

VOLUMES: Examples = {
    0: Refused(change={AT: {"name": "", "emptyDir": {}}}),
    1: Refused(change=volume("emptyDir", name="A_b"), accepts=volume("emptyDir", name="a-b")),
    2: Refused(
        change={AT: {"name": "a", "emptyDir": {}}, "spec.volumes[1]": {"name": "a", "emptyDir": {}}},
        accepts={AT: {"name": "a", "emptyDir": {}}, "spec.volumes[1]": {"name": "b", "emptyDir": {}}},
        field="spec.volumes[1].name",
    ),
    3: Stored(change={AT: {"name": "v"}}, expected={f"{AT}.emptyDir": {}}),
    4: [
        Refused(
            change={AT: {"name": "v", "secret": SECRET, "hostPath": {"path": "/"}, "cephfs": {"monitors": ["a"]}}},
            field=field,
            accepts=None,
        )
        for field in (f"{AT}.secret", f"{AT}.cephFS")
    ],
    5: refused("emptyDir", {"sizeLimit": "-1"}, {"sizeLimit": "1Gi"}),
    6: refused("hostPath", {"path": ""}, {"path": "/a"}),
    7: refused("hostPath", {"path": "/a/../b"}, {"path": "/a/..b"}),
    8: refused("hostPath", {"path": "/a", "type": "Folder"}, {"path": "/a", "type": "File"}),
    9: refused("gitRepo", {"repository": ""}, {"repository": "r"}),
    10: [
        refused("gitRepo", {"repository": "r", "directory": "/a"}, {"repository": "r", "directory": "a"}),
        refused("gitRepo", {"repository": "r", "directory": "../a"}, {"repository": "r", "directory": "."}),
    ],
    11: lacking("gcePersistentDisk", {"pdName": "d"}, "pdName", field=f"{AT}.persistentDisk.pdName"),
    12: refused(
        "gcePersistentDisk",
        {"pdName": "d", "partition": 256},
        {"pdName": "d", "partition": 255},
        field=f"{AT}.persistentDisk.partition",
    ),
    13: lacking("awsElasticBlockStore", {"volumeID": "v"}, "volumeID"),
    14: refused("awsElasticBlockStore", {"volumeID": "v", "partition": -1}, {"volumeID": "v", "partition": 0}),
    15: lacking("secret", SECRET, "secretName"),
    16: refused("secret", {**SECRET, "defaultMode": 512}, {**SECRET, "defaultMode": 511}, detail=MODE),
    17: refused("secret", {**SECRET, **files({"key": "", "path": "p"})}, {**SECRET, **files(ITEM)}),
    18: refused("secret", {**SECRET, **files({"key": "k", "path": ""})}, {**SECRET, **files(ITEM)}),
    19: [
        refused("secret", {**SECRET, **files({"key": "k", "path": path})}, {**SECRET, **files(ITEM)}, detail=why)
        for path, why in [("/p", "must be a relative path"), ("a/..", BACKSTEPS), ("..p", "must not start with '..'")]
    ],
    20: refused("secret", {**SECRET, **files({**ITEM, "mode": -1})}, {**SECRET, **files({**ITEM, "mode": 0})}),
    21: refused("configMap", {}, {"name": "m"}),
    22: refused("configMap", {"name": "m", "defaultMode": 512}, {"name": "m", "defaultMode": 0}, detail=MODE),
    23: refused("configMap", {"name": "m", **files({"key": "", "path": "p"})}, {"name": "m", **files(ITEM)}),
    24: refused("configMap", {"name": "m", **files({"key": "k", "path": ""})}, {"name": "m", **files(ITEM)}),
    25: refused("configMap", {"name": "m", **files({"key": "k", "path": ".."})}, {"name": "m", **files(ITEM)}),
    26: refused("configMap", {"name": "m", **files({**ITEM, "mode": 512})}, {"name": "m", **files(ITEM)}),
    27: refused("persistentVolumeClaim", {"claimName": ""}, {"claimName": "c"}),
    28: Refused(
        change={
            "metadata.name": "own",
            AT: {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
            "spec.volumes[1]": {"name": "c", "persistentVolumeClaim": {"claimName": "own-e"}},
        },
        accepts={
            "metadata.name": "own",
            AT: {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
            "spec.volumes[1]": {"name": "c", "persistentVolumeClaim": {"claimName": "own-f"}},
        },
    ),
    29: refused("nfs", {"server": "", "path": "/a"}, {"server": "s", "path": "/a"}),
    30: refused("nfs", {"server": "s", "path": ""}, {"server": "s", "path": "/a"}),
    31: refused("nfs", {"server": "s", "path": "a"}, {"server": "s", "path": "/a"}),
    32: lacking("iscsi", ISCSI, "targetPortal"),
    33: lacking("iscsi", ISCSI, "iqn"),
    34: refused("iscsi", {**ISCSI, "iqn": "abc.2001"}, ISCSI),
    35: refused("iscsi", {**ISCSI, "iqn": "iqn.2001-04.com.example"}, ISCSI),
    36: refused("iscsi", {**ISCSI, "iqn": "eui.123"}, {**ISCSI, "iqn": "eui.0123456789abcdef"}),
    37: refused("iscsi", {**ISCSI, "iqn": "naa.123"}, {**ISCSI, "iqn": f"naa.{'0' * 32}"}),
    38: refused("iscsi", {**ISCSI, "lun": 256}, {**ISCSI, "lun": 255}),
    39: refused(
        "iscsi", {**ISCSI, "chapAuthSession": True}, {**ISCSI, "chapAuthSession": True, "secretRef": {"name": "s"}}
    ),
    40: refused("iscsi", {**ISCSI, "initiatorName": "a"}, {**ISCSI, "initiatorName": "iqn.2001-04.com.example:b"}),
    41: Refused(
        change=volume("iscsi", {**ISCSI, "initiatorName": ISCSI["iqn"]}, "v" * 51),
        accepts=volume("iscsi", {**ISCSI, "initiatorName": ISCSI["iqn"]}, "v" * 50),
        field=f"{AT}.name",
    ),
    42: refused("glusterfs", {"endpoints": "", "path": "p"}, {"endpoints": "e", "path": "p"}),
    43: refused("glusterfs", {"endpoints": "e", "path": ""}, {"endpoints": "e", "path": "p"}),
    44: refused("flocker", {}, {"datasetName": "d"}),
    45: refused("flocker", {"datasetName": "d", "datasetUUID": "u"}, {"datasetUUID": "u"}),
    46: refused("flocker", {"datasetName": "a/b"}, {"datasetName": "a"}),
    47: refused("rbd", {**RBD, "monitors": []}, RBD),
    48: refused("rbd", {**RBD, "image": ""}, RBD),
    49: refused("cinder", {"volumeID": ""}, {"volumeID": "v"}),
    50: refused("cinder", {"volumeID": "v", "secretRef": {}}, {"volumeID": "v", "secretRef": {"name": "s"}}),
    51: refused("cephfs", {"monitors": []}, {"monitors": ["a"]}),
    52: lacking("quobyte", QUOBYTE, "registry"),
    53: refused("quobyte", {**QUOBYTE, "registry": "a:1,b"}, QUOBYTE),
    54: refused("quobyte", {**QUOBYTE, "tenant": "t" * 65}, {**QUOBYTE, "tenant": "t" * 64}),
    55: lacking("quobyte", QUOBYTE, "volume"),
    56: refused("downwardAPI", {"defaultMode": 512}, {"defaultMode": 511}),
    57: shown("downwardAPI", {"path": "", "fieldRef": FIELD}, {"path": "p", "fieldRef": FIELD},
              field=f"{AT}.downwardAPI.path"),
    58: shown("downwardAPI", {"path": "/p", "fieldRef": FIELD}, {"path": "p", "fieldRef": FIELD},
              field=f"{AT}.downwardAPI.path"),
    59: shown("downwardAPI", {"path": "p"}, {"path": "p", "fieldRef": FIELD}, field=f"{AT}.downwardAPI"),
    60: shown("downwardAPI", {"path": "p", "fieldRef": FIELD, "resourceFieldRef": RESOURCE},
              {"path": "p", "resourceFieldRef": RESOURCE}, field=f"{AT}.downwardAPI"),
    61: [
        shown("downwardAPI", {"path": "p", "fieldRef": {"fieldPath": "spec.nodeName"}},
              {"path": "p", "fieldRef": {"fieldPath": path}})
        for path in ("metadata.labels", "metadata.labels['a']", "metadata.annotations['example.com/A']")
    ],
    62: shown(
        "downwardAPI", {"path": "p", "fieldRef": FIELD, "mode": 512}, {"path": "p", "fieldRef": FIELD, "mode": 1}
    ),
    63: shown("downwardAPI", {"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}},
              {"path": "p", "resourceFieldRef": RESOURCE}),
    64: refused("fc", {}, {"wwids": ["w"]}, field=f"{AT}.fc.targetWWNs"),
    65: refused("fc", {"wwids": ["w"], "targetWWNs": ["t"], "lun": 1}, {"targetWWNs": ["t"], "lun": 1},
                field=f"{AT}.fc.targetWWNs"),
    66: refused("fc", {"targetWWNs": ["t"]}, {"targetWWNs": ["t"], "lun": 1}),
    67: refused("fc", {"targetWWNs": ["t"], "lun": 256}, {"targetWWNs": ["t"], "lun": 255}),
    68: refused("flexVolume", {"driver": ""}, {"driver": "d"}),
    69: [
        refused("flexVolume", {"driver": "d", "options": {key: "x"}}, {"driver": "d", "options": {"a.b/c": "x"}})
        for key in ("orch.io/a", "x.ORCH.io/a", "orch.io")
    ],
    70: lacking("azureFile", {"secretName": "s", "shareName": "h"}, "secretName"),
    71: lacking("azureFile", {"secretName": "s", "shareName": "h"}, "shareName"),
    72: lacking("azureDisk", DISK, "diskName"),
    73: lacking("azureDisk", DISK, "diskURI"),
    74: refused("azureDisk", {**DISK, "cachingMode": "WriteOnly"}, {**DISK, "cachingMode": "ReadOnly"}),
    75: refused("azureDisk", {**DISK, "kind": "Own"}, {**DISK, "kind": "Dedicated"}),
    76: refused("azureDisk", {**DISK, "kind": "Managed"}, {**DISK, "kind": "Managed", "diskURI": "/subscriptions/a"}),
    77: refused("azureDisk", {**DISK, "diskURI": "/subscriptions/a"}, DISK),
    78: refused("vsphereVolume", {"volumePath": ""}, {"volumePath": "p"}),
    79: refused("photonPersistentDisk", {"pdID": ""}, {"pdID": "p"}),
    80: refused("portworxVolume", {"volumeID": ""}, {"volumeID": "v"}),
    81: lacking("scaleIO", SCALE_IO, "gateway"),
    82: lacking("scaleIO", SCALE_IO, "system"),
    83: lacking("scaleIO", SCALE_IO, "volumeName"),
    84: refused("storageos", {}, {"volumeName": "v"}),
    85: refused("storageos", {"volumeName": "A"}, {"volumeName": "a"}),
    86: refused(
        "storageos", {"volumeName": "v", "volumeNamespace": "A"}, {"volumeName": "v", "volumeNamespace": "a"}
    ),
    87: refused("storageos", {"volumeName": "v", "secretRef": {}}, {"volumeName": "v", "secretRef": {"name": "s"}}),
    88: refused("csi", {"driver": "a_b"}, {"driver": "CSI.example.com"}),
    89: refused("csi", {"driver": "d", "nodePublishSecretRef": {}}, {"driver": "d"}),
    90: refused(
        "csi",
        {"driver": "d", "nodePublishSecretRef": {"name": "A_"}},
        {"driver": "d", "nodePublishSecretRef": {"name": "a"}},
        field=f"{AT}.csi.name",
    ),
    91: refused("projected", {"sources": [], "defaultMode": 512}, {"sources": [], "defaultMode": 511}),
    92: Refused(
        change=projected({"secret": {"name": "s"}, "configMap": {"name": "c"}}),
        accepts=projected({"secret": {"name": "s"}}, {"configMap": {"name": "c"}}),
    ),
    93: Refused(change=projected({"secret": {}}), accepts=projected({"secret": {"name": "s"}})),
    94: Refused(change=projected({"configMap": {}}), accepts=projected({"configMap": {"name": "s"}})),
    95: Refused(
        change=projected({"secret": {"name": "s", **files({"key": "k", "path": "/p"})}}),
        accepts=projected({"secret": {"name": "s", **files(ITEM)}}),
        field=f"{AT}.projected.sources[0].secret.items[0].path",
    ),
    96: Refused(
        change=projected({"configMap": {"name": "s", **files({"key": "k", "path": "/p"})}}),
        accepts=projected({"configMap": {"name": "s", **files(ITEM)}}),
        field=f"{AT}.projected.sources[0].configMap.items[0].path",
    ),
    97: Refused(
        change=projected({"downwardAPI": files({"path": "/p", "fieldRef": FIELD})}),
        accepts=projected({"downwardAPI": files({"path": "p", "fieldRef": FIELD})}),
        field=f"{AT}.projected.sources[0].downwardAPI.path",
    ),
    98: Refused(
        change=projected({"secret": {"name": "s", **files(ITEM)}}, {"configMap": {"name": "m", **files(ITEM)}}),
        accepts=projected({"secret": {"name": "s", **files(ITEM)}}),
    ),
    99: [
        Refused(
            before=ACCOUNT,
            change=projected(token(expirationSeconds=wrong)),
            accepts=projected(token(expirationSeconds=right)),
        )
        for wrong, right in ((599, 600), ((1 << 32) + 1, 1 << 32))
    ],
    100: Refused(
        before=ACCOUNT,
        change=projected(token(path="")),
        accepts=projected(token()),
        field=f"{AT}.projected.path",
    ),
    101: [
        Refused(change=projected(token()), accepts={**projected(token()), **ACCOUNT}),
        Accepted(
            kind="PodTemplate",
            change={"template.spec.volumes": [{"name": "v", "projected": {"sources": [token()]}}]},
        ),
    ],
    102: Refused(change=volume("ephemeral", {}), accepts=ephemeral(spec=CLAIM)),
    103: Refused(
        change=ephemeral(spec=CLAIM, metadata={"name": "n", "labels": {"a": "b"}}),
        accepts=ephemeral(spec=CLAIM, metadata={"labels": {"a": "b"}, "annotations": {"a": "b"}}),
        field=f"{AT}.ephemeral.volumeClaimTemplate.metadata.name",
    ),
    104: Refused(
        change=ephemeral(spec={**CLAIM, "resources": {"requests": {"storage": "0"}}}),
        accepts=ephemeral(spec=CLAIM),
        field=f"{AT}.ephemeral.volumeClaimTemplate.spec.resources[storage]",
    ),
    105: Refused(
        change={**ephemeral(spec=CLAIM), "metadata.name": "x" * 253},
        accepts=ephemeral(spec=CLAIM),
        detail="PVC name",
    ),
}
