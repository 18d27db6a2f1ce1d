"""Settings of the metrics endpoint (reference METRIC-3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import LIST, TEXT, FlagKind

PREVIOUS_RELEASE: Final = "1.23"
_SERIES = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?:,|$)|([^",]*)(?:,|$)')

AllowedLabels = tuple[tuple[str, str], ...]
"""Pairs of `metric,label` and its comma-separated values, as in the flag."""


def parse_allowed(texts: Sequence[str]) -> AllowedLabels:
    """Parse `metric,label=v1,v2` or a comma-separated list of quoted items. Raises ValueError without `=`."""
    return tuple(pair for text in texts for pair in _pairs(text))


def _pairs(text: str) -> list[tuple[str, str]]:
    if text.count("=") == 1:
        parts = [text.strip('"')]
    elif "=" in text:
        parts = [quoted.replace('""', '"') or plain for quoted, plain in _QUOTED.findall(text) if quoted or plain]
    else:
        raise ValueError(f"{text} must be formatted as key=value")
    for part in parts:
        if "=" not in part:
            raise ValueError(f"{part} must be formatted as key=value")
    return [(key, values) for key, _, values in (part.partition("=") for part in parts)]


def _show(pairs: AllowedLabels) -> str:
    return ",".join(f'"{key}={values}"' for key, values in pairs)


ALLOWED = FlagKind("stringToString", parse_allowed, _show)


@options
class MetricsOptions:
    """Options of the metrics endpoint."""

    show_hidden_metrics_for_version: str = setting(
        default="",
        metadata=about(
            "Metrics",
            "Show the metrics that the given release deprecated and this one hides; only the previous "
            "release (1.23) is valid.",
            TEXT,
        ),
    )
    disabled_metrics: tuple[str, ...] = setting(
        default=(), metadata=about("Metrics", "Names of metrics not to show.", LIST)
    )
    allow_metric_labels: AllowedLabels = setting(
        default=(),
        metadata=about(
            "Metrics",
            "Allowed values of a metric's label, as metric,label=v1,v2; other values are shown as "
            '"unexpected". Quote each item of a list.',
            ALLOWED,
        ),
    )

    @property
    def allowed_labels(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Return the allowed values by metric and label."""
        allowed = {}
        for key, values in self.allow_metric_labels:
            metric, _, label = key.partition(",")
            allowed[metric, label] = frozenset(value.strip() for value in values.split(","))
        return allowed


def problems(options: MetricsOptions) -> list[str]:
    """Return the problems of the metrics settings, one line each."""
    found = []
    if options.show_hidden_metrics_for_version not in ("", PREVIOUS_RELEASE):
        found.append(
            f"--show-hidden-metrics-for-version must be omitted or have the value '{PREVIOUS_RELEASE}'. "
            "Only the previous minor version is allowed"
        )
    if not all(_SERIES.fullmatch(key) for key, _ in options.allow_metric_labels):
        found.append(
            "--allow-metric-labels must has a list of kv pair with format "
            "`metricName:labelName=labelValue, labelValue,...`"
        )
    return found
