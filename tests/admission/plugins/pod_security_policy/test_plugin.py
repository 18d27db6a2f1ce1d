"""PodSecurityPolicy in a whole server (reference PLUG-19, PLUG-104, PLUG-109)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar

from twisted.internet.defer import succeed

from orchtw import authz
from orchtw.admission.plugins.pod_security_policy.plugin import PodSecurityPolicy
from orchtw.authz.decision import ALLOWED, EVERYTHING, NO_OPINION, Decision, UserRules
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object
from tests.admission.asked import attributes
from tests.admission.plugins.pod_security_policy.policies import LOOSE, must
from tests.verbs.served import MERGE, PLUGIN, ServedCase

POLICIES = "/apis/policy/v1beta1/podsecuritypolicies"
ANNOTATION = "orch.io/psp"
BOB = {"impersonate-user": "bob"}


class Usable:
    """Everybody may do everything but use policies: those that `given` names, by user. It may answer late."""

    def __init__(self) -> None:
        self.given: set[tuple[str, str]] = set()
        self.group = "policy"
        self.late = False
        self.asked: list[tuple[UserInfo, RequestInfo]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        if info.resource != "podsecuritypolicies" or info.verb != "use":
            return ALLOWED
        self.asked.append((user, info))
        may = (user.name, info.name) in self.given and info.group == self.group
        decision = ALLOWED if may else NO_OPINION
        return succeed(decision) if self.late else decision

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return EVERYTHING


class PolicyCase(ServedCase):
    """Policies, rights on them, and bob who makes pods."""

    more: ClassVar[Mapping[str, Any]] = {
        "enable_admission_plugins": (PLUGIN, "PodSecurityPolicy"),
        "allow_privileged": True,
    }

    def setUp(self) -> None:
        self.rights = Usable()
        self.patch(authz, "MODES", {**authz.MODES, "RBAC": lambda host, config: self.rights})
        super().setUp()

    def policy(self, name: str, *users: str, annotations: Object | None = None, **spec: Any) -> None:
        """A policy that these may use."""
        metadata = {"name": name, "annotations": annotations or {}}
        self.done("POST", POLICIES, {"metadata": metadata, "spec": {**LOOSE, **spec}})
        self.rights.given |= {(user, name) for user in users}

    def made(self, name: str = "x", headers: Mapping[str, str] = BOB, **spec: Any) -> Object:
        return self.done("POST", "pods", self.pod(name, **spec), headers)

    def pod(self, name: str = "x", **spec: Any) -> Object:
        return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}

    def refused(self, **spec: Any) -> str:
        answer = self.send("POST", "pods", self.pod(**spec), BOB)
        self.assertEqual(answer.code, 403, answer.body)
        message: str = answer.json["message"]
        return message.removeprefix('pods "x" is forbidden: PodSecurityPolicy: unable to admit pod: ')

    def policy_of(self, pod: Object) -> Any:
        return pod["metadata"]["annotations"][ANNOTATION]


class CreateTests(PolicyCase):
    """Admission of new pods."""

    def test_no_policy(self) -> None:
        """Without a policy that may be used nothing is let in."""
        self.assertEqual(self.refused(), "[]")
        self.policy("a", "jane")
        self.assertEqual(self.refused(), "[]")

    def test_use(self) -> None:
        """Right `use` of the ensurer counts, in the pod's namespace."""
        self.policy("a", "bob")
        self.assertEqual(self.policy_of(self.made()), "a")
        user, info = self.rights.asked[0]
        self.assertEqual(user.name, "bob")
        self.assertEqual((info.group, info.version, info.namespace, info.name), ("policy", "*", "default", "a"))

    def test_old_group(self) -> None:
        """The right in the group that policies once were in counts too, and so does an answer that takes its time."""
        self.rights.group, self.rights.late = "extensions", True
        self.policy("a", "bob")
        self.assertEqual(self.policy_of(self.made()), "a")

    def test_account(self) -> None:
        """The right of the account that the pod runs as counts too."""
        self.policy("a", "system:serviceaccount:default:robot")
        self.assertEqual(self.refused(), "[]")
        self.assertEqual(self.policy_of(self.made(serviceAccountName="robot")), "a")
        user, _ = self.rights.asked[-1]
        self.assertEqual(user.groups, ("system:serviceaccounts", "system:serviceaccounts:default"))

    def test_order(self) -> None:
        """Of those that let a pod in as it is the first by name counts."""
        for name in ("c", "a", "b"):
            self.policy(name, "bob")
        self.assertEqual(self.policy_of(self.made()), "a")

    def test_unchanged_first(self) -> None:
        """One that changes nothing comes before one that does; else the first by name changes the pod."""
        self.policy("b", "bob", runAsUser=must(7, 9))
        self.policy("a", "bob", runAsUser=must(5, 9))
        changed = self.made("one")
        self.assertEqual(self.policy_of(changed), "a")
        self.assertEqual(changed["spec"]["containers"][0]["securityContext"], {"runAsUser": 5})
        self.policy("z", "bob")
        unchanged = self.made("two")
        self.assertEqual(self.policy_of(unchanged), "z")
        self.assertNotIn("securityContext", unchanged["spec"]["containers"][0])

    def test_filled(self) -> None:
        """Defaults of a policy are stored as if they had been sent."""
        labels = {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0"}}
        self.policy(
            "a",
            "bob",
            seLinux=labels,
            runAsUser=must(5, 9),
            runAsGroup=must(6, 9),
            fsGroup=must(7, 9),
            supplementalGroups=must(8, 9),
            requiredDropCapabilities=["KILL"],
            defaultAddCapabilities=["CHOWN"],
            readOnlyRootFilesystem=True,
            allowPrivilegeEscalation=False,
            annotations={"seccomp.security.alpha.orch.io/defaultProfileName": "runtime/default"}
            | {"seccomp.security.alpha.orch.io/allowedProfileNames": "*"},
        )
        first = self.made("one")
        own = first["spec"]["containers"][0]["securityContext"]
        expected: Object = {
            "capabilities": {"add": ["CHOWN"], "drop": ["KILL"]},
            "runAsUser": 5,
            "runAsGroup": 6,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
        }
        self.assertEqual(own, expected)
        expected = {
            "seLinuxOptions": {"level": "s0"},
            "supplementalGroups": [8],
            "fsGroup": 7,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        self.assertEqual(first["spec"]["securityContext"], expected)
        second = self.made("two", **first["spec"])
        self.assertEqual(first["spec"], second["spec"])
        self.assertEqual(list(own), list(second["spec"]["containers"][0]["securityContext"]))

    def test_causes(self) -> None:
        """The causes of all policies that may be used are told, of others none."""
        self.policy("a", "bob")
        self.policy("b", "bob", hostPID=True, fsGroup={"rule": "MayRunAs", "ranges": [{"min": 1, "max": 2}]})
        self.policy("c", hostPID=True)
        expected = (
            "[spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be used "
            "spec.securityContext.fsGroup: Invalid value: []int64{5}: group 5 must be in the ranges: [{1 2}]]"
        )
        self.assertEqual(self.refused(hostPID=True, securityContext={"fsGroup": 5}), expected)

    def test_unusable(self) -> None:
        """A policy that nobody can keep to lets nothing in."""
        self.policy("a", "bob", seLinux={"rule": "MustRunAs"})
        self.assertEqual(self.refused(), "[]")

    def test_changed_policies(self) -> None:
        """Policies count as they are."""
        self.policy("a", "bob")
        self.made("one")
        self.done("PATCH", f"{POLICIES}/a", {"spec": {"runAsUser": must(1, 2)}}, MERGE)
        self.assertEqual(self.made("two")["spec"]["containers"][0]["securityContext"]["runAsUser"], 1)
        self.done("DELETE", f"{POLICIES}/a")
        self.assertEqual(self.refused(), "[]")

    def test_audit(self) -> None:
        """The log hears which policy let a pod in, and in each pass."""
        self.policy("a", "admin")
        self.done("POST", "pods", self.pod())
        request = self.plugin.admitted[-1].request
        assert request is not None
        prefix = "podsecuritypolicy.policy.orch.io"
        found = {key: value for key, value in request.annotations.items() if key.startswith(prefix)}
        self.assertEqual(found, {f"{prefix}/admit-policy": "a", f"{prefix}/validate-policy": "a"})

    def test_invalid_pods(self) -> None:
        """A malformed pod gets the usual error."""
        self.policy("a", "bob", defaultAddCapabilities=["CHOWN"], volumes=["secret"])
        spec: Object
        for spec in (
            {"containers": [{}]},
            {"containers": None},
            {"volumes": [{}]},
            {"securityContext": {"sysctls": [{}]}},
            {"containers": [{"volumeMounts": [{}], "ports": [{}], "securityContext": {"capabilities": {}}}]},
        ):
            answer = self.send("POST", "pods", self.pod(**spec), BOB)
            self.assertIn(answer.code, (403, 422), spec)
        answer = self.send("POST", "pods", {"metadata": {"name": "x"}}, BOB)
        self.assertEqual(answer.code, 422)


class UpdateTests(PolicyCase):
    """Pods that are there."""

    def setUp(self) -> None:
        super().setUp()
        self.policy("a", "bob", "admin", runAsUser=must(5, 9))
        self.made()

    def test_fits(self) -> None:
        """An update of a pod that fits passes, by the policy that let it in before."""
        self.policy("0", "bob", privileged=True)
        self.done("PATCH", "pods/x", {"metadata": {"labels": {"a": "b"}}}, MERGE | BOB)
        names = [info.name for _, info in self.rights.asked]
        self.assertEqual(names[-1], "a")

    def test_no_longer_fits(self) -> None:
        """One whom no policy lets in as it is is refused; nothing is filled in."""
        self.done("PATCH", f"{POLICIES}/a", {"spec": {"runAsUser": must(1, 2)}}, MERGE)
        answer = self.send("PATCH", "pods/x", {"metadata": {"labels": {"a": "b"}}}, MERGE | BOB)
        why = "spec.containers[0].securityContext.runAsUser: Invalid value: 5: must be in the ranges: [{1 2}]"
        expected = f'pods "x" is forbidden: PodSecurityPolicy: unable to validate pod: [{why}]'
        self.assertEqual((answer.code, answer.json["message"]), (403, expected))

    def test_owners(self) -> None:
        """Owners and finalizers may come and go whatever the policies are."""
        self.done("DELETE", f"{POLICIES}/a")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "uid": "u"}
        for metadata in ({"finalizers": ["a/b"]}, {"ownerReferences": [owner]}, {"finalizers": None}):
            self.done("PATCH", "pods/x", {"metadata": metadata}, MERGE | BOB)
        self.assertEqual(self.code("PATCH", "pods/x", {"metadata": {"labels": {"a": "b"}}}, MERGE | BOB), 403)

    def test_status(self) -> None:
        """Status writes are not checked."""
        self.done("DELETE", f"{POLICIES}/a")
        self.done("PATCH", "pods/x/status", {"status": {"phase": "Running"}}, MERGE | BOB)

    def test_old_ephemeral_containers(self) -> None:
        """A policy that would change a container that is there already does not fit (reference PLUG-109)."""
        before = {"name": "e", "image": "i"}
        filled = {**before, "securityContext": {"runAsUser": 5}}
        for old, fits in (([], True), ([before], False)):
            live = {"spec": {"ephemeralContainers": old}}
            asked = attributes("UPDATE", "pods", subresource="ephemeralcontainers", old=live)
            spec, meta = {"ephemeralContainers": [before]}, {"name": "x"}
            found = {"metadata": meta, "spec": {**spec, "ephemeralContainers": [filled]}}
            self.assertEqual(PodSecurityPolicy._may_fill(asked, {"metadata": meta, "spec": spec}, found), fits)

    def test_ephemeral_containers(self) -> None:
        """A new container is filled in, as long as nothing else of the pod need be."""
        body: Object = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}
        path = "pods/x/ephemeralcontainers"
        made = self.done("PATCH", path, body, MERGE | BOB)
        self.assertEqual(made["spec"]["ephemeralContainers"][0]["securityContext"], {"runAsUser": 5})
        body["spec"]["ephemeralContainers"].append({"name": "f", "image": "i", "securityContext": {"runAsUser": 1}})
        answer = self.send("PATCH", path, body, MERGE | BOB)
        why = "spec.ephemeralContainers[1].securityContext.runAsUser: Invalid value: 1: must be in the ranges: "
        self.assertIn(why, answer.json["message"])
        self.done("PATCH", f"{POLICIES}/a", {"spec": {"fsGroup": must(1, 2)}}, MERGE)
        del body["spec"]["ephemeralContainers"][1]["securityContext"]
        self.assertEqual(self.code("PATCH", path, body, MERGE | BOB), 403)
