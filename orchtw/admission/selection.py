"""Which admission plugins run, and in what order, by default and by the flags (reference ADM-3 to ADM-6)."""

from __future__ import annotations

from twisted.logger import Logger

from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given, read
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins import PLUGINS
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.plugins import AdmissionPlugin
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
"""Every plugin of the release in the order in which both passes ask them, whatever the order of the flags."""

DEFAULT = frozenset(
    {"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass"}
    | {"DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionWebhook"}
    | {"NamespaceLifecycle", "PersistentVolumeClaimResize", "PodSecurity", "Priority", "ResourceQuota"}
    | {"RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition"}
    | {"ValidatingAdmissionWebhook"}
)
"""What runs unless it is switched off, as far as this server has it."""


NEED_CONFIGURATION = frozenset({"EventRateLimit", "ImagePolicyWebhook", "PodNodeSelector"})
"""What cannot run without a configuration of its own (reference ADM-6)."""


def order(config: Config) -> tuple[str, ...]:
    """Every name in the order in which both passes ask, installed plugins in their places."""
    return admission_order(ORDER, config.plugins.of(AdmissionPlugin))


def available(config: Config) -> tuple[str, ...]:
    """The names of the plugins that can run here."""
    return (*PLUGINS, *config.plugins.of(AdmissionPlugin))


def problems(config: Config) -> list[str]:
    """Return the problems of the flags, a line each: unknown or unavailable names, and names both on and off."""
    enabled, disabled = config.enable_admission_plugins, config.disable_admission_plugins
    alone = config.admission_control
    wanted = {"admission-control": alone, "enable-admission-plugins": enabled}
    flags = {**wanted, "disable-admission-plugins": disabled}
    known = order(config)
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
        f'{flag}: plugin "{name}" is not available; available are {", ".join(available(config))}'
        for flag, names in wanted.items()
        for name in names
        if name in known and name not in available(config)
    ]


def selected(host: AdmissionHost, config: Config) -> dict[str, ChainPlugin]:
    """The plugins that are switched on, by their names and in their order, each with its configuration.

    Raises ConfigError with every problem of the flags, or of the configurations.
    """
    if found := problems(config):
        raise ConfigError(*found)
    if config.admission_control:
        _log.warn("--admission-control is deprecated: use --enable-admission-plugins or --disable-admission-plugins")
    given = read(config.admission_control_config_file, order(config))
    names = _switched_on(config)
    plugins: dict[str, ChainPlugin] = {}
    wrong: list[str] = []
    for name in order(config):
        if name in names and name in available(config):
            try:
                plugins[name] = _made(name, host, config, given.of(name))
            except ConfigError as error:
                wrong += error.problems
    if wrong:
        raise ConfigError(*wrong)
    return plugins


def _switched_on(config: Config) -> frozenset[str]:
    if config.admission_control:
        return frozenset(config.admission_control)
    installed = config.plugins.of(AdmissionPlugin)
    default = DEFAULT.union(name for name, plugin in installed.items() if plugin.default)
    return default.union(config.enable_admission_plugins).difference(config.disable_admission_plugins)


def _made(name: str, host: AdmissionHost, config: Config, given: Given | None) -> ChainPlugin:
    installed = config.plugins.of(AdmissionPlugin).get(name)
    needs = name in NEED_CONFIGURATION if installed is None else installed.needs_configuration
    if given is None and needs:
        raise ConfigError(f'couldn\'t init admission plugin "{name}": no config specified')
    make = PLUGINS[name] if installed is None else installed.make
    plugin: ChainPlugin = make(host, config, given)
    return plugin
