"""Which admission plugins run, and in what order, by default and by the flags (reference ADM-3, ADM-4, ADM-5)."""

from __future__ import annotations

from orchtw.admission.chain import Plugin
from orchtw.admission.host import Host
from orchtw.admission.plugins import PLUGINS
from orchtw.config import Config
from orchtw.errors import ConfigError

ORDER = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodSecurityPolicy",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "DenyEscalatingExec",
    "DenyExecOnPrivileged",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PersistentVolumeLabel",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
"""Every plugin of the release in the order in which both passes ask them, whatever the order of the flags."""

DEFAULT = frozenset(
    {"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass"}
    | {"DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionWebhook"}
    | {"NamespaceLifecycle", "PersistentVolumeClaimResize", "PodSecurity", "Priority", "ResourceQuota"}
    | {"RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition"}
    | {"ValidatingAdmissionWebhook"}
)
"""What runs unless it is switched off, as far as this server has it."""


def problems(config: Config) -> list[str]:
    """What is wrong with the flags, a line each: unknown names, ones that are not here, ones that are on and off."""
    enabled, disabled = config.enable_admission_plugins, config.disable_admission_plugins
    flags = (("enable", enabled), ("disable", disabled))
    found = [
        f'--{flag}-admission-plugins: plugin "{name}" is unknown'
        for flag, names in flags
        for name in names
        if name not in ORDER
    ]
    found += [
        f'--enable-admission-plugins: plugin "{name}" is not available; available are {", ".join(PLUGINS)}'
        for name in enabled
        if name in ORDER and name not in PLUGINS
    ]
    return found + [
        f'--enable-admission-plugins: plugin "{name}" is in --disable-admission-plugins too'
        for name in enabled
        if name in disabled
    ]


def selected(host: Host, config: Config) -> list[Plugin]:
    """The plugins that are switched on, in their order. Raises ConfigError with every problem of the flags."""
    if found := problems(config):
        raise ConfigError(*found)
    names = DEFAULT.union(config.enable_admission_plugins).difference(config.disable_admission_plugins)
    return [PLUGINS[name](host, config) for name in ORDER if name in names and name in PLUGINS]
