"""The composition root below the network: from a Config to an app that answers requests, part by part.

`server` puts a TLS listener in front of it; `testing` calls it directly.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from random import SystemRandom
from typing import Any

from twisted.logger import Logger
from twisted.python.reflect import namedAny

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.authn.method import Authenticator
from orchtw.authn.refused_log import RefusedLog
from orchtw.authn.union import chain as authenticators
from orchtw.authz.decision import Authorizer
from orchtw.authz.union import chain as authorizers
from orchtw.client.in_process import Registry
from orchtw.config import Config, host_and_port
from orchtw.controllers.embedded import embedded
from orchtw.endpoints.checks import EVERYWHERE, LIVEZ, READYZ, Checks, Condition, LogFlow, filled, store_check
from orchtw.endpoints.discovery import Discovery
from orchtw.endpoints.health import Health
from orchtw.endpoints.metrics import Metrics
from orchtw.endpoints.openapi import OpenAPI
from orchtw.endpoints.paths import Paths
from orchtw.endpoints.version import Version
from orchtw.errors import StatusError
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.authorization import AuthorizationStage
from orchtw.filters.chain import App, Placed
from orchtw.filters.cors import CORS
from orchtw.filters.deadline import Deadline
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.filters.request_info import RequestInfoStage
from orchtw.filters.request_log import VERBOSITY, RequestLog
from orchtw.filters.screen import Screen
from orchtw.naming import Naming
from orchtw.pki.files import refuse_link
from orchtw.registry.bootstrap.authentication_info import publish_authentication_info
from orchtw.registry.bootstrap.maker import Maker
from orchtw.registry.bootstrap.namespaces import create_namespaces
from orchtw.registry.bootstrap.priority_classes import create_priority_classes
from orchtw.registry.bootstrap.service import ServerService
from orchtw.registry.bootstrap.upkeep import Step, Upkeep
from orchtw.registry.deletion import Deletion
from orchtw.registry.metadata import Stamp
from orchtw.registry.namespaces import Namespaces
from orchtw.registry.offload import Offload
from orchtw.registry.ownership import Ownership
from orchtw.registry.rewriting import StoredNames
from orchtw.registry.targets import Targets
from orchtw.registry.write_path import WritePath
from orchtw.reloads import Reloads
from orchtw.request import Request, Response
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.paging import Tokens
from orchtw.rules.runtime_config import enabled
from orchtw.rules.uuids import SIZE, uuid_text
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
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
STORE_SUFFIXES = ("", "-wal", "-shm", ".lock")
"""Of the store's own name, and of the files that lie beside it."""


def claim_store(config: Config, naming: Naming, reactor: Any) -> SqliteStore:
    """The store in the data folder, ours from now on and yet to be started; everything else comes after it.

    A store of the other vocabulary is rewritten once, which standard error says, since it may take a while.
    Raises ConfigError for a store that cannot be used or is another process'.
    """
    for suffix in STORE_SUFFIXES:
        refuse_link(config.data_dir / f"{STORE_FILE}{suffix}")
    backend = namedAny(STORES[config.storage_backend])  # type: ignore[no-untyped-call]
    store: SqliteStore = backend(
        str(config.data_dir / STORE_FILE),
        naming.vocabulary,
        reactor=reactor,
        clock=reactor,
        compaction_interval_s=config.etcd_compaction_interval_s,
        translation=partial(_other_names, naming),
    )
    store.probe()
    return store


def _other_names(new: Naming, vocabulary: str) -> StoredNames:
    """What rewrites a store of `vocabulary`. Raises ConfigError for one that a later version may know."""
    old = Naming.of(vocabulary)
    if sys.__stderr__ is not None:
        made, wanted = old.vocabulary, new.vocabulary
        text = f"The store was made with --vocabulary {made}: it is being rewritten for {wanted}"
        print(text, file=sys.__stderr__, flush=True)
    return StoredNames(old, new)


BOOTSTRAP_HOOKS = (
    "bootstrap-controller",
    "scheduling/bootstrap-system-priority-classes",
    "start-cluster-authentication-info-controller",
)
"""Start steps that make objects, in the order in which they run."""


class Core:
    """Store, cache, registry and the line of filters, started and stopped in order (supplement G4).

    `store` is what `claim_store` returned. `address` and `port` are what discovery tells clients; `secret` (32 bytes)
    signs continue tokens and is the same after a restart; `client_ca_pem` are the authorities of client certificates.
    `reactor` measures every duration: its time should be one that nobody sets (see `monotonic`). Stamps are the wall
    clock's.
    """

    _log = Logger()

    def __init__(
        self,
        config: Config,
        naming: Naming,
        reactor: Any,
        *,
        store: SqliteStore,
        address: str,
        port: int,
        secret: bytes,
        client_ca_pem: str = "",
    ) -> None:
        self._config = config
        self.naming = naming
        self._reactor = reactor
        self._tokens = Tokens(secret, naming)
        self.offload = Offload(reactor)
        self.catalogue = Catalogue.load(naming)
        self.codecs = Codecs(self.catalogue)
        self._enabled = enabled(self.catalogue, config.runtime_config)
        self.targets = Targets(self.catalogue, self.codecs, self._enabled)
        self.store = store
        self.cacher = Cacher(
            self.store,
            reactor,
            lambda flush: reactor.callLater(0, flush),
            history_s=config.etcd_compaction_interval_s or HISTORY_S,
        )
        lifecycle = NamespaceLifecycle(naming, Namespaces(self.targets).phase_of)
        stamp = Stamp(now=time.time, new_uid=lambda: uuid_text(os.urandom(SIZE)))
        ownership = Ownership(self.targets, naming)
        self.writes = WritePath(self.store, Chain([lifecycle]), stamp, SystemRandom(), ownership, self.offload)
        self.deletion = Deletion(self.writes, collects_garbage=config.enable_garbage_collector)
        registry = Registry(
            targets=self.targets, writes=self.writes, deletion=self.deletion, cacher=self.cacher
        )
        self.controllers = embedded(config, naming, registry, reactor, reactor.stop)
        self.checks = Checks(naming)
        self._maker = Maker(targets=self.targets, writes=self.writes, naming=naming)
        first_ip = str(next(config.service_networks[0].hosts()))
        self._service = ServerService(cluster_ip=first_ip, address=address, port=port)
        self._add_checks()
        self._client_ca_pem = client_ca_pem
        self._upkeep = Upkeep(self._bootstrap_steps(), reactor)
        self._origins = AllowedOrigins(config.cors_allowed_origins)
        self.reloads = Reloads()
        refused = RefusedLog(reactor).refused
        authenticator = authenticators(config, time.time, os.urandom(32), reloads=self.reloads, refused=refused)
        authorizer = authorizers(config.authorization_mode, naming)
        app = self._app(host_and_port(address, port), authenticator, authorizer)
        self.app: Callable[[Request], Coroutine[Any, Any, Response]] = app
        refuse = app.refused
        if self._origins:
            cors = CORS(self._origins)
            self.app = partial(cors.handle, proceed=app)
            refuse = partial(_opened, cors, app.refused)
        self.screen = Screen(authenticator, authorizer, refuse)

    async def start(self) -> None:
        """Open the store, fill the caches and make what every installation has.

        Raises ConfigError for a store that is damaged or in use.
        """
        self.offload.start()
        await self.store.start()
        await self.targets.open(self.cacher)
        self._started.met = True
        for hook in self._filled:
            hook.met = True
        await self._upkeep.start()
        self.controllers.startService()

    def trust_clients_of(self, client_ca_pem: str) -> None:
        """Publish other authorities of client certificates from now on: in the next look of the upkeep."""
        self._client_ca_pem = client_ca_pem

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return sum(map(len, self.cacher.caches))

    def begin_shutdown(self) -> None:
        """Tell load balancers by `/readyz` that the end is near; everything is served on."""
        self._serving.met = False
        self._upkeep.stop()

    async def withdraw(self) -> None:
        """Take this server out of its Service's endpoints; a store that refuses to write does not hold up the end."""
        try:
            await self._service.withdraw(self._maker)
        except StatusError as error:
            self._log.warn("the server's endpoints could not be withdrawn: {why}", why=error.message)

    def end_watches(self) -> None:
        """End all watches in good order; those that start from now on end at once."""
        self.cacher.end_watches()

    async def stop(self) -> None:
        """End the upkeep and the controllers, stop following the store, commit what was accepted, and close it."""
        self._upkeep.stop()
        await self.controllers.stopService()
        await self.cacher.stop()
        await self.store.stop()
        self.offload.stop()

    def _add_checks(self) -> None:
        """The checks in the order of supplement G1; conditions are set as the start goes on."""
        checks, ready = self.checks, frozenset({READYZ})
        checks.add("ping", _pass)
        checks.add("log", LogFlow(self._reactor))
        checks.add("etcd", store_check(self.store.check, self._reactor), EVERYWHERE - {LIVEZ})
        checks.add("etcd", store_check(self.store.alive, self._reactor), frozenset({LIVEZ}))
        self._started = Condition("caches are not filled yet")
        checks.add("informer-sync", filled(self._started, lambda: self.cacher.damaged), ready)
        self._filled = [checks.hook(name) for name in cache_hooks(self.naming)]
        self._made = {name: checks.hook(name) for name in BOOTSTRAP_HOOKS}
        for controller in self.controllers.controllers:
            checks.add(f"controller/{controller.name}", partial(self.controllers.check, controller))
        self._serving = checks.condition("shutdown", "process is shutting down", met=True, endpoints=ready)

    def _bootstrap_steps(self) -> list[Step]:
        """What every installation has, each under the start hook that stands for it (supplement F1, G1)."""
        maker = self._maker

        async def namespaces_and_service() -> None:
            await create_namespaces(maker)
            await self._service.publish(maker)

        runs: Sequence[Callable[[], Awaitable[None]]] = (
            namespaces_and_service,
            partial(create_priority_classes, maker),
            lambda: publish_authentication_info(maker, self._client_ca_pem),
        )
        return [
            Step(name=name, run=run, ended=self._ended(name))
            for name, run in zip(BOOTSTRAP_HOOKS, runs, strict=True)
        ]

    def _ended(self, hook: str) -> Callable[[bool], None]:
        return lambda done: self._made[hook].ended(done=done)

    def _app(self, address: str, authenticator: Authenticator, authorizer: Authorizer) -> App:
        """The line of stages; audit and flow control have their places in it (see `filters.chain`)."""
        config, naming = self._config, self.naming
        negotiator = Negotiator(naming)
        representations = Representations(
            self.codecs, Transforms(self.codecs, naming, time.time), self.cacher.turns, self.offload
        )
        acceptance = Acceptance(negotiator, representations)
        context = self._context(negotiator, representations)
        metrics = Metrics()
        metrics.count_damaged(lambda: self.cacher.damaged)
        endpoints = Paths(
            [
                Health(self.checks, self._reactor, config.livez_grace_period_s),
                Version(naming),
                metrics,
                Discovery(self.targets, address, negotiator, representations.document),
                OpenAPI(self.targets, self.codecs.schemas, time.time, self.offload),
            ]
        )
        self.targets.listen(endpoints.forget)
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
            offload=self.offload,
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
            naming=self.naming,
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
            origins=self._origins,
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


def _opened(
    cors: CORS, refuse: Callable[[Request, StatusError], Response], request: Request, error: StatusError
) -> Response:
    """A refusal that pages of allowed origins may read."""
    return cors.opened(request, refuse(request, error))
