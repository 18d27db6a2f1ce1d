"""Configuration of the plugin: resources that may only be used under a quota (reference PLUG-31)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.configuration import Given
from orchtw.errors import ConfigError
from orchtw.outbound.fields import Fields
from orchtw.quota.quotas import Limited
from orchtw.quota.scopes import Requirement
from orchtw.values.causes import go_quote

_KINDS: Final = {
    "apiserver.config.orch.io/v1": "ResourceQuotaConfiguration",
    "resourcequota.admission.orch.io/v1beta1": "Configuration",
    "resourcequota.admission.orch.io/v1alpha1": "Configuration",
}
_SCOPES: Final = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def read(given: Given | None) -> Sequence[Limited]:
    """Read the limited resources of the file, if any. Raises ConfigError with one line for an invalid file."""
    if given is None:
        return ()
    file = given.fields()
    version, kind = file.text("apiVersion"), file.text("kind")
    if _KINDS.get(version) != kind:
        why = f"no kind {go_quote(kind)} is registered for version {go_quote(version)}"
        raise file.wrong("", f"{why}: use ResourceQuotaConfiguration of apiserver.config.orch.io/v1")
    file.only("apiVersion", "kind", "limitedResources")
    return [_limited(each) for each in file.sections("limitedResources")]


def _limited(entry: Fields) -> Limited:
    entry.only("apiGroup", "resource", "matchContains", "matchScopes")
    plural = entry.text("resource")
    if not plural:
        raise entry.wrong("resource", "Required value")
    return Limited(
        group=entry.text("apiGroup"),
        plural=plural,
        contains=entry.texts("matchContains"),
        scopes=tuple(_requirement(each) for each in entry.sections("matchScopes")),
    )


def _requirement(term: Fields) -> Requirement:
    term.only("scopeName", "operator", "values")
    scope, operator, values = term.text("scopeName"), term.text("operator"), term.texts("values")
    if scope not in _SCOPES:
        raise _unsupported(term, "scopeName", scope, _SCOPES)
    if operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        raise _unsupported(term, "operator", operator, (*_WITH_VALUES, *_WITHOUT_VALUES))
    if operator in _WITH_VALUES and not values:
        raise term.wrong("values", "must be at least one value when `operator` is 'In' or 'NotIn'")
    if operator in _WITHOUT_VALUES and values:
        raise term.wrong("values", "must be no value when `operator` is 'Exists' or 'DoesNotExist'")
    return Requirement(scope, operator, values)


def _unsupported(term: Fields, name: str, value: str, supported: Sequence[str]) -> ConfigError:
    shown = ", ".join(map(go_quote, supported))
    return term.wrong(name, f"Unsupported value: {go_quote(value)}: supported values: {shown}")
