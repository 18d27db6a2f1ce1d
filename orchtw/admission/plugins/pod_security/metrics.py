"""Metrics of PodSecurity: evaluations, exemptions and errors (reference PLUG-110)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.metrics import AdmissionMetrics
from orchtw.admission.plugins.pod_security.checks import NEWEST
from orchtw.admission.plugins.pod_security.policy import LATEST, LOOSEST, PRIVILEGED, Standard
from orchtw.metrics.series import Number

_REQUEST: Final = ("request_operation", "resource", "subresource")
_RESOURCES: Final = {"pods": "pod", "namespaces": "namespace"}


class PodSecurityMetrics:
    """Counters of the plugin."""

    def __init__(self, metrics: AdmissionMetrics) -> None:
        self._evaluations = metrics.counter(
            "pod_security_evaluations_total",
            "Policy evaluations of pods and pod templates, not counting exempt requests.",
            ("decision", "policy_level", "policy_version", "mode", *_REQUEST),
        )
        self._exemptions = metrics.counter(
            "pod_security_exemptions_total",
            "Exempt requests, not counting those that the plugin ignores.",
            _REQUEST,
        )
        self._errors = metrics.counter(
            "pod_security_errors_total",
            "Errors that prevented an evaluation as configured; unless fatal, the strictest standard was "
            "applied.",
            ("fatal", *_REQUEST),
        )

        self._passed: dict[tuple[str, str], Number] = {}

    def passed(self, attributes: Attributes) -> None:
        """Count a pod admitted under the privileged standard."""
        key = attributes.operation, attributes.subresource
        if key not in self._passed:  # most pods come here: the lookup by seven labels would be half their cost
            self._passed[key] = self._series(attributes, LOOSEST, "enforce", "allow")
        self._passed[key].value += 1

    def evaluated(self, attributes: Attributes, standard: Standard, mode: str, *, denied: bool) -> None:
        """Count the evaluation of a pod under a standard."""
        self._series(attributes, standard, mode, "deny" if denied else "allow").value += 1

    def _series(self, attributes: Attributes, standard: Standard, mode: str, decision: str) -> Number:
        return self._evaluations.of(decision, standard.level, _version(standard), mode, *_request(attributes))

    def exempt(self, attributes: Attributes) -> None:
        """Count an exempt request."""
        self._exemptions.of(*_request(attributes)).value += 1

    def failed(self, attributes: Attributes, *, fatal: bool) -> None:
        """Count a request for a missing namespace (fatal), or for one with invalid labels."""
        self._errors.of("true" if fatal else "false", *_request(attributes)).value += 1


def _request(attributes: Attributes) -> tuple[str, str, str]:
    resource = _RESOURCES.get(attributes.resource.qualified, "controller")
    return attributes.operation.lower(), resource, attributes.subresource


def _version(standard: Standard) -> str:
    """Return a version as a label; those after NEWEST share one value, which bounds the number of series."""
    if standard.version == LATEST or standard.level == PRIVILEGED:
        return LATEST
    return standard.version if (standard.minor or 0) <= NEWEST else "future"
