"""Controls of each level of the standards, by version (reference PLUG-39, PLUG-101)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import msgspec

from orchtw.admission.plugins.pod_security import host_controls as host
from orchtw.admission.plugins.pod_security import kernel_controls as kernel
from orchtw.admission.plugins.pod_security import privilege_controls as privileges
from orchtw.admission.plugins.pod_security import profile_controls as profiles
from orchtw.admission.plugins.pod_security import user_controls as users
from orchtw.admission.plugins.pod_security import volume_controls as volumes
from orchtw.admission.plugins.pod_security.policy import BASELINE, PRIVILEGED, RESTRICTED, Standard
from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import Violation, Violations

Look = Callable[[Subject], Violation | None]

NEWEST: Final = 24
"""Minor version of the latest standards; later versions are the same."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """Control of the standards: its checks by the minor version from which they apply.

    `instead_of` is the control of the level below that it replaces.
    """

    name: str
    revisions: Mapping[int, Look]
    instead_of: str = ""

    def at(self, minor: int) -> Look | None:
        """Return the check in a version, or None if the control is newer."""
        since = max((each for each in self.revisions if each <= minor), default=None)
        return None if since is None else self.revisions[since]


CONTROLS: Final = {
    BASELINE: (
        Control(name="appArmorProfile", revisions={0: profiles.app_armor}),
        Control(name="capabilities", revisions={0: privileges.usual_capabilities}),
        Control(name="hostNamespaces", revisions={0: host.host_namespaces}),
        Control(name="hostPathVolumes", revisions={0: host.host_path_volumes}),
        Control(name="hostPorts", revisions={0: host.host_ports}),
        Control(name="privileged", revisions={0: privileges.privileged}),
        Control(name="procMount", revisions={0: kernel.proc_mount}),
        Control(name="seLinuxOptions", revisions={0: profiles.selinux}),
        Control(name="seccompProfile", revisions={0: profiles.seccomp_annotations, 19: profiles.seccomp}),
        Control(name="sysctls", revisions={0: kernel.sysctls}),
        Control(name="hostProcess", revisions={0: host.host_process}),
    ),
    RESTRICTED: (
        Control(name="allowPrivilegeEscalation", revisions={8: privileges.no_escalation}),
        Control(
            name="allCapabilities", revisions={22: privileges.dropped_capabilities}, instead_of="capabilities"
        ),
        Control(name="volumeTypes", revisions={0: volumes.volume_types}, instead_of="hostPathVolumes"),
        Control(name="runAsNonRoot", revisions={0: users.not_root}),
        Control(name="runAsUser", revisions={23: users.no_zero}),
        Control(name="requiredSeccomp", revisions={19: profiles.required_seccomp}, instead_of="seccompProfile"),
    ),
}
"""Controls by level, in the order in which violations are listed: those of baseline first."""


def violations(standard: Standard, pod: Subject) -> Violations:
    """Return the violations of a pod under a standard, in the order of the controls."""
    looks = _looks(standard.level, NEWEST if standard.minor is None else min(standard.minor, NEWEST))
    return [found for look in looks if (found := look(pod)) is not None]


@cache
def _looks(level: str, minor: int) -> tuple[Look, ...]:
    """Return the checks of a level in a version."""
    if level == PRIVILEGED:
        return ()
    controls = CONTROLS[BASELINE]
    if level == RESTRICTED:
        more = [control for control in CONTROLS[RESTRICTED] if control.at(minor) is not None]
        replaced = {control.instead_of for control in more}
        controls = (*(each for each in controls if each.name not in replaced), *more)
    return tuple(look for control in controls if (look := control.at(minor)) is not None)
