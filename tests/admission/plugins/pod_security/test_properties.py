"""Properties of the standards for all pods (reference PLUG-39, PLUG-101)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security.checks import NEWEST, violations
from orchtw.admission.plugins.pod_security.policy import BASELINE, RESTRICTED, Standard
from orchtw.admission.plugins.pod_security.subject import Subject, subject
from orchtw.registry.groups.core.pod_annotations import keys_in
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.pods import LISTS
from tests.properties import examples

FLAG = st.booleans()
PROFILE = st.fixed_dictionaries({"type": st.sampled_from(["RuntimeDefault", "Localhost", "Unconfined"])})
OPTIONS = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(["", "container_t", "x"]) for key in ("type", "user", "role", "level")}
)
NAMES = st.lists(st.sampled_from(["ALL", "KILL", "NET_RAW", "NET_BIND_SERVICE"]), max_size=3)
SHARED: Any = {
    "runAsNonRoot": FLAG,
    "runAsUser": st.integers(0, 2),
    "seccompProfile": PROFILE,
    "appArmorProfile": PROFILE,
    "seLinuxOptions": OPTIONS,
    "windowsOptions": st.fixed_dictionaries({}, optional={"hostProcess": FLAG}),
}
SECURITY = st.fixed_dictionaries(
    {},
    optional={
        **SHARED,
        "privileged": FLAG,
        "allowPrivilegeEscalation": FLAG,
        "procMount": st.sampled_from(["Default", "Unmasked"]),
        "capabilities": st.fixed_dictionaries({}, optional={"add": NAMES, "drop": NAMES}),
    },
)
SYSCTL = st.fixed_dictionaries({"name": st.sampled_from(["kernel.shm_rmid_forced", "kernel.msgmax"])})
PORT = st.fixed_dictionaries({}, optional={"hostPort": st.integers(0, 2)})
CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from("abc")}, optional={"securityContext": SECURITY, "ports": st.lists(PORT, max_size=2)}
)
VOLUME: st.SearchStrategy[Object] = st.fixed_dictionaries(
    {"name": st.just("v")}, optional={key: st.just({}) for key in ("emptyDir", "hostPath", "nfs")}
)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        **{key: st.lists(CONTAINER, max_size=3) for key in LISTS},
        **{key: FLAG for key in ("hostNetwork", "hostPID", "hostIPC")},
        "volumes": st.lists(VOLUME, max_size=2),
        "securityContext": st.fixed_dictionaries(
            {}, optional={**SHARED, "sysctls": st.lists(SYSCTL, max_size=2)}
        ),
    },
)
ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        ["seccomp.security.alpha.orch.io/pod", "container.seccomp.security.alpha.orch.io/a"]
        + ["container.apparmor.security.beta.orch.io/a", "other"]
    ),
    st.sampled_from(["", "runtime/default", "docker/default", "localhost/x", "unconfined"]),
)


@st.composite
def pods(draw: Any) -> Subject:
    """Any pod, with all that controls look at."""
    metadata: Object = {"annotations": draw(ANNOTATIONS)}
    return subject(metadata, draw(SPEC), keys_in("orch"))


class StandardTests(SynchronousTestCase):
    """Order of levels and versions."""

    @examples(150)
    @given(pods(), st.integers(0, NEWEST))
    def test_stricter(self, pod: Subject, minor: int) -> None:
        """Restricted refuses whatever baseline refuses in the same version, and privileged nothing."""
        version = f"v1.{minor}"
        if violations(Standard(BASELINE, version), pod):
            self.assertTrue(violations(Standard(RESTRICTED, version), pod))
        self.assertFalse(violations(Standard("privileged", version), pod))

    @examples(150)
    @given(pods())
    def test_latest(self, pod: Subject) -> None:
        """The latest version is the newest, and so are those that are yet to come."""
        for level in (BASELINE, RESTRICTED):
            newest = violations(Standard(level, f"v1.{NEWEST}"), pod)
            self.assertEqual(newest, violations(Standard(level), pod))
            self.assertEqual(newest, violations(Standard(level, "v1.1000"), pod))

    @examples(150)
    @given(pods(), st.integers(0, NEWEST))
    def test_told_once(self, pod: Subject, minor: int) -> None:
        """Nothing is told twice, and everything with its detail."""
        found = violations(Standard(RESTRICTED, f"v1.{minor}"), pod)
        reasons = [each.reason for each in found]
        self.assertEqual(len(reasons), len(set(reasons)))
        self.assertTrue(all(each.detail for each in found))
