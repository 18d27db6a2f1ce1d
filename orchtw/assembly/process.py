"""The process of a server as a Twisted service: its TLS listener, what it prints, its start and its end."""

from __future__ import annotations

import ctypes
import gc
import resource
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw import __version__
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.front import Front
from orchtw.assembly.lifecycle import Lifecycle
from orchtw.assembly.membership import Membership
from orchtw.assembly.metrics import AllProcesses, Instruments
from orchtw.assembly.start import begin
from orchtw.authn.request_headers import FLAG as PROXY_CA_FLAG
from orchtw.config import Config, host_and_port
from orchtw.errors import ConfigError
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.registry import Registry
from orchtw.outbound.dialer import MOST
from orchtw.pki import certificates, files, first_start, serving
from orchtw.pki.first_start import Pki
from orchtw.pki.followed_files import FollowedFiles
from orchtw.pki.front_proxy import given_authorities
from orchtw.serving.gzip_cache import GzipCache
from orchtw.serving.http2.limits import STREAMS
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener
from orchtw.serving.server_names import NamedPair
from orchtw.serving.session_tickets import TicketRenewal
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from orchtw.storage.store import Store

SPARE_FILES = 256 + 4 * MOST
"""Open files beside clients' connections: the store, logs, connections to backends, webhooks and other servers."""

SWITCH_S = 0.001
"""Switch interval: how long a computing thread keeps the reactor waiting for the interpreter.

Python's default is 5 ms.
"""


M_ARENA_MAX = -8
"""The name of a setting of the C library: how many heaps there are."""


class Exchange(AllProcesses, Protocol):
    """Metrics and verbosity of all processes of a server."""

    registry: Registry | None
    verbosity: Verbosity | None


class OtherProcesses(Protocol):
    """The further processes of `--workers`, as the one that owns the store sees them."""

    @property
    def exchange(self) -> Exchange:
        """Metrics and verbosity of all processes."""

    async def start(self, port: int) -> None:
        """Start them all; returns when each serves or has failed once."""

    def reload(self) -> None:
        """Have them read again what can be."""

    def begin_end(self) -> None:
        """Have them end in order."""

    async def ended(self) -> None:
        """Return when they have ended."""


class ProcessOwner(Protocol):
    """The process that owns the store, as a worker sees it."""

    @property
    def store(self) -> Store:
        """The owner's store, reached through it."""

    async def ready(self) -> None:
        """Return when this worker may serve."""

    @property
    def exchange(self) -> Exchange:
        """Metrics and verbosity of all processes."""


class ProcessParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of a server that its process works with."""

    base: Foundation
    front: Front
    lifecycle: Lifecycle
    membership: Membership
    metrics: Instruments


class APIServer(Service):
    """Starts the listener and the parts behind it, and stops them in reverse (reference OPS-14).

    The log has one line for each step, none before it is true.
    """

    _log = Logger()

    def __init__(
        self,
        config: Config,
        parts: ProcessParts,
        pki: Pki,
        bound: socket.socket,
        verbosity: Verbosity,
        *,
        workers: OtherProcesses | None = None,
        owner: ProcessOwner | None = None,
    ) -> None:
        self._config = config
        self._parts = parts
        self._workers = workers
        self._owner = owner
        self._pki = pki
        self._reactor = parts.base.reactor
        self._address = host_and_port(config.serving.public_address, bound.getsockname()[1])
        self._know_others(verbosity)
        self._tls = ServingTLS(self._tls_options())
        self._renewal = TicketRenewal(self._tls, self._reactor)
        self._reload = self._certificate_reload()
        if self._reload is not None:
            parts.base.reloads.add(self._reload.what, self._reload.read)
        self._listener = self._made_listener(bound)
        parts.metrics.show_listener(self._listener)

    def _know_others(self, verbosity: Verbosity) -> None:
        """Show the metrics of all processes, if there are several, and let them log alike."""
        other = self._owner or self._workers
        if other is not None:
            other.exchange.verbosity = verbosity
            other.exchange.registry = self._parts.metrics.registry
            self._parts.metrics.processes = other.exchange

    def _made_listener(self, bound: socket.socket) -> Listener:
        config, front = self._config, self._parts.front
        limits = EdgeLimits(
            handshake_s=config.serving.tls.handshake_timeout_s,
            idle_s=config.serving.idle_timeout_s,
            write_stall_s=config.serving.write_stall_timeout_s,
            inflight_bytes=config.serving.max_inflight_bytes,
            max_connections=config.serving.max_connections,
            compress=config.generic.gates["APIResponseCompression"],
            http2_streams=config.serving.http2_max_streams_per_connection or STREAMS,
        )
        room = self._parts.base.resources.cacher.room
        room.compressed = compressed = GzipCache(room.compressed_limit)
        return Listener(
            front.app.whole,
            self._tls,
            bound,
            reactor=self._reactor,
            limits=limits,
            screen=front.screen,
            decline=front.decline,
            at_once=front.app.at_once,
            compressed=compressed,
            grace_s=config.requests.timeout_s,
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
        for note in self._config.notes:
            self._log.warn("{note}", note=note)
        _prepare_memory()
        if self._owner is None:
            self._listener.startService()  # so that health checks are answered while everything is being loaded
        try:
            await self._parts.lifecycle.start()
        finally:
            gc.freeze()  # before the collector begins: it would look at all that has been loaded
            gc.enable()
        if self._owner is not None:
            await self._owner.ready()
            self._listener.startService()
        self._renewal.startService()
        if self._reload is not None:
            self._reload.startService()
        self._parts.metrics.collector.startService()
        if self._owner is not None:
            self._log.info("worker {number} is ready", number=self._config.worker)
            return
        if self._workers is not None:
            await self._workers.start(self._listener.port)
        print(f"https://{self._address} {_shown(self._pki.kubeconfig)}", file=sys.__stdout__, flush=True)
        self._say_ready()

    def reload(self) -> None:
        """Read again what can be (SIGHUP): tokens, certificates, authorities of clients."""
        self._parts.base.reloads.run()
        if self._workers is not None:
            self._workers.reload()

    def _say_ready(self) -> None:
        config, resources = self._config, self._parts.base.resources
        self._log.info(
            "ready: https://{address}, orchtw {version}, release {release}, vocabulary {vocabulary}, "
            "data folder {folder}, store of {size:.1f} MiB with {objects} objects, authorization {modes}, "
            "kubeconfig {kubeconfig}",
            address=self._address,
            version=__version__,
            release=resources.naming.git_version,
            vocabulary=resources.naming.vocabulary,
            folder=str(config.generic.data_dir),
            size=resources.store.size_bytes() / (1 << 20),
            objects=resources.objects,
            modes=config.authz.source,
            kubeconfig=str(self._pki.kubeconfig),
        )

    async def _stop(self) -> None:
        delay_s = self._config.health.shutdown_delay_duration_s
        # 1. /readyz fails first, and load balancers have the delay to notice while everything is served.
        self._parts.lifecycle.begin_shutdown()
        if self._workers is not None:
            self._workers.begin_end()
        self._log.info("shutdown: /readyz fails; still serving for {delay_s} s", delay_s=delay_s)
        for timer in (self._renewal, self._reload):
            if timer is not None and timer.running:
                await timer.stopService()
        if delay_s:
            await deferLater(self._reactor, delay_s)
        # 2. The server's own endpoints: clients in the cluster go elsewhere before connections are refused.
        await self._parts.membership.withdraw()
        # 3. Requests before watches, so that watchers see what the last requests changed.
        await self._finish_requests()
        await self._parts.lifecycle.end_watches()
        await self._listener.stopService()
        # 4. Workers end before the store: they reach it through this process.
        if self._workers is not None:
            await self._workers.ended()
        self._log.info("shutdown: watches have ended; closing the store")
        # 5. Controllers, caches and the store, which commits what was accepted.
        await self._parts.lifecycle.stop()
        self._parts.metrics.collector.stopService()
        self._log.info("shutdown: complete")

    async def _finish_requests(self) -> None:
        """Let in no more requests, answer those that are running, and let watches see what comes of them.

        With `--shutdown-send-retry-after` who comes is told so; else connections are refused.
        """
        edge, turned_away = self._listener.edge, self._config.health.shutdown_send_retry_after
        if turned_away:
            self._parts.lifecycle.close_doors()
        else:
            await self._listener.stop_accepting()
            edge.take_no_more()
        self._log.info(
            "shutdown: {what}; {requests} requests and {streams} watches are running",
            what="new requests are sent elsewhere" if turned_away else "no new connections",
            requests=edge.in_flight - edge.streams,
            streams=edge.streams,
        )
        answered = await self._listener.finish_requests()
        await self._listener.stop_accepting()
        self._log.info("shutdown: all requests are finished" if answered else "shutdown: requests took too long")

    def _tls_options(self) -> TLSOptions:
        """Read the TLS files as they are now. Raises ConfigError."""
        config, pki = self._config, self._pki
        chain, key = pki.serving_files.read() if pki.serving_files else (pki.serving_chain, pki.serving_key)
        client_cas = first_start.given_client_cas(config.authn) or pki.client_cas
        self._parts.membership.trust_clients_of("".join(certificates.pem(each).decode() for each in client_cas))
        return TLSOptions(
            certificates=chain,
            key=key,
            client_cas=client_cas,
            announced_cas=given_authorities(config.authn.request_header),
            named=tuple(
                NamedPair(certificates=chain, key=key, names=names)
                for chain, key, names in serving.given_named(config.serving, config.generic.data_dir)
            ),
            min_version=config.serving.tls.min_version,
            cipher_suites=config.serving.tls.cipher_suites,
            protocols=(b"h2", b"http/1.1"),
        )

    def _read_again(self) -> None:
        """Take over what the files hold now. Raises ConfigError, and all stays as it was but what proxies may say."""
        options, before = self._tls_options(), self._tls.client_cas
        self._parts.base.reloads.read(PROXY_CA_FLAG)
        self._tls.reload(options)
        if not set(before) <= set(options.client_cas):
            self._listener.edge.distrust()

    def _certificate_reload(self) -> FollowedFiles | None:
        """Follows the operator's own certificate files; None: there are none."""
        config = self._config
        shown = self._pki.serving_files
        given = config.authn.client_ca_file, config.authn.request_header.client_ca_file
        paths = [path for path in (*given, *(shown.paths if shown else ())) if path is not None]
        paths += [path for pair in config.serving.tls.sni_cert_key for path in (pair.certificate, pair.key)]
        return FollowedFiles("certificate files", paths, self._read_again, self._reactor) if paths else None


def _shown(path: Path) -> Path:
    """Return the path from where we are, if it is below; else as a whole."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def make_folder(config: Config) -> None:
    """Make the data folder. Raises ConfigError."""
    try:
        files.make_folder(config.generic.data_dir)
    except ConfigError as error:
        raise ConfigError(*(f"--data-dir: {problem}" for problem in error.problems)) from error


def prepare_process(connections: int = 0) -> None:
    """Set up threads, and open files for so many `connections`; 0 leaves their limit as it is."""
    sys.setswitchinterval(SWITCH_S)
    if connections:
        _allow_connections(connections)


def _prepare_memory() -> None:
    """Get ready for many objects that live long: what threads read and the event loop frees shares one heap.

    The collector rests meanwhile, for what the start makes stays.
    """
    with suppress(AttributeError, OSError):  # another C library than the usual one
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    gc.collect()
    gc.disable()


def _allow_connections(count: int) -> None:
    """Raise the limit on open files so far that `count` connections fit, if the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
