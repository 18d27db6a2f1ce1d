"""Selection of the admission plugins that run, and their order, by the flags (reference ADM-3 to ADM-6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from twisted.logger import Logger

from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given, read
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins import PLUGINS
from orchtw.config.admission import AdmissionOptions
from orchtw.config.releases import FIRST, LAST, Release
from orchtw.errors import ConfigError
from orchtw.plugins import AdmissionPlugin
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins
from orchtw.plugins.order import admission_order

_log = Logger()

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
    "PodTopologyLabels",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
"""Plugins of the release in the order of both passes, whatever the order in the flags."""

GATED = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}
"""Plugins that came after release 1.24, with the resources that they follow: without the gate of the same name, they
do not exist, and without the resource they have nothing to do.
"""

SINCE: Mapping[str, Release] = MappingProxyType({"PodTopologyLabels": (1, 33), "PodResizeValidator": (1, 36)})
"""Plugins that came after release 1.24, with the release: while an earlier one is emulated, they do not exist."""

EVERY_GATE: Mapping[str, bool] = MappingProxyType({})
"""States of gates that are all at their default, which is on."""

DEFAULT = frozenset(
    {"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass"}
    | {"DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionWebhook"}
    | {"NamespaceLifecycle", "PersistentVolumeClaimResize", "PodSecurity", "Priority", "ResourceQuota"}
    | {"RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition"}
    | {"ValidatingAdmissionWebhook", *GATED, *SINCE}
)
"""Plugins that run by default, if this server has them."""


NEED_CONFIGURATION = frozenset({"EventRateLimit", "ImagePolicyWebhook", "PodNodeSelector"})
"""Plugins that need a configuration of their own (reference ADM-6)."""


def order(installed: Plugins) -> tuple[str, ...]:
    """Return the names of all plugins in the order of both passes, installed plugins included."""
    return admission_order(ORDER, installed.of(AdmissionPlugin))


def available(installed: Plugins) -> tuple[str, ...]:
    """Return the names of the plugins that can run here."""
    return (*PLUGINS, *installed.of(AdmissionPlugin))


def problems(
    options: AdmissionOptions,
    installed: Plugins = NO_PLUGINS,
    gates: Mapping[str, bool] = EVERY_GATE,
    release: Release = LAST,
) -> list[str]:
    """Return the problems of the flags, a line each: unknown and unavailable names, and contradictions."""
    enabled, disabled = options.enable_admission_plugins, options.disable_admission_plugins
    alone = options.admission_control
    wanted = {"admission-control": alone, "enable-admission-plugins": enabled}
    flags = {**wanted, "disable-admission-plugins": disabled}
    known = [name for name in order(installed) if _exists(name, gates, release)]
    found = [
        f'{flag} plugin "{name}" is unknown' for flag, names in flags.items() for name in names if name not in known
    ]
    if alone and (enabled or disabled):
        pair = "enable-admission-plugins/disable-admission-plugins"
        found.append(f"admission-control and {pair} flags are mutually exclusive")
    if both := sorted(set(enabled).intersection(disabled)):
        where = "enable-admission-plugins and disable-admission-plugins"
        found.append(f"[{' '.join(both)}] in {where} overlapped")
    return found + [
        f'{flag}: plugin "{name}" is not available; available are {", ".join(available(installed))}'
        for flag, names in wanted.items()
        for name in names
        if name in known and name not in available(installed)
    ]


def selected(
    host: AdmissionHost, options: AdmissionOptions, installed: Plugins = NO_PLUGINS
) -> dict[str, ChainPlugin]:
    """Return the enabled plugins, configured, by name and in order.

    Raises ConfigError with every problem of the flags, or of the configurations.
    """
    if found := problems(options, installed, host.gates, host.release):
        raise ConfigError(*found)
    if options.admission_control:
        _log.warn("--admission-control is deprecated: use --enable-admission-plugins or --disable-admission-plugins")
    given = read(options.admission_control_config_file, order(installed))
    names = _switched_on(options, installed)
    plugins: dict[str, ChainPlugin] = {}
    wrong: list[str] = []
    for name in order(installed):
        there = name in available(installed) and _exists(name, host.gates, host.release)
        if name in names and there and _works(name, host):
            try:
                plugins[name] = _made(name, host, options, installed, given.of(name))
            except ConfigError as error:
                wrong += error.problems
    if wrong:
        raise ConfigError(*wrong)
    return plugins


def _exists(name: str, gates: Mapping[str, bool], release: Release) -> bool:
    return SINCE.get(name, FIRST) <= release and (name not in GATED or gates.get(name, True))


def _works(name: str, host: AdmissionHost) -> bool:
    """Report whether the resource that a plugin follows is known in v1, or an earlier version of it is served."""
    if name not in GATED:
        return True
    group, plural = host.naming.group("admissionregistration.orch.io"), GATED[name]
    try:
        host.targets.stored_target(group, "v1", plural)
    except KeyError:
        qualified = f"{plural}.{group}"
        return any(each.resource.qualified == qualified for each in host.targets.served())
    return True


def _switched_on(options: AdmissionOptions, installed: Plugins) -> frozenset[str]:
    if options.admission_control:
        return frozenset(options.admission_control)
    added = installed.of(AdmissionPlugin)
    default = DEFAULT.union(name for name, plugin in added.items() if plugin.default)
    return default.union(options.enable_admission_plugins).difference(options.disable_admission_plugins)


def _made(
    name: str, host: AdmissionHost, options: AdmissionOptions, installed: Plugins, given: Given | None
) -> ChainPlugin:
    added = installed.of(AdmissionPlugin).get(name)
    needs = name in NEED_CONFIGURATION if added is None else added.needs_configuration
    if given is None and needs:
        raise ConfigError(f'couldn\'t init admission plugin "{name}": no config specified')
    if added is None:
        return PLUGINS[name](host, options, given)
    made: ChainPlugin = added.make(host, installed.values, given)
    return made
