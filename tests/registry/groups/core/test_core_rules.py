"""Rules of core kinds, statement by statement, as writers meet them (reference KIND-13 to KIND-75)."""

from __future__ import annotations

import base64
from typing import Any

from orchtw.wire.objects import Object
from tests.verbs.served import MERGE, ServedCase

NAMESPACES, NODES = "/api/v1/namespaces", "/api/v1/nodes"
DRY = "?dryRun=All"
IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"
QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
RESOURCES, CONTEXT = "spec.containers[0].resources", "spec.containers[0].securityContext"
NO_LIMIT = f"{RESOURCES}.limits: Required value: Limit must be set for non overcommitable resources"


def pod(**container: object) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


class RuleCase(ServedCase):
    """A server on which pods may be privileged."""

    more = {"allow_privileged": True}

    def written(self, text: str, path: str, obj: Object, method: str = "POST") -> Object:
        """The answer to a write, which is refused with this text, or succeeds without one."""
        answer = self.send(method, path, obj, MERGE if method == "PATCH" else None)
        self.assertEqual(answer.code >= 400, bool(text), f"{path} {obj}: {answer.body!r}")
        self.assertIn(text, answer.json.get("message", ""))
        found: Object = answer.json
        return found


class ContainerTests(RuleCase):
    """Containers of new pods."""

    def test_resources(self) -> None:
        """Names, amounts and comparisons of resources have their rules and places (reference KIND-43)."""
        huge = {"hugepages-2Mi": "4Mi", "cpu": "1"}
        uneven = {"hugepages-2Mi": "3Mi", "cpu": "1"}
        for limits, requests, text in (
            ({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}, {"cpu": "500m"}, ""),
            ({"cpu": "1"}, {"cpu": "2"}, f'{RESOURCES}.requests: Invalid value: "2": must be less than or equal to'),
            ({"foo": "1"}, {}, f'{RESOURCES}.limits[foo]: Invalid value: "foo": must be a standard resource type or'),
            ({"storage": "1"}, {}, f"{RESOURCES}.limits[storage]: "),
            ({"cpu": "-1"}, {}, f'{RESOURCES}.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
            ({"a.b/c": "1"}, {}, ""),
            ({"a.b/c": "1.5"}, {}, f'{RESOURCES}.limits[a.b/c]: Invalid value: "1500m": must be an integer'),
            ({}, {"a.b/c": "1"}, NO_LIMIT),
            ({"a.b/c": "1"}, {"a.b/c": "2"}, f'{RESOURCES}.requests: Invalid value: "2": must be equal to a.b/c'),
            (huge, {}, ""),
            ({"hugepages-2Mi": "4Mi"}, {}, f"{RESOURCES}: Forbidden: HugePages require cpu or memory"),
            ({}, huge, NO_LIMIT),
            (huge, {"hugepages-2Mi": "2Mi"}, f'{RESOURCES}.requests: Invalid value: "2Mi": must be equal to'),
            (uneven, {}, f'{RESOURCES}.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer'),
        ):  # fmt: skip
            self.written(text, f"pods{DRY}", pod(resources={"limits": limits, "requests": requests}))
        answer = self.send("POST", f"pods{DRY}", pod(resources={"limits": {"memory": "100m"}}))
        warning = f'{RESOURCES}.limits[memory]: fractional byte value \\"100m\\" is invalid, must be an integer'
        self.assertEqual((answer.code, warning in answer.headers["warning"]), (201, True))

    def test_security(self) -> None:
        """Privileges, seccomp profiles and Windows users have their rules (reference KIND-44)."""
        contained = {"allowPrivilegeEscalation": False}
        profile = f"{CONTEXT}.seccompProfile"
        for context, text in (
            ({**contained, "privileged": True}, f"{CONTEXT}: Invalid value: "),
            ({**contained, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}, f"{CONTEXT}: Invalid value: "),
            ({**contained, "capabilities": {"add": ["NET_ADMIN"]}}, ""),
            ({"privileged": True}, ""),
            ({"seccompProfile": {}}, f"{profile}.type: Required value"),
            ({"seccompProfile": {"type": "Localhost"}}, f"{profile}.localhostProfile: Required value"),
            ({"seccompProfile": {"type": "Localhost", "localhostProfile": "x"}}, ""),
            ({"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}, f"{profile}.localhostProfile"),
            ({"windowsOptions": {"runAsUserName": r"DOMAIN\user"}}, ""),
            ({"windowsOptions": {"runAsUserName": "user"}}, ""),
            ({"windowsOptions": {"runAsUserName": r"a\b\c"}}, f"{CONTEXT}.windowsOptions.runAsUserName: "),
        ):
            self.written(text, f"pods{DRY}", pod(securityContext=context))

    def test_probes(self) -> None:
        """Probes and lifecycle events have one handler, and numbers of their own (reference KIND-44)."""
        run, both = {"exec": {"command": ["a"]}}, {"exec": {"command": ["a"]}, "httpGet": {"port": 1}}
        more, at = "Forbidden: may not specify more than 1 handler type", "spec.containers[0]."
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            place = f"{at}{probe}"
            self.written(f"{place}.httpGet: {more}", f"pods{DRY}", pod(**{probe: both}))
            self.written(f"{place}: Required value: must specify a handler", f"pods{DRY}", pod(**{probe: {}}))
            for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"):
                negative = {**run, field: -1}
                self.written(f"{place}.{field}: Invalid value: -1: must be", f"pods{DRY}", pod(**{probe: negative}))
            ready = probe == "readinessProbe"
            text = "" if ready else f"{place}.successThreshold: Invalid value: 2: must be 1"
            self.written(text, f"pods{DRY}", pod(**{probe: {**run, "successThreshold": 2}}))
            text = f"{place}.terminationGracePeriodSeconds: Invalid value: 2" if ready else ""
            self.written(text, f"pods{DRY}", pod(**{probe: {**run, "terminationGracePeriodSeconds": 2}}))
        for event in ("postStart", "preStop"):
            place = f"{at}lifecycle.{event}"
            self.written(f"{place}.httpGet: {more}", f"pods{DRY}", pod(lifecycle={event: both}))
            self.written(f"{place}: Required value", f"pods{DRY}", pod(lifecycle={event: {}}))

    def test_ephemeral(self) -> None:
        """`pods/ephemeralcontainers` appends ephemeral containers and changes nothing else (reference KIND-13)."""
        made = self.done("POST", "pods", pod())
        spec = {"ephemeralContainers": [{"name": "e", "image": "i"}], "activeDeadlineSeconds": 5}
        changed = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        found = self.done("PATCH", "pods/p/ephemeralcontainers", changed, MERGE)
        self.assertEqual([each["name"] for each in found["spec"].pop("ephemeralContainers")], ["e"])
        self.assertEqual((found["spec"], found["metadata"].get("labels")), (made["spec"], None))
        lists: list[list[Object]] = [[], [{"name": "e", "image": "other"}]]
        for containers in lists:
            patch = {"spec": {"ephemeralContainers": containers}}
            self.assertEqual(self.code("PATCH", "pods/p/ephemeralcontainers", patch, MERGE), 422)


class DataTests(RuleCase):
    """Secrets, config maps and service accounts (reference KIND-70)."""

    def test_keys(self) -> None:
        """Keys are file names (reference KIND-70, OBJ-28)."""
        for key, text in (
            ("-._aA0", ""), ("a" * 253, ""), ("a b", "a valid config key must"), ("a/b", "a valid config key must"),
            (".", "must not be '.'"), ("..", "must not be '..'"), ("..a", "must not start with '..'"),
            ("a" * 254, "must be no more than 253 characters"),
        ):  # fmt: skip
            text = f"data[{key}]: Invalid value: " + f'"{key}": {text}' if text else ""
            self.written(text, f"configmaps{DRY}", {"metadata": {"name": "x"}, "data": {key: ""}})
            self.written(text, f"secrets{DRY}", {"metadata": {"name": "x"}, "stringData": {key: ""}})

    def test_sizes(self) -> None:
        """All values together have 1 MiB at most, and a key is in one of both maps (reference KIND-70, LIMIT-5)."""
        full = "x" * ((1 << 20) - 1)
        for data, binary, text in (
            ({"a": full}, {"b": "YQ=="}, ""),
            ({"a": full}, {"b": "YWI="}, "[]: Too long: must have at most 1048576 bytes"),
            ({"a": ""}, {"a": ""}, 'data[a]: Invalid value: "a": duplicate of key present in binaryData'),
        ):
            obj = {"metadata": {"name": "x"}, "data": data, "binaryData": binary}
            self.written(text, f"configmaps{DRY}", obj)
        for size, text in ((1 << 20, ""), ((1 << 20) + 1, "data: Too long: must have at most 1048576 bytes")):
            self.written(text, f"secrets{DRY}", {"metadata": {"name": "x"}, "stringData": {"a": "x" * size}})

    def test_immutable(self) -> None:
        """Data of an immutable object stays, and so does its being immutable (reference KIND-70)."""
        for plural, fields in (("configmaps", ("data", "binaryData")), ("secrets", ("data",))):
            obj = {"metadata": {"name": "x"}, "data": {"a": "YQ=="}, "immutable": True}
            self.done("POST", plural, obj)
            for field in fields:
                self.written(f"{field}: {IMMUTABLE}", f"{plural}/x", {field: {"b": "YQ=="}}, "PATCH")
            for value in (False, None):
                self.written(f"immutable: {IMMUTABLE}", f"{plural}/x", {"immutable": value}, "PATCH")
            self.written("", f"{plural}/x", {"metadata": {"labels": {"a": "b"}}}, "PATCH")
        self.written("type: Invalid value", "secrets/x", {"type": "a.b/c"}, "PATCH")

    def test_credentials(self) -> None:
        """Credentials that are not JSON are refused without being told (reference KIND-70)."""
        for kind, key in (("orch.io/dockerconfigjson", ".dockerconfigjson"), ("orch.io/dockercfg", ".dockercfg")):
            obj = {"metadata": {"name": "x"}, "type": kind, "stringData": {key: "hidden"}}
            found = self.written(f'data[{key}]: Invalid value: "<secret contents redacted>": ', f"secrets{DRY}", obj)
            encoded = base64.b64encode(b"hidden").decode()
            self.assertFalse([text for text in ("hidden", encoded) if text in found["message"]])

    def test_accounts(self) -> None:
        """A service account's secrets are names (reference KIND-70)."""
        secret = {"name": "s", "kind": "Secret", "namespace": "other", "uid": "u", "apiVersion": "v1"}
        account = {"metadata": {"name": "x"}, "secrets": [secret]}
        self.assertEqual(self.written("", f"serviceaccounts{DRY}", account)["secrets"], [{"name": "s"}])


class NamespaceTests(RuleCase):
    """Finalizers and phases of namespaces (reference KIND-71)."""

    def test_finalizers(self) -> None:
        """Finalizers are known words or have a domain; only /finalize changes them (reference KIND-71)."""
        for finalizer in ("orch", "orphan", "foregroundDeletion", "a.b/c", "x"):
            text = QUALIFIED if finalizer == "x" else ""
            obj: Object = {"metadata": {"name": "n"}, "spec": {"finalizers": [finalizer]}}
            self.written(text, f"{NAMESPACES}{DRY}", obj)
        live = self.done("POST", NAMESPACES, {"metadata": {"name": "n"}})
        for finalizers, text in ((["orch", "a.b/c"], ""), (["x"], QUALIFIED)):
            wanted = {**live, "spec": {"finalizers": finalizers}}
            self.assertEqual(self.done("PUT", f"{NAMESPACES}/n{DRY}", wanted)["spec"], live["spec"])
            self.assertEqual(self.done("PUT", f"{NAMESPACES}/n/status{DRY}", wanted)["spec"], live["spec"])
            found = self.written(text, f"{NAMESPACES}/n/finalize{DRY}", wanted, "PUT")
            self.assertEqual(found.get("spec", {}).get("finalizers"), None if text else finalizers)

    def test_phase(self) -> None:
        """A namespace is Terminating exactly while it is being deleted (reference KIND-71)."""
        self.done("POST", NAMESPACES, {"metadata": {"name": "n"}})
        for phase, other in (("Active", "Terminating"), ("Terminating", "Active")):
            live = self.done("GET", f"{NAMESPACES}/n")
            self.assertEqual(live["status"]["phase"], phase)
            wanted = {**live, "status": {"phase": other}}
            self.written("status.Phase: Invalid value: ", f"{NAMESPACES}/n/status", wanted, "PUT")
            if phase == "Active":
                self.done("DELETE", f"{NAMESPACES}/n")


class NodeTests(RuleCase):
    """Nodes that are created (reference KIND-75)."""

    def node(self, text: str, **spec: Any) -> Object:
        """The node that is made with this spec."""
        obj = {"metadata": {"name": "n"}, "spec": spec, "status": {"capacity": {"cpu": "1"}}}
        return self.written(text, f"{NODES}{DRY}", obj)

    def test_taints(self) -> None:
        """Each pair of key and effect comes once, and is told at metadata.taints (reference KIND-75)."""
        taint = {"key": "a.b/c", "effect": "NoSchedule", "value": "1"}
        self.node("", taints=[taint, {**taint, "effect": "NoExecute"}])
        self.node("metadata.taints[1]: Duplicate value: ", taints=[taint, {**taint, "value": "2"}])
        self.node("metadata.taints[0].effect: Unsupported value: ", taints=[{**taint, "effect": "X"}])

    def test_ranges(self) -> None:
        """podCIDR is the first of podCIDRs, of which there is one of each family (reference KIND-75)."""
        four, six, other = "10.0.0.0/24", "fd00::/64", "10.1.0.0/24"
        for spec, expected in (
            ({"podCIDR": four}, [four]),
            ({"podCIDRs": [four, six]}, [four, six]),
            ({"podCIDR": four, "podCIDRs": [other]}, [four]),
        ):
            found = self.node("", **spec)["spec"]
            self.assertEqual((found["podCIDR"], found["podCIDRs"]), (expected[0], expected))
        for ranges in ([four, other], [four, six, other]):
            self.node("spec.podCIDRs: Invalid value: ", podCIDRs=ranges)

    def test_created(self) -> None:
        """A node is created with its status and without dynamic settings (reference KIND-75)."""
        found = self.node("", configSource={"configMap": {"namespace": "a", "name": "b", "orchletConfigKey": "c"}})
        self.assertEqual((found["status"]["capacity"], found["spec"].get("configSource")), ({"cpu": "1"}, None))
