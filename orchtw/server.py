"""The API server as a Twisted service: keys, a TLS listener, and the instance behind it."""

from __future__ import annotations

import ctypes
import gc
import resource
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw import __version__
from orchtw.assembly.handover import Handover
from orchtw.assembly.instance import Instance
from orchtw.assembly.joining import handed_keys
from orchtw.assembly.start import begin
from orchtw.assembly.store import claim_store
from orchtw.authn.request_headers import FLAG as PROXY_CA_FLAG
from orchtw.config import Config, host_and_port
from orchtw.errors import ConfigError
from orchtw.logs.verbosity import Verbosity
from orchtw.naming.names import Naming
from orchtw.outbound.dialer import MOST
from orchtw.pki import certificates, files, first_start, serving
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.first_start import Pki
from orchtw.pki.followed_files import FollowedFiles
from orchtw.pki.front_proxy import given_authorities
from orchtw.pki.sealed_keys import join_secret, read_keys
from orchtw.serving.compression import GzipCache
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener, bind, make_sure_free
from orchtw.serving.server_names import NamedPair
from orchtw.serving.ticket_renewal import TicketRenewal
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from orchtw.storage.interface import Store
from orchtw.storage.remote.client import RemoteStore
from orchtw.workers.shared_metrics import MetricsExchange
from orchtw.workers.supervisor import Workers

SPARE_FILES = 256 + 4 * MOST
"""Open files beside clients' connections: the store, logs, connections to backends, webhooks and other servers."""

GOING_S = 3.0
"""How long the processes of a server that was killed may still have its port."""

SWITCH_S = 0.001
"""How long a thread that computes keeps the reactor waiting for the interpreter; Python's own choice is 5 ms."""


M_ARENA_MAX = -8
"""The name of a setting of the C library: how many heaps there are."""


class ProcessOwner(Protocol):
    """The process that owns the store, as a worker sees it."""

    store: RemoteStore
    exchange: MetricsExchange


def make_service(config: Config, verbosity: Verbosity | None = None) -> APIServer:
    """The API server as a service that is yet to be started.

    `verbosity` is the log's, if the caller has set one up; by default that of `--v` and `--vmodule`.
    What can go wrong before the reactor runs does so here, while `twistd` is still in the terminal: raises
    ConfigError for a port that is taken and for files that cannot be used. The store is claimed first: a server whose
    folder is another one's touches nothing in it.
    """
    from twisted.internet import reactor

    verbosity = verbosity or Verbosity(config.v, config.vmodule)
    sys.setswitchinterval(SWITCH_S)
    naming = Naming.of(config.vocabulary)
    _allow_connections(config.max_connections)
    config = config.share()
    workers = Workers(config, verbosity, reactor) if config.workers > 1 else None
    shared = config.permit_port_sharing or workers is not None
    if workers is not None and not config.permit_port_sharing:
        make_sure_free(config.bind_address, config.secure_port, GOING_S)
    bound = bind(config.bind_address, config.secure_port, shared=shared)
    try:
        _make_folder(config)
        store = claim_store(config, naming, reactor, over=workers.over if workers is not None else None)
        try:
            secret, now = join_secret(config), datetime.now(UTC)
            handed = handed_keys(config, naming, secret, now, shared=store.shared)
            pki = first_start.prepare(config, naming, bound.getsockname()[1], now, handed)
            server = APIServer(config, naming, store, pki, bound, reactor, verbosity, workers=workers)
            if secret is not None:
                server.hand_over(secret)
            return server
        except BaseException:
            store.release()
            raise
    except BaseException:
        bound.close()
        raise


def make_worker(config: Config, verbosity: Verbosity, owner: ProcessOwner) -> APIServer:
    """The same for a process that works on the store of another one, which has made all files. Raises ConfigError."""
    from twisted.internet import reactor

    sys.setswitchinterval(SWITCH_S)
    naming = Naming.of(config.vocabulary)
    bound = bind(config.bind_address, config.secure_port, shared=True, listening=False)
    store = claim_store(config, naming, reactor, remote=owner.store)
    pki = first_start.prepare(config, naming, config.secure_port, datetime.now(UTC))
    return APIServer(config, naming, store, pki, bound, reactor, verbosity, owner=owner)


class APIServer(Service):
    """Starts the instance and then the listener, and stops them in reverse (reference OPS-14).

    The log has one line for each step, none before it is true.
    """

    _log = Logger()

    def __init__(
        self,
        config: Config,
        naming: Naming,
        store: Store,
        pki: Pki,
        bound: socket.socket,
        reactor: Any,
        verbosity: Verbosity,
        *,
        workers: Workers | None = None,
        owner: ProcessOwner | None = None,
    ) -> None:
        self._config = config
        self._workers = workers
        self._owner = owner
        self._pki = pki
        self._reactor = reactor
        port = bound.getsockname()[1]
        self._address = host_and_port(config.public_address, port)
        self._instance = self._made_instance(naming, store, port, verbosity)
        self._know_others(verbosity)
        self._tls = ServingTLS(self._tls_options())
        self._renewal = TicketRenewal(self._tls, reactor)
        self._reload = self._certificate_reload()
        if self._reload is not None:
            self._instance.reloads.add(self._reload.what, self._reload.read)
        self._listener = self._made_listener(bound)
        self._instance.instruments.show_listener(self._listener)

    def _made_instance(self, naming: Naming, store: Store, port: int, verbosity: Verbosity) -> Instance:
        config, pki = self._config, self._pki
        return Instance(
            config,
            naming,
            self._reactor,
            store=store,
            address=config.public_address,
            port=port,
            secret=pki.derived_key(b"continue"),
            client_ca_pem=pki.client_ca_pem,
            front_proxy=pki.front_proxy,
            account_key=pki.service_account_key,
            ca_pem=pki.ca_pem.decode(),
            signing=ClusterSigning(config, pki.own_signing),
            verbosity=verbosity,
        )

    def _know_others(self, verbosity: Verbosity) -> None:
        """Show the metrics of all processes, if there are several, and let them log alike."""
        other = self._owner or self._workers
        if other is not None:
            other.exchange.verbosity = verbosity
            other.exchange.registry = self._instance.instruments.registry
            self._instance.instruments.processes = other.exchange

    def _made_listener(self, bound: socket.socket) -> Listener:
        config, instance = self._config, self._instance
        limits = EdgeLimits(
            handshake_s=config.tls_handshake_timeout_s,
            idle_s=config.idle_timeout_s,
            write_stall_s=config.write_stall_timeout_s,
            inflight_bytes=config.max_inflight_bytes,
            max_connections=config.max_connections,
            compress=config.gates["APIResponseCompression"],
            http2_streams=config.http2_max_streams_per_connection,
        )
        room = instance.resources.cacher.room
        room.compressed = compressed = GzipCache(room.compressed_limit)
        return Listener(
            instance.app,
            self._tls,
            bound,
            reactor=self._reactor,
            limits=limits,
            screen=instance.screen,
            decline=instance.decline,
            compressed=compressed,
            grace_s=config.request_timeout_s,
        )

    def hand_over(self, secret: bytes) -> None:
        """Keep this server's keys in the store for others that know the secret. Raises ConfigError."""
        self._instance.handover = Handover(secret, read_keys(self._config.data_dir / first_start.FOLDER))

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
            await self._instance.start()
        finally:
            gc.freeze()  # before the collector begins: it would look at all that has been loaded
            gc.enable()
        if self._owner is not None:
            await self._owner.store.ready()
            self._listener.startService()
        self._renewal.startService()  # type: ignore[no-untyped-call]
        if self._reload is not None:
            self._reload.startService()  # type: ignore[no-untyped-call]
        self._instance.instruments.collector.startService()
        if self._owner is not None:
            self._log.info("worker {number} serves", number=self._config.worker)
            return
        if self._workers is not None:
            await self._workers.start(self._listener.port)
        print(f"https://{self._address} {_shown(self._pki.kubeconfig)}", file=sys.__stdout__, flush=True)
        self._say_ready()

    def reload(self) -> None:
        """Read again what can be (SIGHUP): tokens, certificates, authorities of clients."""
        self._instance.reloads.run()
        if self._workers is not None:
            self._workers.reload()

    def _say_ready(self) -> None:
        config, resources = self._config, self._instance.resources
        self._log.info(
            "ready: https://{address}, orchtw {version}, release {release}, vocabulary {vocabulary}, "
            "data folder {folder}, store of {size:.1f} MiB with {objects} objects, authorization {modes}, "
            "kubeconfig {kubeconfig}",
            address=self._address,
            version=__version__,
            release=resources.naming.git_version,
            vocabulary=resources.naming.vocabulary,
            folder=str(config.data_dir),
            size=resources.store.size_bytes() / (1 << 20),
            objects=resources.objects,
            modes=",".join(config.authorization_mode),
            kubeconfig=str(self._pki.kubeconfig),
        )

    async def _stop(self) -> None:
        delay_s = self._config.shutdown_delay_duration_s
        self._instance.begin_shutdown()
        if self._workers is not None:
            self._workers.begin_end()
        self._log.info("shutdown: /readyz fails; serving on for {delay_s} s", delay_s=delay_s)
        for timer in (self._renewal, self._reload):
            if timer is not None and timer.running:
                await timer.stopService()  # type: ignore[no-untyped-call]
        if delay_s:
            await deferLater(self._reactor, delay_s)
        await self._instance.withdraw()
        await self._finish_requests()
        await self._instance.end_watches()
        await self._listener.stopService()
        if self._workers is not None:
            await self._workers.ended()
        self._log.info("shutdown: watches have ended; closing the store")
        await self._instance.stop()
        self._instance.instruments.collector.stopService()
        self._log.info("shutdown: complete")

    async def _finish_requests(self) -> None:
        """Let in no more requests, answer those that are running, and let watches see what comes of them.

        With `--shutdown-send-retry-after` who comes is told so; else connections are refused.
        """
        edge, turned_away = self._listener.edge, self._config.shutdown_send_retry_after
        if turned_away:
            self._instance.close_doors()
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
        self._log.info("shutdown: requests are answered" if answered else "shutdown: requests took too long")

    def _tls_options(self) -> TLSOptions:
        """Read the TLS files as they are now. Raises ConfigError."""
        config, pki = self._config, self._pki
        chain, key = pki.serving_files.read() if pki.serving_files else (pki.serving_chain, pki.serving_key)
        client_cas = first_start.given_client_cas(config) or pki.client_cas
        self._instance.trust_clients_of("".join(certificates.pem(each).decode() for each in client_cas))
        return TLSOptions(
            certificates=chain,
            key=key,
            client_cas=client_cas,
            announced_cas=given_authorities(config),
            named=tuple(
                NamedPair(certificates=chain, key=key, names=names)
                for chain, key, names in serving.given_named(config)
            ),
            min_version=config.tls_min_version,
            cipher_suites=config.tls_cipher_suites,
            protocols=(b"h2", b"http/1.1") if config.http2_max_streams_per_connection else (b"http/1.1",),
        )

    def _read_again(self) -> None:
        """Take over what the files hold now. Raises ConfigError, and all stays as it was but what proxies may say."""
        options, before = self._tls_options(), self._tls.client_cas
        self._instance.reloads.read(PROXY_CA_FLAG)
        self._tls.reload(options)
        if not set(before) <= set(options.client_cas):
            self._listener.edge.distrust()

    def _certificate_reload(self) -> FollowedFiles | None:
        """Follows the operator's own certificate files; None: there are none."""
        config = self._config
        shown = self._pki.serving_files
        given = config.client_ca_file, config.requestheader_client_ca_file, *(shown.paths if shown else ())
        paths = [path for path in given if path is not None]
        paths += [path for pair in config.tls_sni_cert_key for path in (pair.certificate, pair.key)]
        return FollowedFiles("certificate files", paths, self._read_again, self._reactor) if paths else None


def _shown(path: Path) -> Path:
    """The path from where we are, if it is below; else as a whole."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _make_folder(config: Config) -> None:
    try:
        files.make_folder(config.data_dir)
    except ConfigError as error:
        raise ConfigError(*(f"--data-dir: {problem}" for problem in error.problems)) from error


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
