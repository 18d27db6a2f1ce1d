"""Selection of the admission plugins that run, and their order, by the flags (reference ADM-3 to ADM-6)."""

from __future__ import annotations

from twisted.logger import Logger

from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given, read
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins import PLUGINS
from orchtw.config.admission import AdmissionOptions
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
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
"""Plugins of the release in the order of both passes, whatever the order in the flags."""

DEFAULT = frozenset(
    {"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass"}
    | {"DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionWebhook"}
    | {"NamespaceLifecycle", "PersistentVolumeClaimResize", "PodSecurity", "Priority", "ResourceQuota"}
    | {"RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition"}
    | {"ValidatingAdmissionWebhook"}
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


def problems(options: AdmissionOptions, installed: Plugins = NO_PLUGINS) -> list[str]:
    """Return the problems of the flags, a line each: unknown and unavailable names, and contradictions."""
    enabled, disabled = options.enable_admission_plugins, options.disable_admission_plugins
    alone = options.admission_control
    wanted = {"admission-control": alone, "enable-admission-plugins": enabled}
    flags = {**wanted, "disable-admission-plugins": disabled}
    known = order(installed)
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
    if found := problems(options, installed):
        raise ConfigError(*found)
    if options.admission_control:
        _log.warn("--admission-control is deprecated: use --enable-admission-plugins or --disable-admission-plugins")
    given = read(options.admission_control_config_file, order(installed))
    names = _switched_on(options, installed)
    plugins: dict[str, ChainPlugin] = {}
    wrong: list[str] = []
    for name in order(installed):
        if name in names and name in available(installed):
            try:
                plugins[name] = _made(name, host, options, installed, given.of(name))
            except ConfigError as error:
                wrong += error.problems
    if wrong:
        raise ConfigError(*wrong)
    return plugins


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
