"""Resources, security, probes and lifecycles of containers."""

from __future__ import annotations

from typing import Any

from tests.validation.case import Examples
from tests.validation.container_examples import C, anywhere
from tests.validation.examples import Accepted, Changes, Refused, Shown

TESTS = "tests.validation.test_pod_containers.PodContainerTests"
GPU, PAGES = "example.com/gpu", "hugepages-2Mi"
LIMITS, REQUESTS = f"{C}.resources.limits", f"{C}.resources.requests"


def limited(name: str, amount: str, **more: Any) -> dict[str, Any]:
    """Resources with one limit, which is requested too."""
    return {"limits": {name: amount}, "requests": {name: amount}, **more}


RESOURCES: Examples = {
    182: [
        anywhere("resources", {"limits": {name: "1"}}, limited("cpu", "1"), field=f"{LIMITS}[{name}]")
        for name in ("pods", "storage", "requests.cpu")
    ],
    183: anywhere("resources", {"requests": {"pods": "1"}}, field=f"{REQUESTS}[pods]"),
    184: anywhere("resources", {"limits": {"a b": "1"}}, field=f"{LIMITS}[a b]"),
    185: anywhere("resources", {"limits": {"gpu": "1"}}, limited(GPU, "1"), field=f"{LIMITS}[gpu]"),
    186: [
        anywhere(
            "resources", {"limits": {name: "1"}}, {"limits": {"orch.io/own": "1"}}, field=f"{LIMITS}[{name}]"
        )
        for name in ("requests.example.com/gpu", f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 60}/x")
    ],
    187: anywhere("resources", {"limits": {"cpu": "-1"}}, {"limits": {"cpu": "0"}}, field=f"{LIMITS}[cpu]"),
    188: anywhere("resources", {"requests": {"memory": "-1Mi"}}, field=f"{REQUESTS}[memory]"),
    189: anywhere("resources", limited(GPU, "1500m"), limited(GPU, "2k"), field=f"{LIMITS}[{GPU}]"),
    190: anywhere("resources", limited(GPU, "500m"), field=f"{REQUESTS}[{GPU}]"),
    191: [
        anywhere(
            "resources",
            {"limits": {name: limit}, "requests": {name: amount}},
            {"limits": {name: limit}, "requests": {name: limit}},
            detail=f"must be less than or equal to {name} limit",
        )
        for name, limit, amount in (
            ("cpu", "500m", "1"),
            ("memory", "1Gi", "1025Mi"),
            ("ephemeral-storage", "1e3", "1e999999999"),
        )
    ],
    192: [
        anywhere(
            "resources",
            {"limits": {name: "4Mi", "cpu": "1"}, "requests": {name: "2Mi"}},
            {"limits": {name: "4Mi", "cpu": "1"}, "requests": {name: "4Mi"}},
            detail=f"must be equal to {name} limit",
        )
        for name in (GPU, PAGES)
    ],
    193: [anywhere("resources", {"requests": {name: "2Mi", "cpu": "1"}}) for name in (GPU, PAGES)],
    194: anywhere("resources", limited(PAGES, "2Mi"), {"limits": {PAGES: "2Mi", "memory": "1Mi"}}),
    195: [
        anywhere(
            "resources",
            {"limits": {name: amount, "cpu": "1"}},
            {"limits": {PAGES: "4Mi", "cpu": "1"}},
            field=f"{LIMITS}[{name}]",
            detail=f"{amount} is not positive integer multiple of {name}",
        )
        for name, amount in (
            (PAGES, "3Mi"),
            ("hugepages-1Gi", "1Mi"),
            ("hugepages-", "1Mi"),
            ("hugepages-0", "1Mi"),
            ("hugepages-500m", "1Mi"),
            ("hugepages-1e999999999", "1Mi"),
            ("hugepages-7", "1e999999999"),
        )
    ],
}


def sc(key: str, wrong: Any, fine: Any = None, **more: Any) -> Refused:
    """A value of the security context."""
    accepts = None if fine is None else {key: fine}
    return anywhere("securityContext", {key: wrong}, accepts, **more)


def windows(key: str, wrong: str, fine: str = "", **more: Any) -> Refused:
    """A value of the windows options."""
    return sc("windowsOptions", {key: wrong}, {key: fine} if fine else None, **more)


def user(wrong: str, detail: str, fine: str = "ContainerUser") -> Refused:
    """The name of a windows user."""
    return windows("runAsUserName", wrong, fine, detail=f"runAsUserName{detail}")


LARGEST_ID = 2**31 - 1
PROFILE = "seccompProfile"
ESCALATION: Changes = {"allowPrivilegeEscalation": False}
SECURITY: Examples = {
    196: sc("privileged", True, False),
    197: [sc("runAsUser", each, LARGEST_ID) for each in (-1, LARGEST_ID + 1)],
    198: [sc("runAsGroup", each, 0) for each in (-1, LARGEST_ID + 1)],
    199: sc("procMount", "Else", "Default"),
    200: sc(PROFILE, {"localhostProfile": "a"}),
    201: sc(PROFILE, {"type": "Else"}, {"type": "Unconfined"}),
    202: sc(PROFILE, {"type": "Localhost"}, {"type": "Localhost", "localhostProfile": "a/b"}),
    203: [sc(PROFILE, {"type": "Localhost", "localhostProfile": path}) for path in ("/a", "a/..")],
    204: sc(PROFILE, {"type": "RuntimeDefault", "localhostProfile": "a"}, {"type": "RuntimeDefault"}),
    205: anywhere("securityContext", {**ESCALATION, "privileged": True}, ESCALATION),
    206: anywhere(
        "securityContext",
        {**ESCALATION, "capabilities": {"add": ["NET_ADMIN", "CAP_SYS_ADMIN"]}},
        {**ESCALATION, "capabilities": {"add": ["NET_ADMIN"]}},
    ),
    207: windows("gmsaCredentialSpecName", "A", "a.b"),
    208: [
        windows("gmsaCredentialSpec", "", detail="gmsaCredentialSpec cannot be an empty string"),
        Shown("tests.registry.groups.core.test_containers.ContainerTests.test_long_credentials"),
    ],
    209: [
        user("", " cannot be an empty string"),
        user("a\tb", " cannot contain control characters"),
        user("a\\b\\c", " cannot contain more than one backslash", "NT Authority\\User"),
    ],
    210: [
        user(f"{'a' * 256}\\b", "'s Domain length must be under 256 characters"),
        user("sixteen:letters-\\b", "'s Domain doesn't match the NetBios nor the DNS format", "long.a-domain.com\\b"),
        user(".a\\b", "'s Domain doesn't match the NetBios nor the DNS format"),
    ],
    211: [
        user("a\\", "'s User cannot be empty"),
        user("a" * 105, "'s User length must not be longer than 104 characters", "a" * 104),
        user(". .", "'s User cannot contain only periods or spaces", "a. ."),
        user("a@b", r"'s User cannot contain the following characters: \"/"),
    ],
    212: anywhere(
        "securityContext",
        {"windowsOptions": {"hostProcess": True}},
        {"windowsOptions": {"hostProcess": False}},
        before={"spec.securityContext.windowsOptions.hostProcess": False, "spec.hostNetwork": True},
        detail="pod hostProcess value must be identical if both are specified, was false",
    ),
    317: [
        anywhere("securityContext", {"windowsOptions": {"runAsUserName": "a"}}, before={"spec.os.name": "linux"}),
        Accepted(
            before={"spec.os.name": "windows"},
            change={f"{C}.securityContext.windowsOptions.runAsUserName": "a"},
        ),
    ],
    320: [
        anywhere("securityContext", {key: value}, {"runAsNonRoot": True}, before={"spec.os.name": "windows"})
        for key, value in (
            ("seLinuxOptions", {"user": "a"}),
            ("seccompProfile", {"type": "Unconfined"}),
            ("capabilities", {"add": ["A"]}),
            ("readOnlyRootFilesystem", True),
            ("privileged", False),
            ("allowPrivilegeEscalation", True),
            ("procMount", "Default"),
            ("runAsUser", 1),
            ("runAsGroup", 1),
        )
    ],
}

COMMAND = {"exec": {"command": ["a"]}}


def probe(key: str, wrong: Any, fine: Any = None, on: str = "livenessProbe", **more: Any) -> Refused:
    """A probe that runs a command, with a further value; of a dict, the probe itself is that."""
    accepts = {} if fine is None else {f"{C}.{on}": {**COMMAND, key: fine}}
    return Refused(change={f"{C}.{on}": {**COMMAND, key: wrong}}, accepts=accepts, **more)


def handler(wrong: Any, fine: Any = COMMAND, on: str = "livenessProbe", **more: Any) -> Refused:
    """A handler of a probe or an event."""
    return Refused(change={f"{C}.{on}": wrong}, accepts={f"{C}.{on}": fine}, **more)


def http(**more: Any) -> dict[str, Any]:
    """Return a resource request."""
    return {"httpGet": {"port": 80, **more}}


TICKS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
HANDLERS: dict[str, Any] = {
    "httpGet": {"port": 80},
    "tcpSocket": {"port": 80},
    "grpc": {"port": 80},
}


PROBES: Examples = {
    **{
        number: [
            handler({}, on=on),
            handler({"exec": {}}, on=on, field=f"{C}.{on}.exec.command", detail="Required value"),
            Accepted(change={f"{C}.{on}": {"tcpSocket": {"port": 80}}}),
            Accepted(change={f"{C}.{on}": http(path="/a", scheme="HTTPS")}),
        ]
        for number, on in ((213, "lifecycle.postStart"), (214, "lifecycle.preStop"))
    },
    215: handler({}),
    216: [handler({**COMMAND, key: value}, field=f"{C}.livenessProbe.{key}") for key, value in HANDLERS.items()],
    217: handler({"exec": {}}),
    218: Accepted(change={f"{C}.livenessProbe": http(path="")}),
    219: [handler(http(port=port), http(port="http")) for port in (0, 65536, "80", "Http", "a--b")],
    220: handler(http(scheme="http"), http(scheme="HTTPS")),
    221: [
        handler(
            http(httpHeaders=[{"name": name, "value": "a"}]), http(httpHeaders=[{"name": "X-A1", "value": ""}])
        )
        for name in ("", "a b", "a_b")
    ],
    222: [handler({"tcpSocket": {"port": port}}, {"tcpSocket": {"port": "a"}}) for port in (-1, 65536, "")],
    223: [handler({"grpc": {"port": port}}, {"grpc": {"port": 1, "service": "a"}}) for port in (0, 65536)],
    **{number: probe(key, -1, 1) for number, key in zip(range(224, 229), TICKS, strict=True)},
    229: [probe("terminationGracePeriodSeconds", each, 1) for each in (0, -1)],
    230: probe("successThreshold", 2, 1),
    231: probe("successThreshold", 2, 1, on="startupProbe"),
    232: probe("terminationGracePeriodSeconds", 1, on="readinessProbe"),
    233: [
        Shown(f"{TESTS}.test_readiness_probe"),
        Accepted(change={f"{C}.readinessProbe": {**COMMAND, "successThreshold": 2}}),
    ],
    234: Shown(f"{TESTS}.test_startup_probe"),
    **{
        235 + offset: Refused(
            before={"spec.initContainers[0]": {"name": "i", "image": "i:1"}},
            change={f"spec.initContainers[0].{key}": value},
        )
        for offset, (key, value) in enumerate(
            (
                ("lifecycle", {"preStop": COMMAND}),
                ("livenessProbe", COMMAND),
                ("readinessProbe", COMMAND),
                ("startupProbe", COMMAND),
            )
        )
    },
}

NEEDS: Examples = {**RESOURCES, **SECURITY, **PROBES}
