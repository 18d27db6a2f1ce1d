"""Controls of the standards, one by one (reference PLUG-37, PLUG-39, PLUG-101)."""
# covers: orchtw.admission.plugins.pod_security.profile_controls, orchtw.admission.plugins.pod_security.checks

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security.checks import violations
from orchtw.admission.plugins.pod_security.policy import BASELINE, RESTRICTED, Standard
from orchtw.admission.plugins.pod_security.subject import subject
from orchtw.registry.groups.core.pod_annotations import keys_in
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.pods import LISTS, container, each_list, good_pod
from tests.effort import MOST, calls

ALL_LISTS = 'containers "a", "b", "c"'
ARMOR = "container.apparmor.security.beta.orch.io/"
OLD_POD = "seccomp.security.alpha.orch.io/pod"
OLD_CONTAINER = "container.seccomp.security.alpha.orch.io/"


class ControlCase(SynchronousTestCase):
    """Looks at pods under a standard."""

    def told(self, level: str, pod: Object, version: str = "latest") -> str:
        """All violations, as a refusal tells them."""
        found = violations(Standard(level, version), subject(pod["metadata"], pod["spec"], keys_in("orch")))
        return ", ".join(map(str, found))

    def check(self, level: str, pod: Object, expected: str, version: str = "latest") -> None:
        self.assertEqual(self.told(level, pod, version), expected)

    def check_lists(self, level: str, expected: str, version: str = "latest", **security: Any) -> None:
        """The same fault in a container of each list, told one by one and together; {} stands for the containers."""
        for key in LISTS:
            pod = good_pod(**{"containers": [], key: [container("a", **security)]})
            self.check(level, pod, expected.format('container "a"'), version)
        self.check(level, each_list(**security), expected.format(ALL_LISTS), version)

    def check_pod_level(self, level: str, expected: str, field: str, bad: Any) -> None:
        """The same fault of a pod, and of a pod and its containers; {} stands for those who are at fault."""
        pod = good_pod(securityContext={field: bad})
        self.check(level, pod, expected.format("pod"))
        self.check_lists(level, expected, **{field: bad})
        pod = each_list(**{field: bad})
        pod["spec"]["securityContext"] = {field: bad}
        self.check(level, pod, expected.format(f"pod and {ALL_LISTS}"))


class BaselineTests(ControlCase):
    """The controls of level baseline."""

    def test_good(self) -> None:
        """A pod that asks for nothing passes, whatever else it has."""
        bare: Object = {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}
        for minor in range(30):
            self.check(BASELINE, bare, "", f"v1.{minor}")
        self.check(BASELINE, good_pod(), "")

    def test_app_armor(self) -> None:
        """AppArmor profiles are the node's default or one that it has."""
        for profile in ("", "runtime/default", "localhost/x"):
            self.check(BASELINE, good_pod({f"{ARMOR}c": profile}), "")
        expected = f'forbidden AppArmor profile ({ARMOR}c="unconfined")'
        self.check(BASELINE, good_pod({f"{ARMOR}c": "unconfined", "other": "unconfined"}), expected)
        both = good_pod({f"{ARMOR}b": "x", f"{ARMOR}a": "unconfined"})
        self.check(BASELINE, both, f'forbidden AppArmor profiles ({ARMOR}a="unconfined", {ARMOR}b="x")')

    def test_app_armor_fields(self) -> None:
        """The fields that release 1.30 added are held to the same (reference PLUG-39)."""
        for profile in ({"type": "RuntimeDefault"}, {"type": "Localhost", "localhostProfile": "x"}):
            self.check(BASELINE, good_pod(securityContext={"appArmorProfile": profile}), "")
        bad = {"type": "Unconfined"}
        text = 'forbidden AppArmor profile ({} must not set AppArmor profile type to "Unconfined")'
        self.check_pod_level(BASELINE, text, "appArmorProfile", bad)
        both = good_pod({f"{ARMOR}c": "x"}, containers=[container("a", appArmorProfile=bad)])
        what = f'"Unconfined", "{ARMOR}c="x""'
        expected = f'container "a" and annotation must not set AppArmor profile type to {what}'
        self.check(BASELINE, both, f"forbidden AppArmor profiles ({expected})")

    def test_capabilities(self) -> None:
        """Only those are added that containers have anyway."""
        usual = ["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"]
        usual += ["SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"]
        self.check_lists(BASELINE, "", capabilities={"add": usual})
        self.check_lists(BASELINE, "", capabilities={})
        expected = '{} must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add'
        added = {"add": ["SYS_TIME", "KILL", "NET_RAW"]}
        self.check_lists(BASELINE, f"non-default capabilities ({expected})", capabilities=added)

    def test_host_namespaces(self) -> None:
        """Those of the node are not shared."""
        self.check(BASELINE, good_pod(hostNetwork=False, hostPID=False, hostIPC=False), "")
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            self.check(BASELINE, good_pod(**{key: True}), f"host namespaces ({key}=true)")
        everything = good_pod(hostIPC=True, hostPID=True, hostNetwork=True)
        expected = "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"
        self.check(BASELINE, everything, expected)

    def test_host_path(self) -> None:
        """Directories of the node are not mounted."""
        host: Object = {"hostPath": {"path": "/"}}
        volumes = [{"name": "a", **host}, {"name": "ok", "emptyDir": {}}, {"name": "b", **host}]
        self.check(BASELINE, good_pod(volumes=volumes[:2]), 'hostPath volumes (volume "a")')
        self.check(BASELINE, good_pod(volumes=volumes), 'hostPath volumes (volumes "a", "b")')

    def test_host_ports(self) -> None:
        """Ports of the node are not used."""
        self.check(BASELINE, good_pod(containers=[container("a", {"ports": [{"hostPort": 0}, {}]})]), "")
        ports = {"ports": [{"hostPort": 80}]}
        for key in LISTS:
            pod = good_pod(**{"containers": [], key: [container("a", ports)]})
            self.check(BASELINE, pod, 'hostPort (container "a" uses hostPort 80)')
        pod = good_pod(containers=[container("a", ports), container("b", {"ports": [{"hostPort": 8080}]})])
        self.check(BASELINE, pod, 'hostPort (containers "a", "b" use hostPorts 80, 8080)')

    def test_privileged(self) -> None:
        """Containers are not privileged."""
        self.check_lists(BASELINE, "", privileged=False)
        expected = "privileged ({} must not set securityContext.privileged=true)"
        self.check_lists(BASELINE, expected, privileged=True)

    def test_proc_mount(self) -> None:
        """/proc is as it usually is."""
        self.check_lists(BASELINE, "", procMount="Default")
        expected = 'procMount ({} must not set securityContext.procMount to "Unmasked")'
        self.check_lists(BASELINE, expected, procMount="Unmasked")

    def test_selinux(self) -> None:
        """Types are those of containers; users and roles are not set."""
        for kind in ("", "container_t", "container_init_t", "container_kvm_t"):
            options = {"type": kind, "level": "s0"}
            self.check_lists(BASELINE, "", seLinuxOptions=options)
            self.check(BASELINE, good_pod(securityContext={"seLinuxOptions": options}), "")
        forbidden = "seLinuxOptions ({} set forbidden securityContext.seLinuxOptions: "
        for options, what in (
            ({"type": "x"}, 'type "x"'),
            ({"user": "u"}, "user may not be set"),
            ({"role": "r"}, "role may not be set"),
            ({"role": "r", "user": "u", "type": "x"}, 'type "x"; user may not be set; role may not be set'),
        ):
            self.check_pod_level(BASELINE, f"{forbidden}{what})", "seLinuxOptions", options)
        pod = good_pod(containers=[container("a", seLinuxOptions={"type": kind}) for kind in ("y", "x")])
        expected = f'{forbidden}types "x", "y")'.format('containers "a", "a"')
        self.check(BASELINE, pod, expected)

    def test_seccomp(self) -> None:
        """No profile is unconfined."""
        for kind in ("RuntimeDefault", "Localhost", None):
            profile = None if kind is None else {"type": kind}
            self.check_lists(BASELINE, "", seccompProfile=profile)
        expected = 'seccompProfile ({} must not set securityContext.seccompProfile.type to "Unconfined")'
        self.check_pod_level(BASELINE, expected, "seccompProfile", {"type": "Unconfined"})

    def test_seccomp_annotations(self) -> None:
        """Before 1.19 annotations count, and not the field."""
        for profile in ("runtime/default", "docker/default", "localhost/x"):
            self.check(BASELINE, good_pod({OLD_POD: profile, f"{OLD_CONTAINER}c": profile}), "", "v1.18")
        bad = good_pod({OLD_POD: "unconfined", f"{OLD_CONTAINER}c": "", f"{OLD_CONTAINER}other": "unconfined"})
        for version in ("v1.0", "v1.18"):
            expected = f'seccompProfile (forbidden annotations {OLD_CONTAINER}c="", {OLD_POD}="unconfined")'
            self.check(BASELINE, bad, expected, version)
        one = good_pod({OLD_POD: "unconfined"})
        self.check(BASELINE, one, f'seccompProfile (forbidden annotation {OLD_POD}="unconfined")', "v1.0")
        self.check(BASELINE, bad, "", "v1.19")
        field = good_pod(securityContext={"seccompProfile": {"type": "Unconfined"}})
        self.check(BASELINE, field, "", "v1.18")
        for key in LISTS:
            pod = good_pod({f"{OLD_CONTAINER}a": "x"}, **{"containers": [], key: [container("a")]})
            self.check(BASELINE, pod, f'seccompProfile (forbidden annotation {OLD_CONTAINER}a="x")', "v1.0")

    def test_sysctls(self) -> None:
        """Only those that concern nobody else are set."""
        safe = ["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"]
        safe += ["net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"]
        sysctls = [{"name": name, "value": "1"} for name in safe]
        self.check(BASELINE, good_pod(securityContext={"sysctls": sysctls}), "")
        bad = [{"name": "kernel.msgmax", "value": "1"}, *sysctls, {"name": "a.b", "value": "1"}]
        pod = good_pod(securityContext={"sysctls": bad})
        self.check(BASELINE, pod, "forbidden sysctls (kernel.msgmax, a.b)")

    def test_host_process(self) -> None:
        """Windows containers are not processes of the node."""
        self.check_lists(BASELINE, "", windowsOptions={"hostProcess": False})
        expected = "hostProcess ({} must not set securityContext.windowsOptions.hostProcess=true)"
        self.check_pod_level(BASELINE, expected, "windowsOptions", {"hostProcess": True})

    def test_order(self) -> None:
        """Violations stand in the order of the controls."""
        security = {"seLinuxOptions": {"user": "u"}, "seccompProfile": {"type": "Unconfined"}}
        more = {"privileged": True, "procMount": "Unmasked", "capabilities": {"add": ["NET_RAW"]}}
        pod = good_pod(
            {f"{ARMOR}c": "unconfined"},
            hostPID=True,
            securityContext={"windowsOptions": {"hostProcess": True}, "sysctls": [{"name": "a"}], **security},
            containers=[container("c", {"ports": [{"hostPort": 1}]}, **more)],
            volumes=[{"name": "v", "hostPath": {}}],
        )
        reasons = (
            *("forbidden AppArmor profile", "non-default capabilities", "host namespaces", "hostPath volumes"),
            *("hostPort", "privileged", "procMount", "seLinuxOptions", "seccompProfile", "forbidden sysctls"),
            "hostProcess",
        )
        keys = keys_in("orch")
        found = violations(Standard(BASELINE), subject(pod["metadata"], pod["spec"], keys))
        self.assertEqual(tuple(each.reason for each in found), reasons)


class RestrictedTests(ControlCase):
    """The controls that level restricted adds."""

    def test_good(self) -> None:
        """A pod that says all it must passes in every version."""
        for minor in range(30):
            self.check(RESTRICTED, good_pod(), "", f"v1.{minor}")
        self.check(RESTRICTED, each_list(), "")

    def test_usual(self) -> None:
        """A pod that says nothing is told of everything, in order."""
        pod: Object = {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}
        escalation = (
            'allowPrivilegeEscalation != false (container "c" must set '
            "securityContext.allowPrivilegeEscalation=false)"
        )
        capabilities = (
            'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])'
        )
        root = 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)'
        seccomp = (
            'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")'
        )
        for version, expected in {
            "v1.0": (root,),
            "v1.7": (root,),
            "v1.8": (escalation, root),
            "v1.18": (escalation, root),
            "v1.19": (escalation, root, seccomp),
            "v1.21": (escalation, root, seccomp),
            "v1.22": (escalation, capabilities, root, seccomp),
            "v1.24": (escalation, capabilities, root, seccomp),
            "v1.99": (escalation, capabilities, root, seccomp),
            "latest": (escalation, capabilities, root, seccomp),
        }.items():
            self.check(RESTRICTED, pod, ", ".join(expected), version)

    def test_escalation(self) -> None:
        """From 1.8 every container says that it gains no rights."""
        expected = (
            "allowPrivilegeEscalation != false ({} must set securityContext.allowPrivilegeEscalation=false)"
        )
        for bad in (True, None):
            self.check_lists(RESTRICTED, expected, "v1.8", allowPrivilegeEscalation=bad)
            self.check_lists(RESTRICTED, "", "v1.7", allowPrivilegeEscalation=bad)

    def test_capabilities(self) -> None:
        """From 1.22 every container drops all, and adds none but one; before, the looser rule holds."""
        must = '{} must set securityContext.capabilities.drop=["ALL"]'
        for bad in (None, {}, {"drop": ["KILL"]}):
            self.check_lists(RESTRICTED, f"unrestricted capabilities ({must})", "v1.22", capabilities=bad)
            self.check_lists(RESTRICTED, "", "v1.21", capabilities=bad)
        self.check_lists(RESTRICTED, "", capabilities={"drop": ["KILL", "ALL"], "add": ["NET_BIND_SERVICE"]})
        added = {"drop": ["ALL"], "add": ["NET_RAW", "CHOWN"]}
        adds = '{} must not include "CHOWN", "NET_RAW" in securityContext.capabilities.add'
        self.check_lists(RESTRICTED, f"unrestricted capabilities ({adds})", capabilities=added)
        both = f"unrestricted capabilities ({must}; {adds})".format('container "a"', 'container "a"')
        pod = good_pod(containers=[container("a", capabilities={"add": ["NET_RAW", "CHOWN"]})])
        self.check(RESTRICTED, pod, both)
        usual = 'non-default capabilities ({} must not include "NET_RAW" in securityContext.capabilities.add)'
        self.check_lists(RESTRICTED, usual, "v1.21", capabilities=added)

    def test_volumes(self) -> None:
        """Volumes are of plain types; directories of the node are told of once."""
        plain = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected")
        volumes: list[Object] = [{"name": f"v{key}".lower(), key: {}} for key in (*plain, "secret")]
        self.check(RESTRICTED, good_pod(volumes=volumes), "")
        others = (
            *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs"),
            *("rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte"),
            *("azureDisk", "portworxVolume", "scaleIO", "storageos", "photonPersistentDisk"),
        )
        for kind in others:
            pod = good_pod(volumes=[{"name": "v", kind: {}}, *volumes])
            expected = f'restricted volume types (volume "v" uses restricted volume type "{kind}")'
            for version in ("v1.0", "latest"):
                self.check(RESTRICTED, pod, expected, version)
            self.check(BASELINE, pod, 'hostPath volumes (volume "v")' if kind == "hostPath" else "")
        same = good_pod(volumes=[{"name": "b", "nfs": {}}, {"name": "a", "nfs": {}}])
        expected = 'restricted volume types (volumes "b", "a" use restricted volume type "nfs")'
        self.check(RESTRICTED, same, expected)
        two = good_pod(volumes=[{"name": "a", "rbd": {}}, {"name": "b", "nfs": {}}, {"name": "c"}])
        types = '"nfs", "rbd", "unknown"'
        expected = f'restricted volume types (volumes "a", "b", "c" use restricted volume types {types})'
        self.check(RESTRICTED, two, expected)

    def test_not_root(self) -> None:
        """The pod or every container says that it does not run as root."""
        expected = "runAsNonRoot != true (pod or {} must set securityContext.runAsNonRoot=true)"
        self.check_lists(RESTRICTED, expected, "v1.0", runAsNonRoot=None)
        pod = each_list(runAsNonRoot=None)
        pod["spec"]["securityContext"] = {"runAsNonRoot": True}
        self.check(RESTRICTED, pod, "")
        expected = "runAsNonRoot != true ({} must not set securityContext.runAsNonRoot=false)"
        self.check_pod_level(RESTRICTED, expected, "runAsNonRoot", False)
        pod = good_pod(
            securityContext={"runAsNonRoot": True}, containers=[container("a", runAsNonRoot=False), container("b")]
        )
        self.check(RESTRICTED, pod, expected.format('container "a"'))

    def test_no_zero(self) -> None:
        """From 1.23 nobody asks for user 0."""
        self.check_lists(RESTRICTED, "", runAsUser=1000)
        expected = "runAsUser=0 ({} must not set runAsUser=0)"
        self.check_pod_level(RESTRICTED, expected, "runAsUser", 0)
        self.check_lists(RESTRICTED, expected, "v1.23", runAsUser=0)
        self.check_lists(RESTRICTED, "", "v1.22", runAsUser=0)

    def test_seccomp(self) -> None:
        """From 1.19 the pod or every container names a profile that confines it."""
        must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        self.check_lists(RESTRICTED, f"seccompProfile (pod or {{}} {must})", "v1.19", seccompProfile=None)
        self.check_lists(RESTRICTED, "", "v1.18", seccompProfile=None)
        pod = each_list(seccompProfile=None)
        pod["spec"]["securityContext"] = {"seccompProfile": {"type": "Localhost"}}
        self.check(RESTRICTED, pod, "")
        expected = 'seccompProfile ({} must not set securityContext.seccompProfile.type to "Unconfined")'
        self.check_pod_level(RESTRICTED, expected, "seccompProfile", {"type": "Unconfined"})
        mixed = [container("a", seccompProfile={"type": "Unconfined"}), container("b", seccompProfile=None)]
        self.check(RESTRICTED, good_pod(containers=mixed), expected.format('container "a"'))

    def test_includes_baseline(self) -> None:
        """Violations of baseline are refused, and reported first."""
        pod = good_pod(hostPID=True, containers=[container("a", privileged=True, runAsUser=0)])
        expected = (
            "host namespaces (hostPID=true), "
            'privileged (container "a" must not set securityContext.privileged=true), '
            'runAsUser=0 (container "a" must not set runAsUser=0)'
        )
        self.check(RESTRICTED, pod, expected)

    def test_privileged_level(self) -> None:
        """Level privileged refuses nothing."""
        self.check("privileged", good_pod(hostPID=True), "")


class BoundTests(ControlCase):
    """Texts are bounded, whatever a pod holds."""

    def test_many(self) -> None:
        """Of very many names, and of a very long one, the beginning is told."""
        pod = good_pod(containers=[container(f"c{index}", privileged=True) for index in range(5000)])
        self.assertLess(len(self.told(BASELINE, pod)), 4096)
        long = good_pod(containers=[container("c", capabilities={"add": ["X" * 100_000]})])
        self.assertLess(len(self.told(BASELINE, long)), 4096)

    def test_effort(self) -> None:
        """Twice as many containers are twice as much to look at."""

        def looked(count: int) -> int:
            names = [f"c{index}" for index in range(count)]
            pod = good_pod(containers=[container(name, privileged=True, runAsNonRoot=None) for name in names])
            return calls(lambda: self.told(RESTRICTED, pod))

        self.assertLess(looked(800), MOST * looked(400))
