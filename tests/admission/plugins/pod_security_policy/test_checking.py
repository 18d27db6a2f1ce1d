"""Violations of policies (reference PLUG-106 to PLUG-108)."""
# covers: orchtw.admission.plugins.pod_security_policy.policy
# covers: orchtw.admission.plugins.pod_security_policy.profile_rules
# covers: orchtw.admission.plugins.pod_security_policy.volume_rules

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security_policy.checking import problems
from orchtw.admission.plugins.pod_security_policy.filling import filled
from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security_policy.policies import KEYS, must, pod, policy_of, secured
from tests.effort import MOST, CountedText, calls

AT = "spec.containers[0].securityContext"
SECCOMP = "seccomp.security.alpha.orch.io/"
ARMOR = "apparmor.security.beta.orch.io/"


class CheckingCase(SynchronousTestCase):
    """Holds pods against policies."""

    def check(self, found: Object, policy: SecurityPolicy, *expected: str) -> None:
        self.assertEqual([str(cause) for cause in problems(found, policy, KEYS)], list(expected))


class PodTests(CheckingCase):
    """Settings of pods for all their containers."""

    def test_loose(self) -> None:
        """A policy that asks for nothing has pods of the usual kind."""
        self.check(pod(), policy_of())
        self.check(pod(securityContext={"fsGroup": 1, "runAsUser": 0}), policy_of())

    def test_host(self) -> None:
        """Namespaces of the node."""
        for key, name in (("hostNetwork", "network"), ("hostPID", "PID"), ("hostIPC", "IPC")):
            text = f"spec.securityContext.{key}: Invalid value: true: Host {name} is not allowed to be used"
            self.check(pod(**{key: True}), policy_of(), text)
            self.check(pod(**{key: True}), policy_of(**{key: True}))
            self.check(pod(**{key: False}), policy_of())

    def test_file_group(self) -> None:
        """The group of volumes."""
        at = "spec.securityContext.fsGroup"
        empty = "unable to validate empty groups against required ranges"
        self.check(pod(), policy_of(fsGroup=must(1, 5)), f"{at}: Invalid value: []int64(nil): {empty}")
        bad = f"{at}: Invalid value: []int64{{6}}: group 6 must be in the ranges: [{{1 5}}]"
        for rule in ("MustRunAs", "MayRunAs"):
            strategy = must(1, 5, rule)
            self.check(pod(securityContext={"fsGroup": 6}), policy_of(fsGroup=strategy), bad)
            for good in (1, 5):
                self.check(pod(securityContext={"fsGroup": good}), policy_of(fsGroup=strategy))
        self.check(pod(), policy_of(fsGroup=must(1, 5, "MayRunAs")))

    def test_supplemental_groups(self) -> None:
        """Further groups, each of which must be in a range."""
        ranges = [{"min": 1, "max": 5}, {"min": 8, "max": 9}]
        policy = policy_of(supplementalGroups={"rule": "MustRunAs", "ranges": ranges})
        self.check(pod(securityContext={"supplementalGroups": [1, 8]}), policy)
        shown = "spec.securityContext.supplementalGroups: Invalid value: []int64{0, 1, 7}"
        self.check(
            pod(securityContext={"supplementalGroups": [0, 1, 7]}),
            policy,
            f"{shown}: group 0 must be in the ranges: [{{1 5}} {{8 9}}]",
            f"{shown}: group 7 must be in the ranges: [{{1 5}} {{8 9}}]",
        )

    def test_selinux(self) -> None:
        """SELinux options are the policy's; the order of categories means nothing (reference PLUG-107)."""
        options = {"level": "s0:c1,c2", "role": "r", "type": "t", "user": "u"}
        policy = policy_of(seLinux={"rule": "MustRunAs", "seLinuxOptions": options})
        at = "spec.securityContext.seLinuxOptions"
        self.check(pod(), policy, f"{at}: Required value", f"{AT}.seLinuxOptions: Required value")
        for level in ("s0:c1,c2", "s0:c2,c1"):
            self.check(pod(securityContext={"seLinuxOptions": {**options, "level": level}}), policy)
        own: Object = {"seLinuxOptions": options}
        for level in ("s0", "s0:c1", "s1:c1,c2"):
            found = pod(securityContext={"seLinuxOptions": {**options, "level": level}})
            found["spec"]["containers"][0]["securityContext"] = own
            self.check(found, policy, f'{at}.level: Invalid value: "{level}": must be s0:c1,c2')
        found = pod(securityContext={"seLinuxOptions": {"level": "s0:c1,c2", "role": "x"}})
        found["spec"]["containers"][0]["securityContext"] = own
        self.check(
            found,
            policy,
            f'{at}.role: Invalid value: "x": must be r',
            f'{at}.type: Invalid value: "": must be t',
            f'{at}.user: Invalid value: "": must be u',
        )

    def test_sysctls(self) -> None:
        """Safe ones may be set unless they are forbidden, others if they are allowed."""
        sysctls = [{"name": name} for name in ("kernel.shm_rmid_forced", "kernel.msgmax", "net.core.x")]
        found = pod(securityContext={"sysctls": sysctls})
        at = "pod.spec.securityContext.sysctls"
        unsafe = [
            f'{at}[1]: Forbidden: unsafe sysctl "kernel.msgmax" is not allowed',
            f'{at}[2]: Forbidden: unsafe sysctl "net.core.x" is not allowed',
        ]
        self.check(found, policy_of(), *unsafe)
        self.check(found, policy_of(allowedUnsafeSysctls=["kernel.msgmax"]), unsafe[1])
        self.check(found, policy_of(allowedUnsafeSysctls=["kernel.*", "net.*"]))
        self.check(found, policy_of(allowedUnsafeSysctls=["*"]))
        forbidden = [f'{at}[0]: Forbidden: sysctl "kernel.shm_rmid_forced" is not allowed']
        forbidden.append(f'{at}[1]: Forbidden: sysctl "kernel.msgmax" is not allowed')
        policy = policy_of(allowedUnsafeSysctls=["net.core.x"], forbiddenSysctls=["kernel.*"])
        self.check(found, policy, *forbidden)

    def test_runtime_class(self) -> None:
        """The class is one of those that are allowed; a pod without one always fits."""
        some = policy_of(runtimeClass={"allowedRuntimeClassNames": ["a"]})
        self.check(pod(), some)
        self.check(pod(runtimeClassName="a"), some)
        self.check(pod(runtimeClassName="b"), some, 'spec.runtimeClassName: Invalid value: "b"')
        self.check(pod(runtimeClassName="b"), policy_of(runtimeClass={"allowedRuntimeClassNames": ["*"]}))
        self.check(pod(runtimeClassName="b"), policy_of())

    def test_seccomp(self) -> None:
        """Profiles of system calls, by annotation or field, of pod and container (reference PLUG-107)."""
        at = f"pod.metadata.annotations[{SECCOMP}pod]: Forbidden"
        own = f"pod.metadata.annotations[container.{SECCOMP}c]: Forbidden"
        unset = ": seccomp may not be set"
        field: Object = {"seccompProfile": {"type": "RuntimeDefault"}}
        for found in (pod({f"{SECCOMP}pod": "runtime/default"}), pod(securityContext=field)):
            self.check(found, policy_of(), at + unset, own + unset)
            for allowed in ("*", "runtime/default", "localhost/a,docker/default"):
                self.check(found, policy_of({f"{SECCOMP}allowedProfileNames": allowed}))
            why = ": runtime/default is not an allowed seccomp profile. Valid values are localhost/a"
            policy = policy_of({f"{SECCOMP}allowedProfileNames": "localhost/a"})
            self.check(found, policy, at + why, own + why)
        why = ":  is not an allowed seccomp profile. Valid values are localhost/a"
        self.check(pod(), policy_of({f"{SECCOMP}allowedProfileNames": "localhost/a"}), at + why, own + why)
        self.check(secured(**field), policy_of(), own + unset)
        self.check(pod({f"container.{SECCOMP}c": "unconfined"}), policy_of(), own + unset)


class VolumeTests(CheckingCase):
    """Volumes of pods under policies."""

    def check_volume(self, volume: Object, policy: SecurityPolicy, *expected: str, **container: Any) -> None:
        found = pod(volumes=[{"name": "v", **volume}])
        found["spec"]["containers"][0] |= container
        self.check(found, policy, *expected)

    def test_kinds(self) -> None:
        """Kinds of volumes that a policy lists."""
        kinds = (
            *("awsElasticBlockStore", "azureDisk", "azureFile", "cinder", "configMap", "csi", "downwardAPI"),
            *("emptyDir", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs"),
            *("hostPath", "iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume"),
            *("projected", "quobyte", "rbd", "scaleIO", "secret", "storageos", "vsphereVolume"),
        )
        for key, kind in (*((kind, kind) for kind in kinds), ("cephfs", "cephFS")):
            self.check_volume({key: {}}, policy_of())
            self.check_volume({key: {}}, policy_of(volumes=[kind, "none"]))
            text = f'spec.volumes[0]: Invalid value: "{kind}": {kind} volumes are not allowed to be used'
            self.check_volume({key: {}}, policy_of(volumes=["none"]), text)
            self.check_volume({key: {}}, policy_of(volumes=None), text)

    def test_token(self) -> None:
        """A policy that allows Secrets allows projected account tokens."""
        namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
        authorities = {"name": "orch-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
        sources = [token, {"configMap": authorities}, {"downwardAPI": {"items": [namespace]}}]
        policy = policy_of(volumes=["secret"])
        self.check_volume({"projected": {"sources": sources}}, policy)
        refused = 'spec.volumes[0]: Invalid value: "projected": projected volumes are not allowed to be used'
        bad: Object
        for bad in (
            {"secret": {"name": "s"}},
            {"serviceAccountToken": {"path": "other"}},
            {"serviceAccountToken": {"path": "token", "audience": "a"}},
            {"configMap": {**authorities, "name": "mine"}},
            {"configMap": {"name": "orch-root-ca.crt"}},
            {"downwardAPI": {"items": [{**namespace, "path": "x"}]}},
            {"downwardAPI": {}},
        ):
            self.check_volume({"projected": {"sources": [*sources, bad]}}, policy, refused)
        self.check_volume({"projected": {}}, policy, refused)
        self.check_volume({"projected": {"sources": sources}}, policy_of(volumes=["emptyDir"]), refused)

    def test_host_paths(self) -> None:
        """Directories of the node are below one of the prefixes."""
        policy = policy_of(allowedHostPaths=[{"pathPrefix": "/a/b"}, {"pathPrefix": "/c/"}])
        for good in ("/a/b", "/a/b/", "/a/b/c", "/c", "/c/d"):
            self.check_volume({"hostPath": {"path": good}}, policy)
            self.check_volume({"hostPath": {"path": good}}, policy_of(allowedHostPaths=[{"pathPrefix": "/"}]))
        for bad in ("/a", "/a/bc", "/", "/cd"):
            text = f'spec.volumes[0].hostPath.pathPrefix: Invalid value: "{bad}": is not allowed to be used'
            self.check_volume({"hostPath": {"path": bad}}, policy, text)
            self.check_volume({"hostPath": {"path": bad}}, policy_of())

    def test_read_only(self) -> None:
        """Where all prefixes that fit say so directories are only read."""
        only = {"pathPrefix": "/a", "readOnly": True}
        mounts = [{"name": "w"}, {"name": "v"}, {"name": "v", "readOnly": True}]
        text = "spec.containers[0].volumeMounts[1].readOnly: Invalid value: false: must be read-only"
        volume: Object = {"hostPath": {"path": "/a/b"}}
        policy = policy_of(allowedHostPaths=[only, {"pathPrefix": "/x"}])
        self.check_volume(volume, policy, text, volumeMounts=mounts)
        self.check_volume(volume, policy, volumeMounts=mounts[2:])
        both = policy_of(allowedHostPaths=[only, {"pathPrefix": "/a/b"}])
        self.check_volume(volume, both, volumeMounts=mounts)

    def test_drivers(self) -> None:
        """Drivers are those that are listed; where none is all are."""
        flex, csi = {"flexVolume": {"driver": "d"}}, {"csi": {"driver": "d"}}
        for volume in (flex, csi):
            self.check_volume(volume, policy_of())
            policy = policy_of(allowedFlexVolumes=[{"driver": "d"}], allowedCSIDrivers=[{"name": "d"}])
            self.check_volume(volume, policy)
        text = 'spec.volumes[0].driver: Invalid value: "d": Flexvolume driver is not allowed to be used'
        self.check_volume(flex, policy_of(allowedFlexVolumes=[{"driver": "e"}]), text)
        text = 'spec.volumes[0].csi.driver: Invalid value: "d": Inline CSI driver is not allowed to be used'
        self.check_volume(csi, policy_of(allowedCSIDrivers=[{"name": "e"}]), text)


class ContainerTests(CheckingCase):
    """Settings of containers, in each list."""

    def check_lists(
        self, policy: SecurityPolicy, security: Object, *expected: str, more: Mapping[str, Any] | None = None
    ) -> None:
        """`expected` are the causes of a container, with {} for its security context."""
        for key in ("containers", "initContainers", "ephemeralContainers"):
            found = secured(key, **security)
            found["spec"][key][0] |= more or {}
            if key != "containers":
                found["spec"]["containers"] = []
            at = f"spec.{key}[0]"
            texts = (text.replace("{}", f"{at}.securityContext").replace("{c}", at) for text in expected)
            self.check(found, policy, *texts)

    def test_user(self) -> None:
        """Users in the ranges."""
        policy = policy_of(runAsUser=must(5, 9))
        self.check_lists(policy, {}, "{}.runAsUser: Required value")
        self.check_lists(policy, {"runAsUser": 4}, "{}.runAsUser: Invalid value: 4: must be in the ranges: [{5 9}]")
        self.check_lists(policy, {"runAsUser": 9})
        self.check(pod(securityContext={"runAsUser": 5}), policy)

    def test_not_root(self) -> None:
        """MustRunAsNonRoot allows any user but root."""
        policy = policy_of(runAsUser={"rule": "MustRunAsNonRoot"})
        self.check_lists(policy, {}, "{}.runAsNonRoot: Required value: must be true")
        self.check_lists(policy, {"runAsNonRoot": False}, "{}.runAsNonRoot: Invalid value: false: must be true")
        root = "{}.runAsUser: Invalid value: 0: running with the root UID is forbidden"
        self.check_lists(policy, {"runAsUser": 0, "runAsNonRoot": True}, root)
        for good in ({"runAsUser": 1}, {"runAsNonRoot": True}):
            self.check_lists(policy, good)
            self.check(pod(securityContext=good), policy)

    def test_group(self) -> None:
        """Groups in the ranges."""
        policy = policy_of(runAsGroup=must(5, 9))
        empty = "unable to validate empty groups against required ranges"
        self.check_lists(policy, {}, f"{{}}.runAsGroup: Invalid value: []int64(nil): {empty}")
        text = "{}.runAsGroup: Invalid value: []int64{1}: group 1 must be in the ranges: [{5 9}]"
        self.check_lists(policy, {"runAsGroup": 1}, text)
        self.check_lists(policy_of(runAsGroup=must(5, 9, "MayRunAs")), {})
        self.check(pod(securityContext={"runAsGroup": 5}), policy)

    def test_privileged(self) -> None:
        """Privileged containers need a policy that allows them."""
        text = "{}.privileged: Invalid value: true: Privileged containers are not allowed"
        self.check_lists(policy_of(), {"privileged": True}, text)
        self.check_lists(policy_of(privileged=True), {"privileged": True})
        self.check_lists(policy_of(), {"privileged": False})

    def test_proc_mount(self) -> None:
        """The procMount types are checked."""
        text = '{}.procMount: Invalid value: "Unmasked": ProcMountType is not allowed'
        self.check_lists(policy_of(), {"procMount": "Unmasked"}, text)
        self.check_lists(policy_of(allowedProcMountTypes=["Unmasked"]), {"procMount": "Unmasked"})
        text = '{}.procMount: Invalid value: "Default": ProcMountType is not allowed'
        self.check_lists(policy_of(allowedProcMountTypes=["Unmasked"]), {}, text)

    def test_capabilities(self) -> None:
        """Added capabilities are allowed or default, required drops are dropped."""
        must = ["Y", "Z"]
        policy = policy_of(allowedCapabilities=["A"], defaultAddCapabilities=["B"], requiredDropCapabilities=must)
        lacks = "Z is required to be dropped but was not found"
        self.check_lists(policy, {"capabilities": {"add": ["A", "B"], "drop": ["Z", "Y"]}})
        self.check_lists(
            policy,
            {"capabilities": {"add": ["C"], "drop": ["Y"]}},
            '{}.capabilities.add: Invalid value: "C": capability may not be added',
            f'{{}}.capabilities.drop: Invalid value: []core.Capability{{"Y"}}: {lacks}',
        )
        missing = '{}.capabilities: Invalid value: "null": required capabilities are not set on the securityContext'
        self.check_lists(policy, {}, missing)
        drop = f"{{}}.capabilities.drop: Invalid value: []core.Capability(nil): {lacks}"
        self.check_lists(policy_of(requiredDropCapabilities=["Z"]), {"capabilities": {}}, drop)
        self.check_lists(policy_of(allowedCapabilities=["*"]), {"capabilities": {"add": ["C"]}})

    def test_host_ports(self) -> None:
        """Ports of the node are in the ranges."""
        ports = {"ports": [{"containerPort": 1}, {"hostPort": 80}, {"hostPort": 8081}]}
        policy = policy_of(hostPorts=[{"min": 80, "max": 80}, {"min": 8080, "max": 8090}])
        self.check_lists(policy, {}, more=ports)
        text = "{c}.hostPort: Invalid value: 80: Host port 80 is not allowed to be used. Allowed ports: "
        text += "[1,8080-8090]"
        policy = policy_of(hostPorts=[{"min": 1, "max": 1}, {"min": 8080, "max": 8090}])
        self.check_lists(policy, {}, text, more=ports)
        text = "{c}.hostPort: Invalid value: 8081: Host port 8081 is not allowed to be used. Allowed ports: []"
        self.check_lists(policy_of(), {}, text, more={"ports": [{"hostPort": 8081}]})

    def test_file_system(self) -> None:
        """The root file system is only read."""
        policy, at = policy_of(readOnlyRootFilesystem=True), "{}.readOnlyRootFilesystem: Invalid value"
        self.check_lists(policy, {}, f'{at}: "null": ReadOnlyRootFilesystem may not be nil and must be set to true')
        text = f"{at}: false: ReadOnlyRootFilesystem must be set to true"
        self.check_lists(policy, {"readOnlyRootFilesystem": False}, text)
        self.check_lists(policy, {"readOnlyRootFilesystem": True})

    def test_escalation(self) -> None:
        """Rights are not gained."""
        policy, detail = policy_of(allowPrivilegeEscalation=False), "Allowing privilege escalation for containers"
        for own, shown in (({}, '"null"'), ({"allowPrivilegeEscalation": True}, "true")):
            text = f"{{}}.allowPrivilegeEscalation: Invalid value: {shown}: {detail} is not allowed"
            self.check_lists(policy, own, text)
        self.check_lists(policy, {"allowPrivilegeEscalation": False})
        self.check_lists(policy_of(), {"allowPrivilegeEscalation": True})

    def test_app_armor(self) -> None:
        """AppArmor profiles of containers (reference PLUG-107)."""
        policy = policy_of({f"{ARMOR}allowedProfileNames": "runtime/default,localhost/a"})
        at = f"pod.metadata.annotations[container.{ARMOR}c]: Forbidden"
        self.check(pod(), policy, f"{at}: AppArmor profile must be set")
        self.check(pod({f"container.{ARMOR}c": "localhost/a"}), policy)
        text = 'unconfined is not an allowed profile. Allowed values: "runtime/default,localhost/a"'
        self.check(pod({f"container.{ARMOR}c": "unconfined"}), policy, f"{at}: {text}")
        self.check(pod({f"container.{ARMOR}c": "unconfined"}), policy_of())
        loose = {"appArmorProfile": {"type": "Unconfined"}}
        both = pod({f"container.{ARMOR}c": "localhost/a"}, securityContext=loose)
        self.check(both, policy, f"{at}: {text}")  # a field counts before the annotation
        own = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}
        both["spec"]["containers"] = [{"name": "c", "image": "i", "securityContext": own}]
        self.check(both, policy)

    def test_order_and_bound(self) -> None:
        """Causes of the pod come first, then those of containers in order; very many are not told."""
        init = [{"name": "a", "image": "i", "securityContext": {"privileged": True}}]
        found = pod(hostPID=True, initContainers=init)
        found["spec"]["containers"][0]["securityContext"] = {"privileged": True}
        places = [cause.field for cause in problems(found, policy_of(), KEYS)]
        expected = ["spec.securityContext.hostPID", "spec.initContainers[0].securityContext.privileged"]
        self.assertEqual(places, [*expected, f"{AT}.privileged"])
        names = [f"c{index}" for index in range(500)]
        many = [{"name": name, "securityContext": {"privileged": True}} for name in names]
        self.assertEqual(len(problems(pod(containers=many), policy_of(), KEYS)), 100)


class EffortTests(SynchronousTestCase):
    """Cost of large pods."""

    def test_linear(self) -> None:
        """Twice as many containers and volumes are twice as much to fill in and to look at."""
        policy = policy_of(
            runAsUser=must(1, 2),
            defaultAddCapabilities=["A"],
            allowedHostPaths=[{"pathPrefix": "/a"}],
            allowPrivilegeEscalation=False,
        )

        def tried(count: int) -> int:
            volumes = [{"name": f"v{index}", "hostPath": {"path": "/a/b"}} for index in range(count)]
            found = pod(containers=[{"name": f"c{index}"} for index in range(count)], volumes=volumes)
            return calls(lambda: problems(filled(found, policy, KEYS), policy, KEYS))

        self.assertLess(tried(800), MOST * tried(400))

    def test_read_only_mounts(self) -> None:
        """Many directories that are only read, and many mounts of them, come to an end soon."""
        policy = policy_of(allowedHostPaths=[{"pathPrefix": "/a", "readOnly": True}])

        def compared(count: int) -> int:
            names = [CountedText(f"v{index}") for index in range(count)]
            volumes = [{"name": name, "hostPath": {"path": "/a/b"}} for name in names]
            mounts = [{"name": str(name), "readOnly": True} for name in names]
            found = pod(containers=[{"name": "c", "volumeMounts": mounts}], volumes=volumes)
            self.assertEqual(problems(found, policy, KEYS), [])
            return sum(name.comparisons for name in names)

        self.assertLessEqual(compared(200), MOST * compared(100))


class UsableTests(SynchronousTestCase):
    """Policies that nobody can keep to."""

    def test_table(self) -> None:
        """A strategy without what it is about."""
        self.assertTrue(policy_of().usable)
        for spec in (
            {"runAsUser": {"rule": "MustRunAs"}},
            {"runAsGroup": {"rule": "MayRunAs"}},
            {"fsGroup": {"rule": "MustRunAs", "ranges": []}},
            {"supplementalGroups": {"rule": "MayRunAs"}},
            {"seLinux": {"rule": "MustRunAs"}},
        ):
            self.assertFalse(policy_of(**spec).usable, spec)
        self.assertTrue(policy_of(runAsUser={"rule": "MustRunAsNonRoot"}).usable)
