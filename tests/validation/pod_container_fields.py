"""Names, images, ports, environments and mounts of containers."""

from __future__ import annotations

from typing import Any

from tests.validation.case import Examples
from tests.validation.container_examples import C, anywhere
from tests.validation.examples import GONE, Accepted, Refused, Stored

TWO = {"spec.containers[1]": {"name": "d", "image": "i:1"}}
VOLUMES = {
    "spec.volumes": [
        {"name": "v", "emptyDir": {}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "a"}},
        {"name": "other", "persistentVolumeClaim": {"claimName": "b"}},
    ]
}
LONG_LABEL = "a" * 64

NAMES: Examples = {
    106: Refused(change={"spec.initContainers[0]": {"name": "c", "image": "i:1"}}),
    107: Refused(
        on="ephemeralcontainers",
        change={"spec.ephemeralContainers[0]": {"name": "c", "image": "i:1"}},
        accepts={"spec.ephemeralContainers[0]": {"name": "e", "image": "i:1"}},
    ),
    108: Refused(on="ephemeralcontainers", change={"spec.ephemeralContainers[0]": {"image": "i:1"}}),
    109: Refused(
        on="ephemeralcontainers",
        before={"spec.initContainers[0]": {"name": "init", "image": "i:1"}},
        change={"spec.ephemeralContainers[0]": {"name": "e", "image": "i:1", "targetContainerName": "unknown"}},
        accepts={"spec.ephemeralContainers[0]": {"name": "e", "image": "i:1", "targetContainerName": "init"}},
    ),
    110: [
        Refused(
            on="ephemeralcontainers",
            change={"spec.ephemeralContainers[0]": {"name": "e", "image": "i:1", key: value}},
            field=f"spec.ephemeralContainers[0].{key}",
            accepts=None,
        )
        for key, value in (
            ("ports", [{"containerPort": 80}]),
            ("resources", {"limits": {"cpu": "1"}}),
            ("livenessProbe", {"exec": {"command": ["a"]}}),
            ("readinessProbe", {"exec": {"command": ["a"]}}),
            ("startupProbe", {"exec": {"command": ["a"]}}),
            ("lifecycle", {"preStop": {"exec": {"command": ["a"]}}}),
        )
    ]
    + [
        Accepted(
            on="ephemeralcontainers",
            before=VOLUMES,
            change={
                "spec.ephemeralContainers[0]": {
                    "name": "e",
                    "image": "i:1",
                    "command": ["a"],
                    "args": ["b"],
                    "workingDir": "/",
                    "env": [{"name": "A"}],
                    "envFrom": [{"secretRef": {"name": "a"}}],
                    "volumeMounts": [{"name": "v", "mountPath": "/a"}],
                    "volumeDevices": [{"name": "claim", "devicePath": "/b"}],
                    "terminationMessagePath": "/c",
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "imagePullPolicy": "Never",
                    "securityContext": {"runAsUser": 1},
                    "stdin": True,
                    "stdinOnce": True,
                    "tty": True,
                }
            },
        )
    ],
    **{
        number: Refused(
            on="ephemeralcontainers",
            before=VOLUMES,
            change={
                "spec.ephemeralContainers[0]": {
                    "name": "e",
                    "image": "i:1",
                    "volumeMounts": [{"name": "v", "mountPath": "/a", key: "a"}],
                }
            },
            accepts=None,
        )
        for number, key in ((111, "subPath"), (112, "subPathExpr"))
    },
    113: Refused(change={"spec.ephemeralContainers[0]": {"name": "e", "image": "i:1"}}),
    114: [Refused(change={"spec.containers": []}), Refused(change={"spec.containers": GONE})],
    115: anywhere("name", "", ephemeral=False),
    116: [anywhere("name", name) for name in ("A", "-a", LONG_LABEL)],
    117: [
        Refused(before=TWO, change={"spec.containers[1].name": "c"}),
        Refused(
            before={"spec.initContainers": [{"name": "i", "image": "i:1"}, {"name": "j", "image": "i:1"}]},
            change={"spec.initContainers[1].name": "i"},
            field="spec.initContainers[1].name",
        ),
        Refused(
            on="ephemeralcontainers",
            change={"spec.ephemeralContainers": [{"name": "e", "image": "i:1"}, {"name": "e", "image": "i:1"}]},
            field="spec.ephemeralContainers[1].name",
        ),
    ],
    118: anywhere("image", ""),
    119: [anywhere("image", " i:1"), anywhere("image", "i:1\t"), anywhere("image", " ")],
    120: Stored(
        change={f"{C}.terminationMessagePolicy": ""}, expected={f"{C}.terminationMessagePolicy": "File"}
    ),
    121: anywhere("terminationMessagePolicy", "Else", "FallbackToLogsOnError"),
    122: Stored(change={f"{C}.imagePullPolicy": ""}, expected={f"{C}.imagePullPolicy": "IfNotPresent"}),
    123: anywhere("imagePullPolicy", "Else", "Never"),
}

PORTS: Examples = {
    124: [
        anywhere("ports", [{"containerPort": 80, "name": name}], [{"containerPort": 80, "name": "http-1"}])
        for name in ("sixteen-letters-", "Http", "80", "a--b", "-a", "a-")
    ],
    125: anywhere(
        "ports",
        [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
        [{"containerPort": 80, "name": "a"}, {"containerPort": 81}, {"containerPort": 82}],
    ),
    126: anywhere("ports", [{"name": "a"}]),
    127: [anywhere("ports", [{"containerPort": n}], [{"containerPort": 65535}]) for n in (-1, 65536)],
    128: [
        anywhere("ports", [{"containerPort": 80, "hostPort": n}], [{"containerPort": 80, "hostPort": 0}])
        for n in (-1, 65536)
    ],
    129: Stored(
        change={f"{C}.ports": [{"containerPort": 80, "protocol": ""}]}, expected={f"{C}.ports[0].protocol": "TCP"}
    ),
    130: anywhere(
        "ports", [{"containerPort": 80, "protocol": "tcp"}], [{"containerPort": 80, "protocol": "SCTP"}]
    ),
    131: [
        Refused(
            before=TWO,
            change={
                f"{C}.ports": [{"containerPort": 80, "hostPort": 8080}],
                "spec.containers[1].ports": [{"containerPort": 81, "hostPort": 8080}],
            },
            accepts={
                f"{C}.ports": [{"containerPort": 80, "hostPort": 8080}],
                "spec.containers[1].ports": [
                    {"containerPort": 81, "hostPort": 8080, "protocol": "UDP"},
                    {"containerPort": 81, "hostPort": 8080, "hostIP": "10.0.0.1"},
                ],
            },
        ),
        Refused(
            before={"spec.initContainers": [{"name": "i", "image": "i:1"}, {"name": "j", "image": "i:1"}]},
            change={
                "spec.initContainers[1].ports": [
                    {"containerPort": 80, "hostPort": 8080},
                    {"containerPort": 81, "hostPort": 8080},
                ]
            },
            field="spec.initContainers[1].ports[1].hostPort",
            accepts={
                "spec.initContainers[0].ports": [{"containerPort": 80, "hostPort": 8080}],
                "spec.initContainers[1].ports": [{"containerPort": 80, "hostPort": 8080}],
            },
        ),
    ],
    132: Refused(
        before={"spec.hostNetwork": True},
        change={f"{C}.ports": [{"containerPort": 80, "hostPort": 81}]},
        accepts={f"{C}.ports": [{"containerPort": 80}]},
    ),
}


def variable(source: Any, **more: Any) -> list[Any]:
    """`env` of one variable with a source."""
    return [{"name": "A", "valueFrom": source, **more}]


def field(path: str, **more: Any) -> list[Any]:
    """`env` of one variable that shows a field."""
    return variable({"fieldRef": {"fieldPath": path, **more}})


def amount(resource: str, divisor: str = "0") -> list[Any]:
    """`env` of one variable that shows a resource."""
    return variable({"resourceFieldRef": {"resource": resource, "divisor": divisor}})


CONFIG, SECRET = {"configMapKeyRef": {"name": "a", "key": "b"}}, {"secretKeyRef": {"name": "a", "key": "b"}}
ENVIRONMENT: Examples = {
    133: anywhere("env", [{"value": "a"}]),
    134: [anywhere("env", [{"name": name}], [{"name": "a.b-C_1"}]) for name in ("1A", "A=B", "é", "..a", ".", "..")],
    135: anywhere("env", variable({})),
    136: anywhere("env", variable(CONFIG, value="a"), variable(CONFIG, value="")),
    137: anywhere("env", variable({**CONFIG, **SECRET})),
    138: Stored(
        change={f"{C}.env": field("metadata.name", apiVersion="")},
        expected={f"{C}.env[0].valueFrom.fieldRef.apiVersion": "v1"},
    ),
    139: anywhere("env", variable({"fieldRef": {}})),
    140: [
        anywhere("env", field("metadata.unknown")),
        anywhere("env", field("metadata.name", apiVersion="v2"), field("metadata.name", apiVersion="v1")),
    ],
    141: [
        *(anywhere("env", field(path)) for path in ("metadata.labels", "spec.restartPolicy", "status.phase")),
        *(
            Accepted(change={f"{C}.env": field(path)})
            for path in (
                *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
                *("status.hostIP", "status.podIP", "status.podIPs"),
                *("metadata.labels['app']", "metadata.annotations['example.com/Any']"),
            )
        ),
    ],
    142: anywhere("env", field("metadata.name['a']")),
    143: [
        anywhere("env", field("metadata.labels['a b']")),
        anywhere("env", field("metadata.annotations['/a']"), field("metadata.annotations['EXAMPLE.com/A']")),
    ],
    144: anywhere("env", amount("")),
    145: anywhere("env", amount("limits.storage"), amount("requests.ephemeral-storage")),
    146: [Accepted(change={f"{C}.env": amount(f"{kind}.hugepages-2Mi")}) for kind in ("requests", "limits")],
    147: anywhere("env", amount("limits.cpu", "2m"), amount("limits.cpu", "1m")),
    148: [
        anywhere("env", amount(f"requests.{name}", "1m"), amount(f"requests.{name}", "1Mi"))
        for name in ("memory", "ephemeral-storage", "hugepages-2Mi")
    ],
    **{
        number: [anywhere("env", variable({kind: {"name": name, "key": "b"}})) for name in ("", "A")]
        for number, kind in ((149, "configMapKeyRef"), (152, "secretKeyRef"))
    },
    **{
        number: anywhere("env", variable({kind: {"name": "a"}}))
        for number, kind in ((150, "configMapKeyRef"), (153, "secretKeyRef"))
    },
    **{
        number: [
            anywhere("env", variable({kind: {"name": "a", "key": key}}), variable({kind: {"name": "a", "key": "_B"}}))
            for key in ("a b", "..a")
        ]
        for number, kind in ((151, "configMapKeyRef"), (154, "secretKeyRef"))
    },
    155: anywhere(
        "envFrom",
        [{"prefix": "1", "secretRef": {"name": "a"}}],
        [{"prefix": "A_", "secretRef": {"name": "a"}}],
    ),
    156: anywhere("envFrom", [{"prefix": "A"}]),
    157: anywhere("envFrom", [{"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}}]),
    158: anywhere("envFrom", [{"configMapRef": {}}], [{"configMapRef": {"name": "a"}}]),
    159: anywhere("envFrom", [{"configMapRef": {"name": "A"}}]),
    160: anywhere("envFrom", [{"secretRef": {}}], [{"secretRef": {"name": "a"}}]),
    161: anywhere("envFrom", [{"secretRef": {"name": "A"}}]),
}


def mount(**more: Any) -> dict[str, Any]:
    """A mount of the volume v."""
    return {"name": "v", "mountPath": "/a", **more}


def device(**more: Any) -> dict[str, Any]:
    """A device of the volume claim."""
    return {"name": "claim", "devicePath": "/a", **more}


MOUNTED = {**VOLUMES, "C.volumeMounts": [mount(mountPath="/b"), mount(mountPath="/c", name="other")]}
WITH_DEVICE = {**VOLUMES, "C.volumeDevices": [device(devicePath="/b"), device(devicePath="/c", name="other")]}
MOUNTS: Examples = {
    162: anywhere("volumeMounts", [{"mountPath": "/a"}], before=VOLUMES),
    163: [
        anywhere("volumeMounts", [mount(name="unknown")], [mount()], before=VOLUMES),
        Refused(change={f"{C}.volumeMounts": [mount()]}),
    ],
    164: anywhere("volumeMounts", [{"name": "v"}], before=VOLUMES),
    165: anywhere("volumeMounts", [mount(), mount()], [mount(), mount(mountPath="/b")], before=VOLUMES),
    166: anywhere(
        "volumeMounts", [mount(name="claim")], [mount()], before=WITH_DEVICE, ephemeral=False
    ),
    167: anywhere("volumeMounts", [mount(mountPath="/b")], [mount()], before=WITH_DEVICE, ephemeral=False),
    168: [
        anywhere("volumeMounts", [mount(subPath=path)], [mount(subPath="a/b..")], before=VOLUMES, detail=detail)
        for path, detail in (("/a", "must be a relative path"), ("a/../b", r"must not contain '\.\.'"))
    ],
    169: anywhere("volumeMounts", [mount(subPath="a", subPathExpr="b")], before=VOLUMES),
    170: [
        anywhere("volumeMounts", [mount(subPathExpr=path)], [mount(subPathExpr="$(A)")], before=VOLUMES)
        for path in ("/a", "..")
    ],
    171: anywhere(
        "volumeMounts", [mount(mountPropagation="Else")], [mount(mountPropagation="HostToContainer")], before=VOLUMES
    ),
    172: anywhere("volumeMounts", [mount(mountPropagation="Bidirectional")], before=VOLUMES),
    173: anywhere("volumeDevices", [{"devicePath": "/a"}], before=VOLUMES),
    174: anywhere(
        "volumeDevices",
        [device(), device(devicePath="/b")],
        [device(), device(devicePath="/b", name="other")],
        before=VOLUMES,
    ),
    175: anywhere("volumeDevices", [device(name="unknown")], [device()], before=VOLUMES),
    176: [
        anywhere("volumeDevices", [device(name="v")], before=VOLUMES),
        Accepted(
            change={
                "spec.volumes": [
                    {
                        "name": "claim",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {
                                    "accessModes": ["ReadWriteOnce"],
                                    "resources": {"requests": {"storage": "1Gi"}},
                                }
                            }
                        },
                    }
                ],
                f"{C}.volumeDevices": [device()],
            }
        ),
    ],
    177: anywhere("volumeDevices", [{"name": "claim"}], before=VOLUMES),
    178: anywhere("volumeDevices", [device(), device(name="other")], before=VOLUMES),
    179: anywhere("volumeDevices", [device(devicePath="/a/../b")], before=VOLUMES),
    180: anywhere("volumeDevices", [device(name="other")], [device()], before=MOUNTED, ephemeral=False),
    181: anywhere("volumeDevices", [device(devicePath="/b")], [device()], before=MOUNTED, ephemeral=False),
}

FIELDS: Examples = {**NAMES, **PORTS, **ENVIRONMENT, **MOUNTS}
