"""Examples of what becomes of pods, of warnings and of templates, by the numbers of the entries in `pod.json`."""

from __future__ import annotations

from typing import Any

from tests.validation.case import Examples
from tests.validation.examples import GONE, Accepted, Changes, Refused, Shown, Stored, Warned

PODS = "tests.validation.test_pod.PodTests"
BINDINGS = "tests.verbs.test_binding.BindingTests"
LOGS = "tests.proxy.test_log.LogTests"
EVICTIONS = "tests.verbs.test_eviction.EvictionTests"
DELETIONS = "tests.registry.groups.core.test_pods.GraceTests"
SECCOMP = "seccomp.security.alpha.orch.io/pod"
CONTAINER_SECCOMP = "container.seccomp.security.alpha.orch.io/c"
PROFILE = "spec.securityContext.seccompProfile"
NODES = "spec.affinity.nodeAffinity"
TERMS = f"{NODES}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
PREFERRED = f"{NODES}.preferredDuringSchedulingIgnoredDuringExecution"
LABELS = {
    "beta.orch.io/os": ("1.14", "orch.io/os"),
    "beta.orch.io/arch": ("1.14", "orch.io/arch"),
    "failure-domain.beta.orch.io/zone": ("1.17", "topology.orch.io/zone"),
    "failure-domain.beta.orch.io/region": ("1.17", "topology.orch.io/region"),
    "beta.orch.io/instance-type": ("1.17", "node.orch.io/instance-type"),
}


def annotation(key: str) -> str:
    """The path of an annotation."""
    return f"metadata.annotations[{key}]"


def instead(key: str) -> str:
    """Return the warning about a deprecated node label."""
    since, new = LABELS[key]
    return f'deprecated since v{since}; use "{new}" instead'


def existing(key: str) -> dict[str, Any]:
    """A term: the label is there."""
    return {"matchExpressions": [{"key": key, "operator": "Exists"}]}


def volume(source: str, value: dict[str, Any], detail: str, shown: str = "") -> Warned:
    """Return a deprecated volume source."""
    change = {"spec.volumes": [{"name": "v", source: value}]}
    return Warned(change=change, text=f"spec.volumes[0].{shown or source}: {detail}")


def spread(key: str) -> Changes:
    """A constraint on spreading over a label."""
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"spec.topologySpreadConstraints": [constraint]}


PLANNED = "deprecated in v1.22, support removal is planned in v1.26"
OTHER_OWNER = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]

LIVES: Examples = {
    343: Stored(change={"spec.nodeName": "n"}, expected={"spec.nodeName": GONE}),
    344: Refused(change={"status.nominatedNodeName": "A_"}, accepts={"status.nominatedNodeName": "a.b"}),
    345: Refused(
        change={"status.conditions": [{"type": "a b", "status": "True"}]},
        accepts={"status.conditions": [{"type": "example.com/a", "status": "True"}]},
        field="metadata.conditions[0].Type",
    ),
    346: Shown(f"{PODS}.test_ended_containers"),
    347: Shown(f"{PODS}.test_ended_containers"),
    348: Refused(
        change={"status.podIPs": [{"ip": "10.0.0"}]}, accepts={"status.podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}
    ),
    349: [
        Refused(change={"status.podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}),
        Refused(change={"status.podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}, {"ip": "::2"}]}),
    ],
    350: Refused(change={"status.podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]}),
    351: Refused(
        change={annotation("orch.io/config.mirror"): "x"},
        field=annotation("orch.io/config.mirror"),
        detail="may not add mirror pod annotation",
    ),
    355: Shown("tests.registry.groups.core.test_pods.PodRulesTests.test_ephemeral_containers_alone"),
    356: Shown(f"{BINDINGS}.test_to_something_else"),
    357: Shown(f"{BINDINGS}.test_to_something_else"),
    358: Shown(f"{BINDINGS}.test_incomplete"),
    359: Shown(f"{BINDINGS}.test_of_a_pod_that_ends"),
    360: Shown(f"{BINDINGS}.test_once"),
    361: Shown(f"{EVICTIONS}.test_names"),
    362: Shown(f"{EVICTIONS}.test_not_yet_observed"),
    363: Shown(f"{EVICTIONS}.test_used_up"),
    364: Shown(f"{EVICTIONS}.test_broken_budgets"),
    365: Shown(f"{EVICTIONS}.test_broken_budgets"),
    366: Shown(f"{EVICTIONS}.test_out_of_order"),
    367: Shown(f"{LOGS}.test_wrong_options"),
    368: Shown(f"{LOGS}.test_wrong_options"),
    369: Shown(f"{LOGS}.test_wrong_options"),
    370: Shown(f"{LOGS}.test_wrong_options"),
    371: Shown(f"{LOGS}.test_container"),
    372: Shown(f"{LOGS}.test_container"),
    373: Stored(
        change={"status.phase": "Running", "status.qosClass": "Guaranteed", "status.podIP": "10.0.0.1"},
        expected={"status": {"phase": "Pending", "qosClass": "BestEffort"}},
    ),
    374: [
        Stored(change={annotation(SECCOMP): text}, expected={PROFILE: field})
        for text, field in [
            ("unconfined", {"type": "Unconfined"}),
            ("docker/default", {"type": "RuntimeDefault"}),
            ("localhost/a/b", {"type": "Localhost", "localhostProfile": "a/b"}),
        ]
    ]
    + [
        Stored(change={PROFILE: field}, expected={annotation(SECCOMP): text})
        for text, field in [
            ("unconfined", {"type": "Unconfined"}),
            ("runtime/default", {"type": "RuntimeDefault"}),
            ("localhost/a/b", {"type": "Localhost", "localhostProfile": "a/b"}),
        ]
    ]
    + [
        Stored(
            change={annotation(CONTAINER_SECCOMP): "runtime/default"},
            expected={"spec.containers[0].securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
        ),
        Stored(
            change={"spec.containers[0].securityContext.seccompProfile": {"type": "Unconfined"}},
            expected={annotation(CONTAINER_SECCOMP): "unconfined", annotation(SECCOMP): GONE},
        ),
    ],
    375: Stored(expected={"metadata.generation": GONE}),
    376: Stored(change={"status.phase": "Running"}, expected={"status.phase": "Pending"}),
    377: Stored(
        change={"spec.hostname": "x", "status.phase": "Running"},
        expected={"spec.hostname": GONE, "status.phase": "Running"},
    ),
    378: Stored(
        change={"metadata.deletionTimestamp": "2024-05-06T07:08:09Z"}, expected={"metadata.deletionTimestamp": GONE}
    ),
    379: Stored(change={"metadata.ownerReferences": OTHER_OWNER}, expected={"metadata.ownerReferences": GONE}),
    380: [
        Stored(change={"status.qosClass": GONE}, expected={"status.qosClass": "BestEffort"}),
        Stored(change={"status.qosClass": "Burstable"}, expected={"status.qosClass": "Burstable"}),
    ],
    381: Shown(f"{DELETIONS}.test_grace"),
    382: Shown(f"{DELETIONS}.test_no_grace"),
    383: Shown(f"{DELETIONS}.test_no_grace"),
    384: Shown(f"{DELETIONS}.test_negative_grace"),
    385: Shown(f"{BINDINGS}.test_bound"),
    386: Shown(f"{EVICTIONS}.test_finished_pods"),
    387: Shown(f"{EVICTIONS}.test_unready"),
    388: Shown(f"{EVICTIONS}.test_allowed"),
    389: Shown(f"{EVICTIONS}.test_every_pod"),
    390: [
        Warned(
            change={annotation("scheduler.alpha.orch.io/critical-pod"): ""},
            text='critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
        ),
        Warned(
            kind="PodTemplate",
            change={"template.metadata.annotations[scheduler.alpha.orch.io/critical-pod]": ""},
            text="template.metadata.annotations[scheduler.alpha.orch.io/critical-pod]: non-functional",
        ),
    ],
    391: [
        Warned(
            change={annotation(f"security.alpha.orch.io/{name}"): ""},
            text=f'security.alpha.orch.io/{name}]: non-functional in v1.11+; use the "sysctls" field instead',
        )
        for name in ("sysctls", "unsafe-sysctls")
    ],
    392: [
        Warned(
            change={annotation(SECCOMP): "localhost/"},
            accepts={annotation(SECCOMP): "localhost/", PROFILE: {"type": "Localhost", "localhostProfile": ""}},
            text=f'{annotation(SECCOMP)}: deprecated since v1.19; use the "seccompProfile" field instead',
        ),
        *(
            Warned(
                kind="PodTemplate",
                change={f"template.{annotation(key)}": "unconfined"},
                accepts={
                    f"template.{annotation(key)}": "unconfined",
                    f"template.{place}.securityContext.seccompProfile": {"type": "Unconfined"},
                },
                text=f'template.{annotation(key)}: deprecated since v1.19; use the "seccompProfile" field instead',
            )
            for key, place in [(SECCOMP, "spec"), (CONTAINER_SECCOMP, "spec.containers[0]")]
        ),
    ],
    393: [
        Warned(change={f"spec.nodeSelector[{key}]": "x"}, text=f"spec.nodeSelector[{key}]: {instead(key)}")
        for key in LABELS
    ],
    394: [
        Warned(
            change={TERMS: [existing("a"), existing("beta.orch.io/os")]},
            accepts={TERMS: [existing("a")]},
            text=f"{TERMS}[1].matchExpressions[0].key: beta.orch.io/os is {instead('beta.orch.io/os')}",
        ),
        Warned(
            change={PREFERRED: [{"weight": 1, "preference": existing("beta.orch.io/arch")}]},
            text=f"[0].preference.matchExpressions[0].key: beta.orch.io/arch is {instead('beta.orch.io/arch')}",
        ),
    ],
    395: Warned(
        change=spread("beta.orch.io/os"),
        accepts=spread("orch.io/os"),
        text=f"spec.topologySpreadConstraints[0].topologyKey: beta.orch.io/os is {instead('beta.orch.io/os')}",
    ),
    396: volume("photonPersistentDisk", {"pdID": "p"}, "deprecated in v1.11, non-functional in v1.16+"),
    397: volume("gitRepo", {"repository": "r"}, "deprecated in v1.11"),
    398: volume(
        "scaleIO",
        {"gateway": "g", "system": "s", "volumeName": "v", "secretRef": {"name": "s"}},
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    399: [
        volume("flocker", {"datasetName": "d"}, PLANNED),
        volume("storageos", {"volumeName": "v"}, PLANNED, "storageOS"),
        volume("quobyte", {"registry": "a:1", "volume": "v"}, PLANNED),
    ],
    400: Warned(
        change={"spec.hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]},
        accepts={"spec.hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}]},
        text='spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
    ),
    401: Warned(
        change={"spec.imagePullSecrets": [{"name": "x"}, {"name": "x"}]},
        accepts={"spec.imagePullSecrets": [{"name": "x"}, {"name": "y"}]},
        text='spec.imagePullSecrets[1].name: duplicate name "x"',
    ),
    402: Warned(
        change={"spec.imagePullSecrets": [{}]}, text='spec.imagePullSecrets[0].name: invalid empty name ""'
    ),
    403: [
        Warned(
            change={"spec.overhead": {key: "100m"}},
            accepts={"spec.overhead": {key: "1"}},
            text=f'spec.overhead[{key}]: fractional byte value "100m" is invalid, must be an integer',
        )
        for key in ("memory", "ephemeral-storage")
    ],
    406: Shown(f"{PODS}.test_no_warning"),
    407: Accepted(change={"spec.hostNetwork": True}),
    408: [
        Refused(change={"template.metadata.labels": {"a b": "c"}}, field="template.labels"),
        Refused(change={"template.metadata.labels": {"a": "b c"}}, field="template.labels"),
    ],
    409: Refused(change={"template.metadata.annotations": {"a b": "c"}}, field="template.annotations"),
    410: [
        Refused(
            change={f"template.metadata.annotations[{key}]": value},
            field=f"template.annotations[{key}]{rest}",
        )
        for key, value, rest in [
            (SECCOMP, "any", ""),
            ("container.apparmor.security.beta.orch.io/d", "unconfined", ""),
            ("scheduler.alpha.orch.io/tolerations", '[{"key":"a b"}]', "[0].key"),
        ]
    ],
    411: Refused(
        change={"template.spec.hostname": "a.b"},
        accepts={"template.spec.hostname": "a"},
        field="template.spec.hostname",
    ),
    413: Accepted(change={"template.metadata.name": "A b"}),
    415: Refused(
        change={
            f"template.{annotation(SECCOMP)}": "unconfined",
            f"template.{PROFILE}": {"type": "RuntimeDefault"},
        },
        accepts={
            f"template.{annotation(SECCOMP)}": "unconfined",
            f"template.{PROFILE}": {"type": "Unconfined"},
        },
        field=f"template.{PROFILE}.type",
        detail="seccomp type in annotation and field must match",
    ),
    416: Refused(change={"template.spec.subdomain": "a.b"}, field="template.spec.subdomain"),
    417: Accepted(change={"template.spec.hostname": "x", "template.metadata.labels": {"c": "d"}}),
    418: [
        Stored(expected={"metadata.generation": 1}),
        Stored(on="update", change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 1}),
        Stored(on="update", change={"template.spec.hostname": "x"}, expected={"metadata.generation": 2}),
    ],
}
