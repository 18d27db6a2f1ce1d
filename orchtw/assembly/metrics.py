"""Registry of all metrics of the process (reference METRIC-5, METRIC-7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from orchtw.apply.known_sets import KNOWN_SETS
from orchtw.assembly.collector import Collector
from orchtw.assembly.process_metrics import show_process
from orchtw.assembly.reactor_lag import ReactorLag
from orchtw.assembly.resources import Resources
from orchtw.client.interface import Resource
from orchtw.client.queue_metrics import Queues
from orchtw.config import Config
from orchtw.controllers.manager import Manager
from orchtw.endpoints import debug_flags
from orchtw.endpoints.metrics import Processes
from orchtw.endpoints.version import version_of
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from orchtw.metrics.requests import RequestMetrics
from orchtw.metrics.series import (
    COUNTER,
    GAUGE,
    OTHER,
    Read,
    ShownFamily,
    Single,
    Values,
    counters,
    gauges,
    histograms,
    one,
)
from orchtw.naming.naming import Naming
from orchtw.outbound.metrics import CallMetrics
from orchtw.registry.aggregation.metrics import AvailabilityMetrics
from orchtw.registry.aggregation.services import ApiServices
from orchtw.registry.recent_drafts import RECENT_DRAFTS
from orchtw.responses.list_metrics import ListMetrics
from orchtw.schema.codec.known_fields import KNOWN_FIELDS
from orchtw.serving.listener import Listener
from orchtw.storage.metrics import StoreTimes, show_caches, show_store
from orchtw.watch.frames import FRAME_BYTES

KIND: Final = ("group", "version", "kind")
MOST_KINDS_WATCHED: Final = 4000

_BUILD = {
    "major": "major",
    "minor": "minor",
    "git_version": "gitVersion",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "build_date": "buildDate",
    "go_version": "goVersion",
    "compiler": "compiler",
    "platform": "platform",
}


class AllProcesses(Processes, debug_flags.Processes, Protocol):
    """Requests to all processes together."""


class Instruments:
    """`registry` has everything that is shown; the other attributes are for those who count.

    `passed_on` are the group versions that other servers serve. `lag` and `collector` are services; who starts the
    process begins the latter. `processes` are all that serve here, if this is not the only one.
    """

    def __init__(self, config: Config, resources: Resources) -> None:
        naming, self._targets = resources.naming, resources.targets
        major, minor = map(int, naming.release.split("."))
        self.registry = Registry(
            release=(major, minor),
            disabled=config.metrics.disabled_metrics,
            hidden=bool(config.metrics.show_hidden_metrics_for_version),
            allowed=config.metrics.allowed_labels,
        )
        self._never_stored = {
            (each.group, each.version, each.plural) for each in resources.enabled if each.storage_version is None
        }
        self.processes: AllProcesses | None = None
        self.passed_on: Mapping[tuple[str, str], object] = {}
        add = self.registry.add
        self.requests = RequestMetrics(self.registry, self._served)
        resources.targets.listen(self.requests.resources_changed)
        self.attempts = Attempts(self.registry, told_apart(naming))
        self._own_requests = add(counters(
            "apiserver_selfrequest_total", "Requests made by the server's own controllers.",
            ("verb", "resource", "subresource")))  # fmt: skip
        self.lists = ListMetrics(self.registry, naming)
        self.store_times = StoreTimes(self.registry, naming)
        self.calls = CallMetrics(self.registry)
        self.queues = Queues(self.registry, resources.clock.seconds)
        self.events = add(histograms(
            "apiserver_watch_events_sizes", "Size of watch events in bytes, by kind.", FRAME_BYTES, KIND,
            most=MOST_KINDS_WATCHED))  # fmt: skip
        add(Read(self._events, "apiserver_watch_events_total", COUNTER, "Watch events sent, by kind.",
                 KIND))  # fmt: skip
        add(Read(self._watchers, "apiserver_registered_watchers", GAUGE, "Open watches, by kind.", KIND,
                 since="1.23.0"))  # fmt: skip
        show_caches(self.registry, resources.cacher, naming)
        show_store(self.registry, resources.store, config.storage.backend)
        self._show_threads(resources)
        add(Read(one(lambda: resources.codecs.generated.known_parts.size_bytes), "orchtw_known_texts_bytes", GAUGE,
                 "Bytes of cached object parts, which need not be processed again."))  # fmt: skip
        add(Read(one(lambda: KNOWN_SETS.size_bytes + KNOWN_FIELDS.size_bytes), "orchtw_known_sets_bytes", GAUGE,
                 "Bytes of cached field sets, by which owners of fields are recorded."))  # fmt: skip
        add(Read(one(lambda: RECENT_DRAFTS.size_bytes), "orchtw_recent_drafts_bytes", GAUGE,
                 "Bytes of parsed objects that are kept for their next update."))  # fmt: skip
        show_process(self.registry)
        build_info(self.registry, naming, config.generic.git_version)

    def all_processes(self) -> AllProcesses | None:
        """Return the metrics of all processes, which may be known only after the endpoints have been made."""
        return self.processes

    def _events(self) -> Iterator[tuple[Values, float]]:
        return ((values, series.count) for values, series in self.events.series())

    def _watchers(self) -> Iterator[tuple[Values, float]]:
        for labels, open_now in self.requests.running.series():
            verb, group, version, plural, *_ = labels
            target = self._targets.find(group, version, plural) if verb == "WATCH" else None
            if target is not None:
                yield (group, version, target.resource.kind), open_now.value

    def _show_threads(self, resources: Resources) -> None:
        add, offload, self.lag = self.registry.add, resources.offload, ReactorLag(resources.clock)
        self.collector = Collector(resources.clock)
        add(Single(self.lag.seconds, "orchtw_reactor_lag_seconds", "Delay of callbacks that are ready to run."))
        add(Single(self.collector.seconds, "orchtw_gc_pause_seconds", "Duration of a garbage collection."))
        add(Single(offload.seconds, "orchtw_offload_seconds", "Latency of computations in the worker thread."))
        add(Read(one(lambda: offload.waiting_bytes), "orchtw_offload_waiting_bytes", GAUGE,
                 "Bytes of input to computations that are queued or running in the worker thread."))  # fmt: skip

    def self_request(self, verb: str, resource: Resource, subresource: str) -> None:
        """Count a request of the server to itself."""
        self._own_requests.of(verb, resource.plural, subresource).value += 1

    def show(self, families: Iterable[ShownFamily[Any]]) -> None:
        """Show the families of another part."""
        for family in families:
            self.registry.add(family)

    def show_aggregation(self, services: ApiServices) -> None:
        """Show what other servers serve."""
        self.passed_on = services.remote
        AvailabilityMetrics(self.registry, services)

    def show_election(self, manager: Manager, name: str) -> None:
        """Show whether this process leads, where that is asked."""
        if manager.leading is not None:
            self.registry.add(Read(
                lambda: [((name,), int(bool(manager.leading)))], "leader_election_master_status", GAUGE,
                "1 if this process holds the lease of that name, else 0.", ("name",)))  # fmt: skip

    def show_listener(self, listener: Listener) -> None:
        """Show connections, and what they hold."""
        add, edge = self.registry.add, listener.edge
        add(Read(one(lambda: listener.failed_handshakes), "apiserver_tls_handshake_errors_total", COUNTER,
                 "Connections whose TLS handshake failed."))  # fmt: skip
        add(Read(one(lambda: len(edge.channels)), "orchtw_connections", GAUGE, "Open connections."))
        add(Read(one(lambda: edge.in_flight), "orchtw_requests_in_flight", GAUGE,
                 "Requests, watches and upgraded connections in progress."))  # fmt: skip
        add(Read(one(lambda: edge.budget.used_bytes), "orchtw_inflight_bytes", GAUGE,
                 "Bytes held for requests and responses, out of --max-inflight-bytes."))  # fmt: skip

    def _served(self, group: str, version: str, resource: str, subresource: str) -> tuple[str, str, str, str] | None:
        """See `requests.Named`: of what other servers serve only the group version is known."""
        target = self._targets.find(group, version, resource)
        if target is not None:
            known = not subresource or any(sub.name == subresource for sub in target.resource.subresources)
            return group, version, resource, subresource if known else OTHER
        if (group, version, resource) in self._never_stored:
            return group, version, resource, OTHER if subresource else ""
        return (group, version, OTHER, "") if (group, version) in self.passed_on else None


def told_apart(naming: Naming) -> tuple[str, ...]:
    """Return the users that `authenticated_user_requests` names."""
    return (
        "admin",
        "client",
        naming.node_proxy.replace("-", "_"),
        naming.node_agent,
        f"system:serviceaccount:{naming.system_namespace}:default",
    )


def build_info(registry: Registry, naming: Naming, git_version: str) -> None:
    """Register the build info, as `/version` reports it."""
    document = version_of(git_version)
    family = gauges(naming.build_info_metric, "Build information, in the labels of a constant 1.", tuple(_BUILD))
    registry.add(family).of(*(document[key] for key in _BUILD.values())).value = 1
