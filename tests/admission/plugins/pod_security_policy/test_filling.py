"""Defaults of policies (reference PLUG-105)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security_policy.filling import filled
from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security_policy.policies import KEYS, must, pod, policy_of, secured

LABELS = {"level": "s0:c1,c2", "type": "t"}
SECCOMP = "seccomp.security.alpha.orch.io/"
ARMOR = "apparmor.security.beta.orch.io/"


class FillingTests(SynchronousTestCase):
    """Each field, given and not."""

    def filled(self, found: Object, policy: SecurityPolicy) -> Object:
        """The pod after it was filled in, which must have been left as it was; a second time changes nothing."""
        before = deepcopy(found)
        changed = filled(found, policy, KEYS)
        self.assertEqual(found, before)
        self.assertIs(filled(changed, policy, KEYS), changed)
        return changed

    def check_container(self, policy: SecurityPolicy, own: Object, expected: Object) -> None:
        """Compare the filled-in security context of a container in each list with the expected one."""
        for key in ("containers", "initContainers", "ephemeralContainers"):
            found = secured(key, **own)
            container = self.filled(found, policy)["spec"][key][0]
            self.assertEqual(container["securityContext"], expected)

    def test_nothing(self) -> None:
        """A policy that asks for nothing leaves a pod as it is."""
        for found in (pod(), pod(securityContext={}), secured(), secured(privileged=True)):
            self.assertIs(filled(found, policy_of(), KEYS), found)

    def test_pod(self) -> None:
        """Groups, SELinux options and the class of the pod."""
        policy = policy_of(
            supplementalGroups=must(5, 9),
            fsGroup=must(6, 9),
            seLinux={"rule": "MustRunAs", "seLinuxOptions": LABELS},
            runtimeClass={"allowedRuntimeClassNames": ["*"], "defaultRuntimeClassName": "r"},
        )
        spec = self.filled(pod(), policy)["spec"]
        expected: dict[str, Any] = {"supplementalGroups": [5], "fsGroup": 6, "seLinuxOptions": LABELS}
        self.assertEqual((spec["securityContext"], spec["runtimeClassName"]), (expected, "r"))
        self.assertNotIn("securityContext", spec["containers"][0])
        own = {"supplementalGroups": [1], "fsGroup": 0, "seLinuxOptions": {}}
        given = pod(securityContext=own, runtimeClassName="s")
        self.assertIs(self.filled(given, policy), given)

    def test_may(self) -> None:
        """MayRunAs fills in nothing."""
        groups = must(5, 9, "MayRunAs")
        found = pod()
        self.assertIs(filled(found, policy_of(supplementalGroups=groups, fsGroup=groups), KEYS), found)

    def test_users(self) -> None:
        """Users and groups of containers, unless they or their pod have one."""
        policy = policy_of(runAsUser=must(5, 9), runAsGroup=must(0, 9))
        self.check_container(policy, {}, {"runAsUser": 5, "runAsGroup": 0})
        self.check_container(policy, {"runAsUser": 0, "runAsGroup": 1}, {"runAsUser": 0, "runAsGroup": 1})
        given = pod(securityContext={"runAsUser": 1, "runAsGroup": 1})
        self.assertIs(self.filled(given, policy), given)

    def test_not_root(self) -> None:
        """Containers that could be root, as nobody says whom they run as, must not."""
        policy = policy_of(runAsUser={"rule": "MustRunAsNonRoot"})
        self.check_container(policy, {}, {"runAsNonRoot": True})
        for own in ({"runAsUser": 0}, {"runAsNonRoot": False}):
            self.check_container(policy, own, own)
        given = pod(securityContext={"runAsNonRoot": True})
        self.assertIs(self.filled(given, policy), given)

    def test_selinux_of_containers(self) -> None:
        """Options of the pod are those of containers that have none."""
        policy = policy_of(seLinux={"rule": "MustRunAs", "seLinuxOptions": LABELS})
        spec = self.filled(secured(seLinuxOptions={"level": "s1"}), policy)["spec"]
        self.assertEqual(spec["containers"][0]["securityContext"], {"seLinuxOptions": {"level": "s1"}})
        self.assertEqual(spec["securityContext"], {"seLinuxOptions": LABELS})

    def test_capabilities(self) -> None:
        """Default capabilities are added unless dropped; required drops are added."""
        policy = policy_of(defaultAddCapabilities=["B", "A"], requiredDropCapabilities=["Z"])
        self.check_container(policy, {}, {"capabilities": {"add": ["A", "B"], "drop": ["Z"]}})
        own: Object = {"capabilities": {"add": ["C"], "drop": ["A"]}}
        self.check_container(policy, own, {"capabilities": {"add": ["B", "C"], "drop": ["A", "Z"]}})
        same: Object = {"capabilities": {"add": ["B", "A"], "drop": ["Z", "X"]}}
        self.check_container(policy, same, same)
        self.check_container(policy_of(requiredDropCapabilities=["Z"]), {}, {"capabilities": {"drop": ["Z"]}})

    def test_file_system(self) -> None:
        """The root file system is only read where that must be, unless a container says otherwise."""
        policy = policy_of(readOnlyRootFilesystem=True)
        self.check_container(policy, {}, {"readOnlyRootFilesystem": True})
        own = {"readOnlyRootFilesystem": False}
        self.check_container(policy, own, own)

    def test_escalation(self) -> None:
        """Rights are not gained where that is the default, or forbidden."""
        for spec, expected in (
            ({"defaultAllowPrivilegeEscalation": False}, False),
            ({"defaultAllowPrivilegeEscalation": True}, True),
            ({"allowPrivilegeEscalation": False}, False),
        ):
            policy = policy_of(**spec)
            self.check_container(policy, {}, {"allowPrivilegeEscalation": expected})
            own = {"allowPrivilegeEscalation": not expected}
            self.check_container(policy, own, own)
        self.check_container(policy_of(allowPrivilegeEscalation=True), {}, {})

    def test_profiles(self) -> None:
        """Profiles of the policy's annotations become the pod's."""
        name = "defaultProfileName"
        policy = policy_of({f"{SECCOMP}{name}": "runtime/default", f"{ARMOR}{name}": "localhost/a"})
        init = [{"name": "d", "image": "i"}]
        annotations = self.filled(pod({"a": "b"}, initContainers=init), policy)["metadata"]["annotations"]
        expected = {
            "a": "b",
            f"{SECCOMP}pod": "runtime/default",
            f"container.{ARMOR}c": "localhost/a",
            f"container.{ARMOR}d": "localhost/a",
        }
        self.assertEqual(annotations, expected)
        given = pod({f"{SECCOMP}pod": "unconfined", f"container.{ARMOR}c": "unconfined"})
        self.assertIs(self.filled(given, policy), given)
        field = pod({f"container.{ARMOR}c": "x"}, securityContext={"seccompProfile": {"type": "Unconfined"}})
        self.assertIs(self.filled(field, policy), field)
        fields = {"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}}
        field = pod({"a": "b"}, securityContext=fields)
        self.assertIs(self.filled(field, policy), field)
