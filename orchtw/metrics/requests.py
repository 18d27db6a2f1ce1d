"""Request metrics: counts, durations and sizes (reference METRIC-5).

A request finds its series by one lookup in a dict; from then on each count is a few additions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.metrics.registry import Registry
from orchtw.metrics.request_labels import (
    COMPONENT,
    NAMES,
    Labels,
    code_of,
    dry_run_of,
    is_apply,
    path_of,
    scope_of,
    verb_of,
)
from orchtw.metrics.series import OTHER, STABLE, Histogram, Number, counters, gauges, histograms
from orchtw.request import Request, RequestInfo

DURATIONS_S: Final = (
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60
)  # fmt: skip
SIZES_BYTES: Final = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9)

MOST_KINDS: Final = 4000
"""Limit of the kinds of requests, apart from their codes; others count as OTHER (reference METRIC-8)."""

WARN: Final = "Warn"
VALIDATIONS: Final = ("Ignore", WARN, "Strict")
"""Field validation directives, as label values."""

_MEASURED: Final = frozenset({"GET", "LIST"})
_VALIDATED: Final = frozenset({"POST", "PUT", "PATCH", "APPLY"})

Named = Callable[[str, str, str, str], tuple[str, str, str, str] | None]
"""Function that returns the served group, version, resource and sub-resource; None for unknown resources."""


class RequestSeries:
    """The series of equal requests, as `RequestMetrics.of` returns them."""

    __slots__ = ("_metrics", "codes", "dry_run", "durations", "labels", "less_webhooks", "sizes", "validates")

    def __init__(self, metrics: RequestMetrics, labels: Labels, dry_run: str) -> None:
        shown = labels.values
        self._metrics = metrics
        self.labels = labels
        self.dry_run = dry_run
        self.codes: dict[int, Number] = {}
        self.durations: Histogram = metrics.durations.of(labels.verb, dry_run, *shown[1:])
        self.less_webhooks: Histogram = metrics.less_webhooks.of(*shown)
        self.validates = labels.verb in _VALIDATED and bool(labels.component)
        self.sizes: Histogram | None = metrics.sizes.of(*shown) if labels.verb in _MEASURED else None

    def answered(self, code: int, seconds: float, webhook_s: float, size: int | None) -> None:
        """Count a request that was answered; `size` is that of the body in bytes, where it is known."""
        counted = self.codes.get(code)
        if counted is None:
            counted = self.codes[code] = self._metrics.total_of(self, code)
        counted.value += 1
        self.durations.observe(seconds)
        self.less_webhooks.observe(seconds - webhook_s)
        if size is not None and self.sizes is not None:
            self.sizes.observe(size)


class RequestMetrics:
    """Metric families of requests; `named` knows what is served, so that clients cannot make up labels."""

    def __init__(self, registry: Registry, named: Named) -> None:
        self._named = named
        self._changed = False
        self._kinds: dict[tuple[object, ...], RequestSeries] = {}
        add, most = registry.add, MOST_KINDS
        self.total = add(counters(
            "apiserver_request_total", "Requests by verb, dry run, resource, scope and response code.",
            ("verb", "dry_run", *NAMES[1:], "code"), stability=STABLE, most=4 * most))  # fmt: skip
        self.durations = add(histograms(
            "apiserver_request_duration_seconds", "Response latency in seconds; for a watch, the time until it ends.",
            DURATIONS_S, ("verb", "dry_run", *NAMES[1:]), stability=STABLE, most=most))  # fmt: skip
        self.less_webhooks = add(histograms(
            "apiserver_request_slo_duration_seconds",
            "Response latency in seconds, less the time taken by admission webhooks.",
            DURATIONS_S, NAMES, most=most))  # fmt: skip
        self.sizes = add(histograms(
            "apiserver_response_sizes", "Size of responses to reads in bytes, before compression.", SIZES_BYTES,
            NAMES, stability=STABLE, most=most))  # fmt: skip
        self.running = add(gauges(
            "apiserver_longrunning_requests", "Open watches, logs and upgraded connections.", NAMES,
            stability=STABLE, most=most))  # fmt: skip
        self._running_deprecated = add(gauges(
            "apiserver_longrunning_gauge", "Open watches, logs and upgraded connections.", NAMES, since="1.23.0",
            most=most))  # fmt: skip
        self.terminations = add(counters(
            "apiserver_request_terminations_total", "Requests that the server terminated in self-defense.",
            (*NAMES, "code"), most=most))  # fmt: skip
        self.aborts = add(counters(
            "apiserver_request_aborts_total",
            "Requests whose client disconnected, or whose response could not be sent.",
            NAMES[:-1], most=most))  # fmt: skip
        self.late = add(counters(
            "apiserver_request_post_timeout_total", "Requests that finished after their client had been sent a 504.",
            ("source", "status")))  # fmt: skip
        validations = add(histograms(
            "field_validation_request_duration_seconds",
            "Response latency of writes in seconds, by handling of unknown fields.", DURATIONS_S,
            ("field_validation", "enabled")))  # fmt: skip
        self._validations = {each: validations.of(each, "true") for each in VALIDATIONS}
        self.deprecated = add(gauges(
            "apiserver_requested_deprecated_apis",
            "Deprecated APIs that have been requested, and the release in which they are removed.",
            ("group", "version", "resource", "subresource", "removed_release"), stability=STABLE))  # fmt: skip

    def of(self, request: Request) -> RequestSeries:
        """Return the series for a request."""
        info = request.info
        if info is None:
            return self._made(Labels(_method(request), "", "", "", OTHER, "", ""), "")
        if not info.is_resource:
            key: tuple[object, ...] = (info.verb, info.path)
        elif request.method == "GET":
            key = (info.verb, info.group, info.version, info.resource, info.subresource, not info.name,
                   not info.namespace)  # fmt: skip
        else:
            key = (info.verb, info.group, info.version, info.resource, info.subresource, not info.name,
                   not info.namespace, dry_run_of(request), is_apply(request))  # fmt: skip
        kind = self._kinds.get(key)
        return self._new(key, request, info) if kind is None else kind

    def _new(self, key: tuple[object, ...], request: Request, info: RequestInfo) -> RequestSeries:
        """Return series for a new kind of request; labels that clients may make up are replaced."""
        verb, scope = verb_of(request, info), scope_of(info)
        if not info.is_resource:
            path = path_of(info.path)
            kind = self._made(Labels(verb, "", "", "", path, scope, ""), "")
            if path == info.path:
                self._kinds[key] = kind
            return kind
        named = self._named(info.group, info.version, info.resource, info.subresource)
        dry_run = dry_run_of(request)
        if len(self._kinds) >= MOST_KINDS and self._changed:
            self._forget()
        if named is None or len(self._kinds) >= MOST_KINDS:
            return self._made(Labels(verb, "", "", OTHER, "", scope, COMPONENT), dry_run)
        kind = self._made(Labels(verb, *named, scope, COMPONENT), dry_run)
        if named == (info.group, info.version, info.resource, info.subresource):
            self._kinds[key] = kind
        return kind

    def _made(self, labels: Labels, dry_run: str) -> RequestSeries:
        """Return the series with these labels."""
        kind = self._kinds.get((labels, dry_run))
        if kind is None:
            kind = self._kinds[labels, dry_run] = RequestSeries(self, labels, dry_run)
        return kind

    def resources_changed(self) -> None:
        """Note that some resources may no longer be served."""
        self._changed = True

    def _forget(self) -> None:
        """Drop the series of resources that are no longer served, to make room."""
        self._changed = False
        for key, kind in list(self._kinds.items()):
            labels = kind.labels
            asked = labels.group, labels.version, labels.resource, labels.subresource
            if labels.component and labels.resource != OTHER and self._named(*asked) is None:
                del self._kinds[key]
                self._let_go(kind)

    def _let_go(self, kind: RequestSeries) -> None:
        verb, *rest = shown = kind.labels.values
        self.durations.forget(verb, kind.dry_run, *rest)
        for code in kind.codes:
            self.total.forget(verb, kind.dry_run, *rest, code_of(code))
        for family in (self.less_webhooks, self.sizes, self.running, self._running_deprecated):
            family.forget(*shown)

    def total_of(self, kind: RequestSeries, code: int) -> Number:
        """Return the count of responses with this code."""
        shown = kind.labels.values
        return self.total.of(kind.labels.verb, kind.dry_run, *shown[1:], code_of(code))

    def opened(self, kind: RequestSeries, change: int) -> None:
        """Count one more long-running request, or one less (-1)."""
        for family in (self.running, self._running_deprecated):
            family.of(*kind.labels.values).value += change

    def terminated(self, kind: RequestSeries, code: int) -> None:
        """Count a request that the server ended to protect itself."""
        self.terminations.of(*kind.labels.values, code_of(code)).value += 1

    def validated(self, request: Request, seconds: float) -> None:
        """Record the duration of a write, by its field validation directive."""
        asked = request.param("fieldValidation") if "fieldValidation=" in request.query else WARN
        self._validations[asked if asked in self._validations else WARN].observe(seconds)

    def ended_late(self, source: str, status: str) -> None:
        """Count a request that ended after it was answered with 504: its `source`, and `ok` or `error`."""
        self.late.of(source, status).value += 1

    def requested_deprecated(self, info: RequestInfo, removed: str) -> None:
        """Note the use of a deprecated version (reference VER-8)."""
        self.deprecated.of(info.group, info.version, info.resource, info.subresource, removed).value = 1

    def aborted(self, kind: RequestSeries) -> None:
        """Count a request whose client left before the response."""
        self.aborts.of(*kind.labels.values[:-1]).value += 1


def _method(request: Request) -> str:
    return request.method if request.method in ("GET", "POST", "PUT", "PATCH", "DELETE") else OTHER
