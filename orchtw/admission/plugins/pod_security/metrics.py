"""Metrics of PodSecurity: evaluations, exemptions and errors (reference PLUG-110)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.metrics import AdmissionMetrics, Count
from orchtw.admission.plugins.pod_security.policy import LATEST, LOOSEST, PRIVILEGED, Standard
from orchtw.admission.plugins.pod_security.standards import NEWEST

_REQUEST: Final = ("request_operation", "resource", "subresource")
_RESOURCES: Final = {"pods": "pod", "namespaces": "namespace"}


class PodSecurityMetrics:
    """Counters of the plugin."""

    def __init__(self, metrics: AdmissionMetrics) -> None:
        self._evaluations = metrics.counter(
            "pod_security_evaluations",
            "[ALPHA] Standards that pods and their templates were held against, without those that were exempt.",
            ("decision", "policy_level", "policy_version", "mode", *_REQUEST),
        )
        self._exemptions = metrics.counter(
            "pod_security_exemptions",
            "[ALPHA] Requests that were exempt, without those that nobody looks at.",
            _REQUEST,
        )
        self._errors = metrics.counter(
            "pod_security_errors",
            "[ALPHA] Requests that could not be looked at as they should; unless it was fatal the strictest standard "
            "was taken.",
            ("fatal", *_REQUEST),
        )

        self._passed: dict[tuple[str, str], Count] = {}

    def passed(self, attributes: Attributes) -> None:
        """Nothing is asked of a pod."""
        key = attributes.operation, attributes.subresource
        if key not in self._passed:  # most pods come here: the look-up of seven labels is half of what they cost
            self._passed[key] = self._series(attributes, LOOSEST, "enforce", "allow")
        self._passed[key].value += 1

    def evaluated(self, attributes: Attributes, standard: Standard, mode: str, *, denied: bool) -> None:
        """A pod was held against a standard."""
        self._series(attributes, standard, mode, "deny" if denied else "allow").value += 1

    def _series(self, attributes: Attributes, standard: Standard, mode: str, decision: str) -> Count:
        return self._evaluations.of(decision, standard.level, _version(standard), mode, *_request(attributes))

    def exempt(self, attributes: Attributes) -> None:
        """A request was exempt."""
        self._exemptions.of(*_request(attributes)).value += 1

    def failed(self, attributes: Attributes, *, fatal: bool) -> None:
        """A namespace was not there (fatal), or its labels cannot be read."""
        self._errors.of("true" if fatal else "false", *_request(attributes)).value += 1


def _request(attributes: Attributes) -> tuple[str, str, str]:
    resource = _RESOURCES.get(attributes.resource.qualified, "controller")
    return attributes.operation.lower(), resource, attributes.subresource


def _version(standard: Standard) -> str:
    """As a label, which must not have as many values as somebody can think of."""
    if standard.version == LATEST or standard.level == PRIVILEGED:
        return LATEST
    return standard.version if (standard.minor or 0) <= NEWEST else "future"
