"""The composition root: from a Config to the running API server, part by part."""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from random import SystemRandom
from typing import Any
from uuid import uuid4

from twisted.application.service import IService, Service
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.authn.method import Authenticator
from orchtw.authn.union import chain as authenticators
from orchtw.authz.decision import Authorizer
from orchtw.authz.union import chain as authorizers
from orchtw.config import Config, host_and_port
from orchtw.endpoints.checks import READYZ, Checks, LogFlow, store_check
from orchtw.endpoints.discovery import Discovery
from orchtw.endpoints.health import Health
from orchtw.endpoints.metrics import Metrics
from orchtw.endpoints.openapi import OpenAPI
from orchtw.endpoints.paths import Paths
from orchtw.endpoints.version import Version
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.authorization import AuthorizationStage
from orchtw.filters.chain import App, Placed
from orchtw.filters.deadline import Deadline
from orchtw.filters.request_info import RequestInfoStage
from orchtw.filters.request_log import VERBOSITY, RequestLog
from orchtw.naming import Naming
from orchtw.pki import first_start
from orchtw.pki.first_start import Pki
from orchtw.registry.bootstrap import create_namespaces
from orchtw.registry.deletion import Deletion
from orchtw.registry.metadata import Stamp
from orchtw.registry.namespaces import Namespaces
from orchtw.registry.targets import Targets
from orchtw.registry.write_path import WritePath
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.paging import Tokens
from orchtw.rules.runtime_config import enabled
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec import Codecs
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener, bind
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from orchtw.start import begin
from orchtw.storage.cache import Cacher
from orchtw.storage.sqlite import SqliteStore
from orchtw.verbs.accept import Acceptance
from orchtw.verbs.binding import create_binding
from orchtw.verbs.componentstatuses import ComponentStatuses
from orchtw.verbs.context import Context
from orchtw.verbs.dispatch import object_verbs, subresource_verbs
from orchtw.verbs.handler import Endpoint, ResourceHandler, Virtual
from orchtw.verbs.representation import Representations
from orchtw.verbs.reviews import Reviews
from orchtw.verbs.transforms import Transforms

STORE_FILE = "store.sqlite"
SPARE_FILES = 256
"""Open files beside connections: the store, logs, outgoing calls."""


def make_service(config: Config) -> IService:
    """The API server as a service that is yet to be started.

    What can go wrong before the reactor runs does so here, while `twistd` is still in the terminal: raises
    ConfigError for a port that is taken and for files that cannot be used.
    """
    from twisted.internet import reactor

    naming = Naming.of(config.vocabulary)
    _allow_connections(config.max_connections)
    bound = bind(config.bind_address, config.secure_port)
    try:
        pki = first_start.prepare(config, naming, bound.getsockname()[1], datetime.now(UTC))
        return APIServer(config, naming, pki, bound, reactor)
    except BaseException:
        bound.close()
        raise


class APIServer(Service):
    """Starts the parts from the store up to the listener, and stops them in reverse (supplement G4)."""

    _log = Logger()

    def __init__(self, config: Config, naming: Naming, pki: Pki, bound: Any, reactor: Any) -> None:
        self._config = config
        self._naming = naming
        self._pki = pki
        self._reactor = reactor
        self._catalogue = Catalogue.load(naming)
        self._codecs = Codecs(self._catalogue)
        self._enabled = enabled(self._catalogue, config.runtime_config)
        self._targets = Targets(self._catalogue, self._codecs, self._enabled)
        self._store = SqliteStore(
            str(config.data_dir / STORE_FILE),
            naming.vocabulary,
            reactor=reactor,
            clock=reactor,
            compaction_interval_s=config.etcd_compaction_interval_s,
        )
        self._store.probe()
        self._cacher = Cacher(self._store, reactor, lambda flush: reactor.callLater(0, flush))
        namespaces = Namespaces(self._targets)
        lifecycle = NamespaceLifecycle(naming, namespaces.phase_of)
        self._writes = WritePath(
            self._store, Chain([lifecycle]), Stamp(now=time.time, new_uid=lambda: str(uuid4())), SystemRandom()
        )
        self._checks = Checks(naming)
        self._add_checks()
        self._listener = Listener(
            self._app(host_and_port(config.public_address, bound.getsockname()[1])),
            self._tls(),
            bound,
            reactor=reactor,
            limits=EdgeLimits(
                handshake_s=config.tls_handshake_timeout_s,
                idle_s=config.idle_timeout_s,
                max_connections=config.max_connections,
                compress=config.gates["APIResponseCompression"],
            ),
            grace_s=config.request_timeout_s,
        )

    def startService(self) -> None:
        """Begin the start; a failure ends the process with one clear line."""
        super().startService()  # type: ignore[no-untyped-call]
        begin(self._reactor, self._start())

    def stopService(self) -> Deferred[None]:
        """Fires when everything is answered, closed and on disk."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    async def _start(self) -> None:
        await self._store.start()
        stored = list(self._targets.stored())
        await self._cacher.start(stored)
        for each in stored:
            each.cache = self._cacher.of(each)
        self._started.met = self._informers.met = True
        await create_namespaces(self._targets, self._writes, self._naming)
        self._bootstrap.met = True
        self._listener.startService()
        _settle_memory()
        address = host_and_port(self._config.public_address, self._listener.port)
        print(f"https://{address} {os.path.relpath(self._pki.kubeconfig)}", file=sys.__stdout__, flush=True)

    async def _stop(self) -> None:
        self._serving.met = False
        if self._config.shutdown_delay_duration_s:
            await deferLater(self._reactor, self._config.shutdown_delay_duration_s)
        await self._listener.stop_accepting()
        self._cacher.end_watches()
        await self._listener.stopService()
        await self._cacher.stop()
        await self._store.stop()

    def _add_checks(self) -> None:
        """The checks in the order of supplement G1; conditions are set as the start goes on."""
        checks, ready = self._checks, frozenset({READYZ})
        checks.add("ping", _pass)
        checks.add("log", LogFlow(self._reactor))
        checks.add("etcd", store_check(self._store.check, self._reactor))
        self._started = checks.condition("informer-sync", "caches are not filled yet", endpoints=ready)
        self._informers = checks.hook("generic-apiserver-start-informers")
        self._bootstrap = checks.hook("bootstrap-controller")
        self._serving = checks.condition("shutdown", "process is shutting down", met=True, endpoints=ready)

    def _tls(self) -> ServingTLS:
        config, pki = self._config, self._pki
        return ServingTLS(
            TLSOptions(
                certificates=pki.serving_chain,
                key=pki.serving_key,
                client_cas=pki.client_cas,
                min_version=config.tls_min_version,
                cipher_suites=config.tls_cipher_suites,
            )
        )

    def _app(self, address: str) -> App:
        """The line of stages; audit, impersonation and flow control have their places in it (see `filters.chain`)."""
        config, naming = self._config, self._naming
        negotiator = Negotiator(naming)
        representations = Representations(self._codecs, Transforms(self._codecs, naming, time.time))
        acceptance = Acceptance(negotiator, representations)
        context = self._context(negotiator, representations)
        authenticator = authenticators(config, time.time, os.urandom(32))
        authorizer = authorizers(config.authorization_mode)
        metrics = Metrics()
        endpoints = Paths(
            [
                Health(self._checks, self._reactor, config.livez_grace_period_s),
                Version(naming),
                metrics,
                Discovery(
                    self._catalogue, self._enabled, address, negotiator, representations.obj
                ),
                OpenAPI(self._catalogue, self._codecs.compiler, self._enabled, time.time),
            ]
        )
        handler = ResourceHandler(
            naming,
            self._targets,
            acceptance,
            object_verbs(context),
            subresource_verbs(context, self._targets),
            endpoints,
            self._virtual(context, acceptance, authenticator, authorizer),
            metrics.deprecated_requested,
        )
        return App(
            [
                Placed("request-info", RequestInfoStage()),
                Placed("authentication", AuthenticationStage(authenticator)),
                Placed("authorization", AuthorizationStage(authorizer)),
                Placed("handler", handler),
            ],
            acceptance.refusal,
            Deadline(self._reactor, config.request_timeout_s),
            RequestLog(self._reactor) if config.v >= VERBOSITY else None,
        )

    def _virtual(
        self, context: Context, acceptance: Acceptance, authenticator: Authenticator, authorizer: Authorizer
    ) -> Virtual:
        """The served kinds that are asked or done, never stored."""
        reviews = Reviews(
            codecs=self._codecs,
            negotiator=context.negotiator,
            acceptance=acceptance,
            representations=context.representations,
            authorizer=authorizer,
            authenticator=authenticator,
        )
        components = ComponentStatuses(self._codecs, acceptance, context.representations, self._store.check)
        pods = self._targets.stored_target("", "v1", "pods")
        verbs: dict[str, Mapping[str, Endpoint]] = {
            "bindings": {"create": partial(create_binding, context, pods, acceptance)},
            "componentstatuses": {"get": components.get, "list": components.list},
            **{plural: {"create": review} for plural, review in reviews.by_plural().items()},
        }
        return {
            (each.group, each.version, each.plural): verbs[each.plural]
            for each in self._enabled
            if each.storage_version is None
        }

    def _context(self, negotiator: Negotiator, representations: Representations) -> Context:
        return Context(
            naming=self._naming,
            clock=self._reactor,
            random=SystemRandom(),
            store=self._store,
            cacher=self._cacher,
            codecs=self._codecs,
            negotiator=negotiator,
            tokens=Tokens(self._pki.derived_key(b"continue"), self._naming),
            representations=representations,
            writes=self._writes,
            deletion=Deletion(self._writes, collects_garbage=False),
            delete_options=self._codecs.kind("v1", "DeleteOptions"),
            scale=self._codecs.kind("autoscaling/v1", "Scale"),
            binding=self._codecs.kind("v1", "Binding"),
            eviction=self._codecs.kind("policy/v1", "Eviction"),
            pod=self._codecs.kind("v1", "Pod"),
            min_request_timeout_s=self._config.min_request_timeout,
            chunked_lists=self._config.gates["APIListChunking"],
        )


def _settle_memory() -> None:
    """Take what lives as long as the process out of the collector's sight, and let it look less often.

    Requests leave no reference cycles, so each pass over a large cache would find nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _allow_connections(count: int) -> None:
    """Raise the limit on open files so far that `count` connections fit, if the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _pass() -> None:
    """The check that only shows that the process answers."""
