"""Examples of the rules of pod specs and of annotations, by the numbers of the entries in `pod.json`."""

from __future__ import annotations

from typing import Any

from tests.validation.case import Examples
from tests.validation.examples import GONE, Accepted, Changes, Refused, Shown, Stored

CONTAINER = {"name": "c", "image": "i:1"}
NODES = "spec.affinity.nodeAffinity"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERMS = f"{NODES}.{REQUIRED}.nodeSelectorTerms"
SECURITY = "spec.securityContext"
RANGE = "must be between 0 and 2147483647, inclusive"
APPARMOR = "metadata.annotations[container.apparmor.security.beta.orch.io/c]"
OTHERS_APPARMOR = "metadata.annotations[container.apparmor.security.beta.orch.io/d]"
MIRROR = "metadata.annotations[orch.io/config.mirror]"
SECCOMP = "metadata.annotations[seccomp.security.alpha.orch.io/pod]"
CONTAINER_SECCOMP = "metadata.annotations[container.seccomp.security.alpha.orch.io/c]"
COST = "metadata.annotations[controller.orch.io/pod-deletion-cost]"
TOLERATIONS = "metadata.annotations[scheduler.alpha.orch.io/tolerations]"
HOST_PROCESS = {f"{SECURITY}.windowsOptions.hostProcess": True}


def spec(key: str, wrong: Any, right: Any, **more: Any) -> Refused:
    """A field of the spec."""
    return Refused(change={f"spec.{key}": wrong}, accepts={f"spec.{key}": right}, **more)


def secured(key: str, wrong: Any, right: Any, **more: Any) -> Refused:
    """A field of the pod's security context."""
    return spec(f"securityContext.{key}", wrong, right, **more)


def dns(wrong: dict[str, Any], right: dict[str, Any], policy: str = "Default", **more: Any) -> Refused:
    """A configuration of name resolution."""
    return Refused(
        change={"spec.dnsPolicy": policy, "spec.dnsConfig": wrong},
        accepts={"spec.dnsPolicy": policy, "spec.dnsConfig": right},
        **more,
    )


def tolerates(**toleration: Any) -> Changes:
    """The pod has one toleration."""
    return {"spec.tolerations": [toleration]}


def spread(**constraint: Any) -> dict[str, Any]:
    """A constraint on spreading."""
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **constraint}


def spreads(wrong: list[Any], right: list[Any], **more: Any) -> Refused:
    """Return topology spread constraints."""
    return spec("topologySpreadConstraints", wrong, right, **more)


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    """A requirement on nodes."""
    return {"key": key, "operator": operator, "values": list(values)}


def nodes(wrong: dict[str, Any], right: dict[str, Any], kind: str = "matchExpressions", **more: Any) -> Refused:
    """The only requirement of the only term."""
    return Refused(change={TERMS: [{kind: [wrong]}]}, accepts={TERMS: [{kind: [right]}]}, **more)


def pods(wrong: dict[str, Any], right: dict[str, Any], place: str = "podAffinity", **more: Any) -> Refused:
    """The only required term on pods."""
    at = f"spec.affinity.{place}.{REQUIRED}"
    usual = {"topologyKey": "zone"}
    return Refused(change={at: [{**usual, **wrong}]}, accepts={at: [{**usual, **right}]}, **more)


SELECTS = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
SELECTS_WRONGLY = {"matchExpressions": [{"key": "a", "operator": "Has"}]}
LABELLED = {"matchExpressions": [expression("a", "Exists")]}
WEIGHT = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
MAY_CHANGE = {
    "spec.containers[0].image": "j:2",
    "spec.activeDeadlineSeconds": 5,
    "spec.tolerations": [{"key": "a", "operator": "Exists"}],
}

SPECS: Examples = {
    239: Stored(change={"spec.restartPolicy": ""}, expected={"spec.restartPolicy": "Always"}),
    240: spec("restartPolicy", "Sometimes", "Never"),
    241: Stored(change={"spec.dnsPolicy": ""}, expected={"spec.dnsPolicy": "ClusterFirst"}),
    242: spec(
        "dnsPolicy",
        "Mine",
        "ClusterFirstWithHostNet",
        detail='"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ),
    243: [spec("nodeSelector", {"a b": "c"}, {"a": "c"}), spec("nodeSelector", {"a": "c d"}, {"a": ""})],
    244: spec("dnsPolicy", "None", "Default", field="spec.dnsConfig"),
    245: dns({"searches": ["a"]}, {"nameservers": ["10.0.0.1"]}, "None"),
    246: dns({"nameservers": ["10.0.0.1"] * 4}, {"nameservers": ["10.0.0.1"] * 3}),
    247: dns({"nameservers": ["10.0.0"]}, {"nameservers": ["::1"]}),
    248: dns({"searches": ["a"] * 7}, {"searches": ["a"] * 6}),
    249: dns(
        {"searches": [f"{'a' * 63}.{'b' * 63}"] * 3},
        {"searches": [f"{'a' * 63}.{'b' * 63}"] * 2},
        detail="must not have more than 256 characters",
    ),
    250: dns({"searches": ["a.."]}, {"searches": ["a."]}),
    251: dns({"options": [{"value": "x"}]}, {"options": [{"name": "x"}]}, field="spec.dnsConfig.options[0]"),
    252: spec("readinessGates", [{"conditionType": "a b"}], [{"conditionType": "example.com/a"}]),
    253: spec("serviceAccountName", "A_", "a.b"),
    254: spec("nodeName", "A_", "a.b"),
    255: [spec("activeDeadlineSeconds", value, 1) for value in (0, 1 << 31)],
    256: spec("hostname", "a.b", "a"),
    257: spec("subdomain", "a.b", "a"),
    258: spec("priorityClassName", "A_", "a.b"),
    259: spec("runtimeClassName", "A_", "a.b"),
    260: spec("preemptionPolicy", "", "Never"),
    261: spec("preemptionPolicy", "Always", "PreemptLowerPriority"),
    262: spec("overhead", {"memory": "-1"}, {"memory": "1Mi"}, field="spec.overhead.limits[memory]"),
    263: spec("hostAliases", [{"ip": "1.2.3", "hostnames": ["a"]}], [{"ip": "1.2.3.4"}], field="spec.hostAliases.ip"),
    264: spec(
        "hostAliases",
        [{"ip": "1.2.3.4", "hostnames": ["A_"]}],
        [{"ip": "1.2.3.4", "hostnames": ["a.b"]}],
        field="spec.hostAliases.hostnames",
    ),
    265: Stored(
        change={"spec.imagePullSecrets": [{"name": "s", "namespace": "n"}]},
        expected={"spec.imagePullSecrets": [{"name": "s"}]},
    ),
    266: Refused(change=tolerates(key="a b", operator="Exists"), accepts=tolerates(key="a/b", operator="Exists")),
    267: Refused(change=tolerates(operator="Equal"), accepts=tolerates(operator="Exists")),
    268: Refused(change=tolerates(key="a", operator="Is"), accepts=tolerates(key="a", value="b")),
    269: Refused(
        change=tolerates(key="a", value="b c"),
        accepts=tolerates(key="a", value="b"),
        field="spec.tolerations[0].operator",
    ),
    270: Refused(
        change=tolerates(key="a", operator="Exists", value="b"),
        accepts=tolerates(key="a", operator="Exists"),
        field="spec.tolerations[0].operator",
    ),
    271: Refused(change=tolerates(key="a", effect="Run"), accepts=tolerates(key="a", effect="PreferNoSchedule")),
    272: Refused(
        change=tolerates(key="a", effect="NoSchedule", tolerationSeconds=1),
        accepts=tolerates(key="a", effect="NoExecute", tolerationSeconds=1),
    ),
    273: spreads([spread(maxSkew=0)], [spread()]),
    274: spreads([spread(topologyKey="")], [spread()]),
    275: spreads([spread(whenUnsatisfiable="Wait")], [spread(whenUnsatisfiable="ScheduleAnyway")]),
    276: spreads(
        [spread(), spread(maxSkew=2)],
        [spread(), spread(whenUnsatisfiable="ScheduleAnyway")],
        field="spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
    ),
    277: Stored(
        change={"spec.topologySpreadConstraints": [spread(minDomains=0)]},
        expected={"spec.topologySpreadConstraints[0].minDomains": GONE},
    ),
    278: Stored(
        change={"spec.topologySpreadConstraints": [spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway")]},
        expected={"spec.topologySpreadConstraints[0].minDomains": GONE},
    ),
    279: Refused(change={TERMS: []}, accepts={TERMS: [LABELLED]}),
    280: nodes(expression("a", "Has"), expression("a", "Exists")),
    281: nodes(expression("a b", "Exists"), expression("example.com/a", "Exists")),
    282: nodes(expression("a", "In"), expression("a", "NotIn", "b")),
    283: nodes(expression("a", "Exists", "b"), expression("a", "DoesNotExist")),
    284: nodes(expression("a", "Gt", "1", "2"), expression("a", "Lt", "1")),
    285: nodes(expression("metadata.name", "Exists"), expression("metadata.name", "In", "n"), "matchFields"),
    286: nodes(expression("metadata.name", "In", "a", "b"), expression("metadata.name", "In", "n"), "matchFields"),
    287: nodes(expression("spec.x", "In", "a"), expression("metadata.name", "In", "n"), "matchFields"),
    288: nodes(expression("metadata.name", "In", "A_"), expression("metadata.name", "In", "a.b"), "matchFields"),
    289: [
        Refused(
            change={f"{NODES}.{PREFERRED}": [{"weight": weight, "preference": LABELLED}]},
            accepts={f"{NODES}.{PREFERRED}": [{"weight": 100, "preference": LABELLED}]},
        )
        for weight in (0, 101)
    ],
    290: Refused(
        change={f"{NODES}.{PREFERRED}": [{"weight": 1, "preference": SELECTS_WRONGLY}]},
        accepts={f"{NODES}.{PREFERRED}": [{"weight": 1, "preference": LABELLED}]},
        field=f"{NODES}.{PREFERRED}[0].preference.matchExpressions[0].operator",
    ),
    291: pods(
        {"labelSelector": SELECTS_WRONGLY},
        {"labelSelector": SELECTS},
        field=f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator",
    ),
    292: pods(
        {"namespaceSelector": SELECTS_WRONGLY},
        {"namespaceSelector": SELECTS},
        field=f"spec.affinity.podAffinity.{REQUIRED}[0].namespaceSelector.matchExpressions[0].operator",
    ),
    293: pods(
        {"namespaces": ["A"]}, {"namespaces": ["a"]}, field=f"spec.affinity.podAffinity.{REQUIRED}[0].namespace"
    ),
    294: pods({"topologyKey": ""}, {}),
    295: pods({"topologyKey": "a b"}, {}),
    296: Refused(
        change={f"spec.affinity.podAffinity.{PREFERRED}": [{**WEIGHT, "weight": 101}]},
        accepts={f"spec.affinity.podAffinity.{PREFERRED}": [WEIGHT]},
    ),
    297: Refused(
        change={f"spec.affinity.podAffinity.{PREFERRED}": [{**WEIGHT, "podAffinityTerm": {"topologyKey": "a b"}}]},
        accepts={f"spec.affinity.podAffinity.{PREFERRED}": [WEIGHT]},
        field=f"spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.topologyKey",
    ),
    298: pods(
        {"topologyKey": "a b"},
        {},
        place="podAntiAffinity",
        field=f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey",
    ),
    299: secured("fsGroup", -1, 0, detail=RANGE),
    300: secured("runAsUser", 1 << 31, (1 << 31) - 1, detail=RANGE),
    301: secured("runAsGroup", -1, 0, detail=RANGE),
    302: secured("supplementalGroups", [0, -1], [0], detail=RANGE),
    303: Refused(
        change={"spec.shareProcessNamespace": True, "spec.hostPID": True},
        accepts={"spec.shareProcessNamespace": True},
        field=f"{SECURITY}.shareProcessNamespace",
    ),
    304: secured("sysctls", [{"name": "", "value": "1"}], [{"name": "a.b", "value": "1"}]),
    305: secured("sysctls", [{"name": "A", "value": "1"}], [{"name": "net.ipv4.tcp_x", "value": "1"}]),
    306: [
        secured(
            "sysctls",
            [{"name": "a/b", "value": "1"}],
            [{"name": "a.b", "value": "1"}],
            on="create",
            detail="regex",
        ),
        Shown("tests.registry.groups.core.test_pods.PodRulesTests.test_stored_slashes"),
    ],
    307: secured("sysctls", [{"name": "a", "value": "1"}] * 2, [{"name": "a", "value": "1"}]),
    308: secured("fsGroupChangePolicy", "Often", "OnRootMismatch"),
    309: secured(
        "seccompProfile",
        {"type": "Unconfined", "localhostProfile": "a"},
        {"type": "Localhost", "localhostProfile": "a"},
        field=f"{SECURITY}.seccompProfile.localhostProfile",
    ),
    310: secured(
        "windowsOptions.gmsaCredentialSpecName",
        "A_",
        "a",
        field=f"{SECURITY}.windowsOptions.gmsaCredentialSpecName",
    ),
    311: Refused(
        change={
            "spec.hostNetwork": True,
            **HOST_PROCESS,
            "spec.containers[1]": {**CONTAINER, "name": "d"},
            "spec.containers[1].securityContext.windowsOptions.hostProcess": False,
        },
        accepts=None,
    ),
    312: Refused(change=HOST_PROCESS, accepts=None),
    313: Refused(change={"spec.hostNetwork": True, **HOST_PROCESS}, accepts=None),
    314: spec("os", {"name": ""}, {"name": "linux"}),
    315: spec("os", {"name": "plan9"}, {"name": "windows"}),
    316: Refused(
        change={"spec.os.name": "linux", f"{SECURITY}.windowsOptions.runAsUserName": "u"},
        accepts={"spec.os.name": "windows", f"{SECURITY}.windowsOptions.runAsUserName": "u"},
    ),
    318: [
        Refused(
            change={"spec.os.name": "windows", f"spec.{key}": True},
            accepts={"spec.os.name": "linux", f"spec.{key}": True},
        )
        for key in ("hostPID", "hostIPC", "shareProcessNamespace")
    ],
    319: [
        Refused(
            change={"spec.os.name": "windows", f"{SECURITY}.{key}": value},
            accepts={"spec.os.name": "linux", f"{SECURITY}.{key}": value},
        )
        for key, value in {
            "seLinuxOptions": {"level": "s0"},
            "seccompProfile": {"type": "Unconfined"},
            "fsGroup": 1,
            "fsGroupChangePolicy": "Always",
            "sysctls": [{"name": "a", "value": "1"}],
            "runAsUser": 1,
            "runAsGroup": 1,
            "supplementalGroups": [1],
        }.items()
    ],
    321: Accepted(
        change={
            "spec.containers[0].resources": {
                "limits": {"cpu": "1", "hugepages-2Mi": "2Mi", "hugepages-1Gi": "1Gi"},
            }
        }
    ),
    322: Refused(change={MIRROR: "x"}, accepts={MIRROR: "x", "spec.nodeName": "n"}),
    323: [
        Refused(change={TOLERATIONS: text}, accepts={TOLERATIONS: '[{"operator":"Exists"}]'}, field=TOLERATIONS + at)
        for text, at in [("{", ""), ("[1]", ""), ('[{"key":"a b"}]', "[0].key"), ('{"a":1}', "")]
    ],
    324: [
        Refused(change={SECCOMP: wrong}, accepts={SECCOMP: right})
        for wrong, right in [("any", "unconfined"), ("runtime", "runtime/default"), ("x/y", "localhost/a")]
    ],
    325: Refused(
        change={CONTAINER_SECCOMP: "any"}, accepts={CONTAINER_SECCOMP: "docker/default"}, field=CONTAINER_SECCOMP
    ),
    326: Refused(change={OTHERS_APPARMOR: "unconfined"}, accepts={APPARMOR: "unconfined"}, field=OTHERS_APPARMOR),
    327: Refused(
        change={APPARMOR: "x"},
        accepts={APPARMOR: "localhost/a"},
        field=APPARMOR,
        detail='invalid AppArmor profile name: "x"',
    ),
    328: [
        Refused(change={COST: wrong}, accepts={COST: right})
        for wrong, right in [("+1", "-1"), ("01", "0"), ("2147483648", "2147483647"), ("x", "-2147483648")]
    ],
    329: [
        Refused(
            change={SECCOMP: "unconfined", f"{SECURITY}.seccompProfile": {"type": "RuntimeDefault"}},
            accepts={SECCOMP: "docker/default", f"{SECURITY}.seccompProfile": {"type": "RuntimeDefault"}},
        ),
        Refused(
            change={
                CONTAINER_SECCOMP: "unconfined",
                "spec.containers[0].securityContext.seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
            },
            accepts={
                CONTAINER_SECCOMP: "localhost/a",
                "spec.containers[0].securityContext.seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
            },
            field="spec.containers[0].securityContext.seccompProfile.type",
        ),
    ],
    330: Refused(
        change={
            SECCOMP: "localhost/a",
            f"{SECURITY}.seccompProfile": {"type": "Localhost", "localhostProfile": "b"},
        },
        accepts={
            SECCOMP: "localhost/b",
            f"{SECURITY}.seccompProfile": {"type": "Localhost", "localhostProfile": "b"},
        },
    ),
    334: Refused(
        before={"spec.activeDeadlineSeconds": 5},
        change={"spec.activeDeadlineSeconds": 6},
        accepts={"spec.activeDeadlineSeconds": 4},
    ),
    335: Refused(
        change={"spec.activeDeadlineSeconds": -1},
        accepts={"spec.activeDeadlineSeconds": 1},
        detail="must be between 0 and 2147483647, inclusive",
    ),
    336: Refused(
        before={"spec.activeDeadlineSeconds": 5},
        change={"spec.activeDeadlineSeconds": GONE},
    ),
    337: Refused(
        before=tolerates(key="a", effect="NoExecute", tolerationSeconds=5),
        change=tolerates(key="b", effect="NoExecute", tolerationSeconds=5),
        accepts={
            "spec.tolerations": [
                {"key": "b"},
                {"key": "a", "effect": "NoExecute", "tolerationSeconds": 6},
            ]
        },
    ),
    338: [
        Accepted(before={"spec.terminationGracePeriodSeconds": -5}, change={"spec.terminationGracePeriodSeconds": 1}),
        Stored(
            before={"spec.terminationGracePeriodSeconds": -5},
            change={"spec.terminationGracePeriodSeconds": 1},
            expected={"spec.terminationGracePeriodSeconds": 1},
        ),
    ],
    339: [
        Refused(change={"spec.hostname": "x"}, accepts=MAY_CHANGE, detail="pod updates may not change fields"),
        Refused(
            before={"spec.terminationGracePeriodSeconds": 5},
            change={"spec.terminationGracePeriodSeconds": 1},
            detail="pod updates may not change fields",
        ),
    ],
    340: [
        Refused(change={APPARMOR: "unconfined"}, field=APPARMOR),
        Refused(before={APPARMOR: "unconfined"}, change={APPARMOR: "runtime/default"}, field=APPARMOR),
        Refused(before={APPARMOR: "unconfined"}, change={APPARMOR: GONE}, field=APPARMOR),
    ],
    341: [
        Refused(before={"spec.nodeName": "n"}, change={MIRROR: "x"}),
        Refused(before={"spec.nodeName": "n", MIRROR: "x"}, change={MIRROR: GONE}),
    ],
    342: Refused(
        change={"metadata.annotations[seccomp.security.alpha.orch.io/pod]": "any"},
        field=SECCOMP,
        detail="must be a valid seccomp profile",
    ),
}
