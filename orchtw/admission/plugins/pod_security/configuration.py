"""PodSecurityConfiguration, the plugin's own configuration (reference PLUG-40, PLUG-102)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from orchtw.admission.configuration import Given
from orchtw.admission.plugins.pod_security.policy import (
    LATEST,
    MODES,
    NO_LEVEL,
    NO_VERSION,
    PRIVILEGED,
    NamespacePolicy,
    Standard,
    is_level,
    is_version,
)
from orchtw.errors import Cause, ConfigError
from orchtw.outbound.fields import Fields
from orchtw.values.causes import duplicate, go_quote, invalid, required
from orchtw.values.names import dns_label, dns_subdomain

KIND: Final = "PodSecurityConfiguration"
GROUP: Final = "pod-security.admission.config.orch.io"
VERSIONS: Final = (f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")

Rule = Callable[[str], Sequence[str]]


class PodSecuritySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults for namespaces without labels, and exemptions."""

    defaults: NamespacePolicy = msgspec.field(default_factory=NamespacePolicy)
    users: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


def read(given: Given | None) -> PodSecuritySettings:
    """Return the configured settings; by default, all modes are privileged and nothing is exempt.

    Raises ConfigError with a line for each mistake.
    """
    if given is None:
        return PodSecuritySettings()
    file = given.fields()
    _check_kind(file)
    file.only("apiVersion", "kind", "defaults", "exemptions")
    exempt = file.section("exemptions")
    exempt.only("usernames", "namespaces", "runtimeClasses")
    causes: list[Cause] = []
    settings = PodSecuritySettings(
        defaults=_defaults(file.section("defaults"), causes),
        users=_exempt(exempt, "usernames", _anything, causes),
        namespaces=_exempt(exempt, "namespaces", dns_label, causes),
        runtime_classes=_exempt(exempt, "runtimeClasses", dns_subdomain, causes),
    )
    if causes:
        raise ConfigError(*(str(file.wrong(cause.field, cause.message)) for cause in causes))
    return settings


def _check_kind(file: Fields) -> None:
    version, kind = file.text("apiVersion"), file.text("kind")
    if not version:
        raise file.wrong("", "Object 'apiVersion' is missing")
    if not kind:
        raise file.wrong("", "Object 'Kind' is missing")
    if kind != KIND or version not in VERSIONS:
        raise file.wrong("", f"no kind {go_quote(kind)} is registered for version {go_quote(version)}")


def _defaults(section: Fields, causes: list[Cause]) -> NamespacePolicy:
    section.only(*MODES, *(f"{mode}-version" for mode in MODES))
    standards: dict[str, Any] = {}
    for mode in MODES:
        level = section.text(mode) or PRIVILEGED
        version = section.text(f"{mode}-version") or LATEST
        if not is_level(level):
            causes.append(invalid(f"defaults.{mode}", level, NO_LEVEL))
        if not is_version(version):
            causes.append(invalid(f"defaults.{mode}-version", version, NO_VERSION))
        standards[mode] = Standard(level, version)
    return NamespacePolicy(**standards)


def _exempt(section: Fields, name: str, rule: Rule, causes: list[Cause]) -> frozenset[str]:
    known: set[str] = set()
    for index, text in enumerate(section.texts(name)):
        field = f"exemptions.{name}[{index}]"
        if rule is _anything and not text:
            causes.append(required(field))
        elif wrong := rule(text):
            causes.append(invalid(field, text, ", ".join(wrong)))
        elif text in known:
            causes.append(duplicate(field, text))
        known.add(text)
    return frozenset(known)


def _anything(text: str) -> Sequence[str]:
    return ()
