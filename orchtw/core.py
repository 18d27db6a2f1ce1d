"""The composition root below the network: from a Config to an app that answers requests, part by part.

`server` puts a TLS listener in front of it; `testing` calls it directly.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from random import SystemRandom
from typing import Any

from twisted.python.reflect import namedAny

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.authn.method import Authenticator
from orchtw.authn.union import chain as authenticators
from orchtw.authz.decision import Authorizer
from orchtw.authz.union import chain as authorizers
from orchtw.client.in_process import Registry
from orchtw.config import Config
from orchtw.controllers.embedded import embedded
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
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.filters.request_info import RequestInfoStage
from orchtw.filters.request_log import VERBOSITY, RequestLog
from orchtw.naming import Naming
from orchtw.registry.bootstrap import create_namespaces
from orchtw.registry.deletion import Deletion
from orchtw.registry.metadata import Stamp
from orchtw.registry.namespaces import Namespaces
from orchtw.registry.offload import Offload
from orchtw.registry.ownership import Ownership
from orchtw.registry.targets import Targets
from orchtw.registry.write_path import WritePath
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.paging import Tokens
from orchtw.rules.runtime_config import enabled
from orchtw.rules.uuids import SIZE, uuid_text
from orchtw.schema import descriptors
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec import Codecs
from orchtw.schema.compiler import SchemaCompiler
from orchtw.storage import STORES
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
from orchtw.watch.log import HISTORY_S

STORE_FILE = "store.sqlite"


class Core:
    """Store, cache, registry and the line of filters, started and stopped in order (supplement G4).

    `address` (host and port) is what discovery tells clients; `secret` (32 bytes) signs continue tokens and is
    the same after a restart. Raises ConfigError for a store that cannot be used.
    """

    def __init__(self, config: Config, naming: Naming, reactor: Any, *, address: str, secret: bytes) -> None:
        self._config = config
        self._naming = naming
        self._reactor = reactor
        self._tokens = Tokens(secret, naming)
        self.offload = Offload(reactor)
        self.catalogue = Catalogue.load(naming)
        self.codecs = Codecs(self.catalogue)
        self._enabled = enabled(self.catalogue, config.runtime_config)
        self.targets = Targets(self.catalogue, self.codecs, self._enabled)
        backend = namedAny(STORES[config.storage_backend])  # type: ignore[no-untyped-call]
        self.store: SqliteStore = backend(
            str(config.data_dir / STORE_FILE),
            naming.vocabulary,
            reactor=reactor,
            clock=reactor,
            compaction_interval_s=config.etcd_compaction_interval_s,
        )
        self.store.probe()
        self.cacher = Cacher(
            self.store,
            reactor,
            lambda flush: reactor.callLater(0, flush),
            history_s=config.etcd_compaction_interval_s or HISTORY_S,
        )
        lifecycle = NamespaceLifecycle(naming, Namespaces(self.targets).phase_of)
        stamp = Stamp(now=time.time, new_uid=lambda: uuid_text(os.urandom(SIZE)))
        ownership = Ownership(self.targets, naming)
        self.writes = WritePath(self.store, Chain([lifecycle]), stamp, SystemRandom(), ownership)
        self.deletion = Deletion(self.writes, collects_garbage=config.enable_garbage_collector)
        registry = Registry(
            targets=self.targets, writes=self.writes, deletion=self.deletion, cacher=self.cacher
        )
        self.controllers = embedded(config, naming, registry, reactor, reactor.stop)
        self.checks = Checks(naming)
        self._add_checks()
        self.app = self._app(address)

    async def start(self) -> None:
        """Open the store, fill the caches and make what every installation has.

        Raises ConfigError for a store that is damaged, in use or of another vocabulary.
        """
        self.offload.start()
        await self.store.start()
        stored = list(self.targets.stored())
        await self.cacher.start(stored)
        for each in stored:
            each.cache = self.cacher.of(each)
        self._started.met = True
        for hook in self._filled:
            hook.met = True
        await create_namespaces(self.targets, self.writes, self._naming)
        self._bootstrap.met = True
        self.controllers.startService()

    def begin_shutdown(self) -> None:
        """Tell load balancers by `/readyz` that the end is near; everything is served on."""
        self._serving.met = False

    def end_watches(self) -> None:
        """End all watches in good order; those that start from now on end at once."""
        self.cacher.end_watches()

    async def stop(self) -> None:
        """End the controllers, stop following the store, commit what was accepted, and close it."""
        await self.controllers.stopService()
        await self.cacher.stop()
        await self.store.stop()
        self.offload.stop()

    def _add_checks(self) -> None:
        """The checks in the order of supplement G1; conditions are set as the start goes on."""
        checks, ready = self.checks, frozenset({READYZ})
        checks.add("ping", _pass)
        checks.add("log", LogFlow(self._reactor))
        checks.add("etcd", store_check(self.store.check, self._reactor))
        self._started = checks.condition("informer-sync", "caches are not filled yet", endpoints=ready)
        self._filled = [checks.hook(name) for name in cache_hooks(self._naming)]
        self._bootstrap = checks.hook("bootstrap-controller")
        for controller in self.controllers.controllers:
            checks.add(f"controller/{controller.name}", partial(self.controllers.check, controller))
        self._serving = checks.condition("shutdown", "process is shutting down", met=True, endpoints=ready)

    def _app(self, address: str) -> App:
        """The line of stages; audit and flow control have their places in it (see `filters.chain`)."""
        config, naming = self._config, self._naming
        negotiator = Negotiator(naming)
        representations = Representations(
            self.codecs, Transforms(self.codecs, naming, time.time), self.cacher.turns
        )
        acceptance = Acceptance(negotiator, representations)
        context = self._context(negotiator, representations)
        authenticator = authenticators(config, time.time, os.urandom(32))
        authorizer = authorizers(config.authorization_mode)
        metrics = Metrics()
        endpoints = Paths(
            [
                Health(self.checks, self._reactor, config.livez_grace_period_s),
                Version(naming),
                metrics,
                Discovery(self.catalogue, self._enabled, address, negotiator, representations.document),
                OpenAPI(
                    self.catalogue, SchemaCompiler(descriptors.pool(), naming), self._enabled, time.time, self.offload
                ),
            ]
        )
        handler = ResourceHandler(
            naming,
            self.targets,
            acceptance,
            object_verbs(context),
            subresource_verbs(context, self.targets),
            endpoints,
            self._virtual(context, acceptance, authenticator, authorizer),
            metrics.deprecated_requested,
        )
        return App(
            [
                Placed("request-info", RequestInfoStage()),
                Placed("authentication", AuthenticationStage(authenticator)),
                Placed("impersonation", ImpersonationStage(authorizer, naming)),
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
            codecs=self.codecs,
            negotiator=context.negotiator,
            acceptance=acceptance,
            representations=context.representations,
            authorizer=authorizer,
            authenticator=authenticator,
        )
        components = ComponentStatuses(self.codecs, acceptance, context.representations, self.store.check)
        pods = self.targets.stored_target("", "v1", "pods")
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
            store=self.store,
            cacher=self.cacher,
            codecs=self.codecs,
            negotiator=negotiator,
            tokens=self._tokens,
            representations=representations,
            offload=self.offload,
            writes=self.writes,
            deletion=self.deletion,
            delete_options=self.codecs.kind("v1", "DeleteOptions"),
            scale=self.codecs.kind("autoscaling/v1", "Scale"),
            binding=self.codecs.kind("v1", "Binding"),
            eviction=self.codecs.kind("policy/v1", "Eviction"),
            pod=self.codecs.kind("v1", "Pod"),
            min_request_timeout_s=self._config.min_request_timeout,
            chunked_lists=self._config.gates["APIListChunking"],
        )


def cache_hooks(naming: Naming) -> tuple[str, ...]:
    """Names of the start steps that are done once all caches are filled (supplement G1)."""
    return (
        naming.admission_hook,
        "generic-apiserver-start-informers",
        "start-apiextensions-informers",
        "crd-informer-synced",
        naming.aggregator_hook,
    )


async def _pass() -> None:
    """The check that only shows that the process answers."""
