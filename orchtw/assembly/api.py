"""Handlers of the API: verbs on resources, kinds that are never stored, and other endpoints."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from random import SystemRandom
from typing import Any

import msgspec
from twisted.internet.interfaces import IReactorTime

from orchtw.assembly.faults import Faults
from orchtw.assembly.flow_control import Limiting
from orchtw.assembly.history import Recording
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.resources import Resources
from orchtw.assembly.stages import FIELD_VALIDATION
from orchtw.assembly.verb_table import equal_calls, object_verbs, review_endpoints, subresource_verbs
from orchtw.authn.method import TokenReviewer
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authz.decision import Authorizer
from orchtw.config import Config
from orchtw.config.feature_gates import GATES
from orchtw.config.generic import GenericOptions
from orchtw.endpoints.aggregated_discovery import aggregated_versions
from orchtw.endpoints.checks import Checks
from orchtw.endpoints.debug_flags import DebugFlags
from orchtw.endpoints.discovery import Discovery
from orchtw.endpoints.health import Health
from orchtw.endpoints.issuer import IssuerDiscovery
from orchtw.endpoints.log_files import PREFIX as LOGS
from orchtw.endpoints.log_files import LogFiles
from orchtw.endpoints.metrics import Metrics
from orchtw.endpoints.openapi import OpenAPI
from orchtw.endpoints.openapi_v2 import OpenAPIV2
from orchtw.endpoints.openapi_v3 import OpenAPIV3, PassOn
from orchtw.endpoints.paths import Endpoint as PathEndpoint
from orchtw.endpoints.paths import Paths
from orchtw.endpoints.profiling import Profiling
from orchtw.endpoints.version import Version
from orchtw.logs.verbosity import Verbosity
from orchtw.proxy.forwarding import ProxyTransport
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.registry.aggregation.order import matters
from orchtw.registry.aggregation.services import ApiServices
from orchtw.responses.accept import Acceptance
from orchtw.responses.representation import Representations
from orchtw.responses.transforms import Transforms
from orchtw.rules.continue_token import Tokens
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.resource_version_match import WatchList
from orchtw.schema.openapi.features import Features
from orchtw.verbs.binding import create_binding
from orchtw.verbs.component_statuses import ComponentStatuses
from orchtw.verbs.context import Kinds, Reading, WatchTimes, Writing
from orchtw.verbs.handler import Endpoint, ResourceHandler, Virtual
from orchtw.verbs.reviews import Reviews
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.write_path import WritePath


class ApiParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts that request handlers are built from.

    `address` is what discovery tells clients, host and port; `secret` (32 bytes) signs continue tokens. The
    authorizer and `tokens` answer reviews; pages of `origins` may watch over WebSockets. `transport` leads to
    node agents and what runs on nodes. `services` and `documents` are of the APIs that others serve, and `pass_on`
    asks them. `verbosity` can be changed, `reactor` looked into, while the server runs. `accounts` issues tokens of
    service accounts. `instruments` are what `/metrics` shows. `limiting` limits the requests at a time. `debugging`
    are further endpoints that flags have asked for. `faults` are None unless they are enabled, `record` is the record
    of all writes, if there is one.
    """

    resources: Resources
    clock: IReactorTime
    admissions: Admissions
    writes: WritePath
    deletion: Deletion
    tokens: TokenReviewer
    instruments: Instruments
    authorizer: Authorizer
    checks: Checks
    address: str
    secret: bytes
    origins: AllowedOrigins
    transport: ProxyTransport
    verbosity: Verbosity
    reactor: Any
    services: ApiServices
    documents: RemoteDocuments
    pass_on: PassOn
    accounts: AccountTokens
    limiting: Limiting
    faults: Faults | None
    debugging: Sequence[PathEndpoint] = ()
    record: Recording | None = None


class API:
    """`handler` stands at the end of the line of stages; `acceptance` says in which form a request is answered.

    `health` answers health checks.
    """

    def __init__(self, parts: ApiParts, config: Config) -> None:
        self._parts = parts
        self._config = config
        resources = parts.resources
        self._negotiator = Negotiator(resources.naming)
        self._representations = Representations(
            resources.codecs,
            Transforms(resources.codecs, resources.naming, time.time),
            resources.cacher.turns,
            resources.offload,
            parts.instruments.events.of,
        )
        self.acceptance = Acceptance(self._negotiator, self._representations)
        self.health = Health(parts.checks, parts.clock, config.health.livez_grace_period_s)
        reading, writing = self._reading(), self._writing()
        times = WatchTimes(clock=parts.clock, random=SystemRandom(), min_s=config.requests.min_request_timeout)
        verbs = object_verbs(reading, writing, times, parts.origins)
        self.handler = ResourceHandler(
            resources.naming,
            resources.targets,
            self.acceptance,
            verbs if parts.faults is None else parts.faults.verbs(reading, verbs),
            subresource_verbs(reading, writing, resources.targets, parts.transport, parts.accounts),
            self._endpoints(),
            self._virtual(writing),
            parts.instruments.requests.requested_deprecated,
            equal_calls(reading),
        )

    def _reading(self) -> Reading:
        resources = self._parts.resources
        return Reading(
            naming=resources.naming,
            store=resources.store,
            cacher=resources.cacher,
            tokens=Tokens(self._parts.secret, resources.naming),
            offload=resources.offload,
            representations=self._representations,
            lists=self._parts.instruments.lists,
            chunked_lists=self._config.generic.gates["APIListChunking"],
            watch_list=_watch_list(self._config.generic),
            sharded=self._config.generic.gates["ShardedListAndWatch"],
        )

    def _writing(self) -> Writing:
        parts, gates = self._parts, self._config.generic.gates
        return Writing(
            naming=parts.resources.naming,
            codecs=parts.resources.codecs,
            writes=parts.writes,
            deletion=parts.deletion,
            negotiator=self._negotiator,
            offload=parts.resources.offload,
            kinds=Kinds.of(parts.resources.codecs),
            representations=self._representations,
            unsafe_deletes=parts.authorizer if gates["AllowUnsafeMalformedObjectDeletion"] else None,
            binds_labels=gates["PodTopologyLabelsAdmission"],
        )

    def _endpoints(self) -> Paths:
        """Return the answers that are not about objects."""
        parts, resources, config = self._parts, self._parts.resources, self._config
        debugging = list(parts.debugging)
        processes = parts.instruments.all_processes
        if config.generic.profiling:
            debugging += [Profiling(parts.reactor), DebugFlags(parts.verbosity, processes)]
        trees: dict[str, PathEndpoint] = {LOGS: LogFiles()} if config.generic.enable_logs_handler else {}
        if parts.faults is not None:
            trees |= parts.faults.endpoints
        openapi = OpenAPI(resources.targets, resources.codecs.schemas, resources.offload, self._openapi_features())
        paths = Paths(
            [
                self.health,
                Version(config.generic.git_version, config.generic.emulated),
                *debugging,
                Metrics(parts.instruments.registry, processes),
                *([] if parts.limiting.dumps is None else [parts.limiting.dumps]),
                *([] if parts.record is None else [parts.record.endpoint]),
                IssuerDiscovery(parts.accounts),
            ],
            trees,
            [
                self._discovery(),
                OpenAPIV2(openapi, parts.documents),
                OpenAPIV3(openapi, parts.documents, time.time, parts.pass_on),
            ],
        )
        resources.targets.listen(paths.forget)
        parts.services.listen(lambda old, new: paths.forget() if matters(old, new) else None)
        parts.documents.listen(paths.forget)
        return paths

    def _openapi_features(self) -> Features:
        """Return what the OpenAPI documents show by the feature gates and the emulated release."""
        generic = self._config.generic
        return Features(
            enums=generic.gates["OpenAPIEnums"],
            field_validation=generic.gates[FIELD_VALIDATION],
            v3=generic.gates["OpenAPIV3"],
            initial_events=generic.gates["WatchList"],
            shards=generic.gates["ShardedListAndWatch"],
            unsafe_deletes=generic.emulated >= GATES["AllowUnsafeMalformedObjectDeletion"].since,
        )

    def _discovery(self) -> Discovery:
        """Return the documents that say what is served."""
        parts, generic = self._parts, self._config.generic
        discovery = Discovery(
            parts.resources.targets,
            parts.services,
            parts.address,
            self._negotiator,
            self._representations.document,
            aggregated_versions(generic.gates, generic.emulated),
            parts.documents.resources,
        )
        parts.documents.listen_to_lists(discovery.forget)
        return discovery

    def _virtual(self, writing: Writing) -> Virtual:
        """Return the served kinds that are asked or done, never stored."""
        parts, resources = self._parts, self._parts.resources
        reviews = Reviews(
            codecs=resources.codecs,
            negotiator=self._negotiator,
            acceptance=self.acceptance,
            representations=self._representations,
            offload=resources.offload,
            admissions=parts.admissions,
        )
        review_verbs = review_endpoints(reviews, parts.authorizer, parts.tokens, time.time)
        components = ComponentStatuses(
            resources.codecs, self.acceptance, self._representations, resources.store.check
        )
        pods = resources.targets.stored_target("", "v1", "pods")
        verbs: dict[str, Mapping[str, Endpoint]] = {
            "bindings": {"create": partial(create_binding, writing, pods, self.acceptance)},
            "componentstatuses": {"get": components.get, "list": components.list},
            **{plural: {"create": review} for plural, review in review_verbs.items()},
        }
        return {
            (each.group, each.version, each.plural): verbs[each.plural]
            for each in resources.enabled
            if each.storage_version is None
        }


def _watch_list(generic: GenericOptions) -> WatchList:
    """Return what the emulated release makes of `sendInitialEvents` (reference WATCH-21)."""
    if generic.emulated < GATES["WatchList"].since:
        return WatchList.UNKNOWN
    return WatchList.ON if generic.gates["WatchList"] else WatchList.OFF
