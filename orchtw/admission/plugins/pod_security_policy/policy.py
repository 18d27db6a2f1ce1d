"""PodSecurityPolicies, compiled to validate pods (reference PLUG-19, PLUG-104)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from orchtw.admission.plugins.pod_security_policy.ids import MUST, Ids, ids
from orchtw.admission.plugins.pod_security_policy.profiles import Profiles, profiles, with_both_names
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

SECCOMP: Final = "seccomp.security.alpha.orch.io/"
APP_ARMOR: Final = "apparmor.security.beta.orch.io/"

_LISTS: Final = (
    *("defaultAddCapabilities", "requiredDropCapabilities", "allowedCapabilities", "allowedProcMountTypes"),
    *("forbiddenSysctls", "allowedUnsafeSysctls", "volumes"),
)
_DRIVERS: Final = {"allowedFlexVolumes": "driver", "allowedCSIDrivers": "name"}


@attrs.frozen(slots=True, kw_only=True, eq=False)
class SecurityPolicy:
    """Compiled policy: `spec` is that of the object; `selinux` are the options that pods must have, or None.

    `authorities` is the name of the root CA ConfigMap in every namespace. `usable`: no strategy lacks ranges or
    options.
    """

    name: str
    spec: Object
    users: Ids
    groups: Ids
    supplemental: Ids
    file_groups: Ids
    selinux: Object | None
    seccomp: Profiles
    app_armor: Profiles
    authorities: str
    usable: bool
    _names: Mapping[str, frozenset[str]]

    def says(self, key: str) -> bool:
        """Report whether a boolean field is set."""
        return bool(self.spec.get(key))

    @property
    def allows_escalation(self) -> bool:
        """Report whether the policy allows privilege escalation."""
        return self.spec.get("allowPrivilegeEscalation") is not False

    def names(self, key: str) -> frozenset[str]:
        """Return the names in a list field of the spec."""
        return self._names[key]


def policy(obj: Object, naming: Naming) -> SecurityPolicy:
    """Compile a policy from its object."""
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    rules = {
        "users": ids(spec.get("runAsUser")),
        "groups": ids(spec.get("runAsGroup")),
        "supplemental": ids(spec.get("supplementalGroups")),
        "file_groups": ids(spec.get("fsGroup")),
    }
    labels = spec.get("seLinux") or {}
    must = labels.get("rule") == MUST
    options = labels.get("seLinuxOptions")
    return SecurityPolicy(
        name=obj["metadata"]["name"],
        spec=spec,
        selinux=options if must else None,
        seccomp=with_both_names(profiles(annotations, SECCOMP, naming)),
        app_armor=profiles(annotations, APP_ARMOR, naming),
        authorities=naming.root_ca_config_map,
        names={key: frozenset(spec.get(key) or ()) for key in _LISTS}
        | {key: frozenset(each.get(inner, "") for each in spec.get(key) or ()) for key, inner in _DRIVERS.items()},
        usable=all(rule.usable for rule in rules.values()) and not (must and options is None),
        **rules,
    )
