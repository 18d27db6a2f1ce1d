"""The API server as a Twisted service: keys, a TLS listener, and the core behind it."""

from __future__ import annotations

import gc
import os
import resource
import socket
import sys
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509 import Certificate
from twisted.application.service import IService, Service
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchtw.config import Config, host_and_port
from orchtw.core import Core, claim_store
from orchtw.naming import Naming
from orchtw.pki import files, first_start
from orchtw.pki.first_start import Pki
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener, bind
from orchtw.serving.reload import CertificateReload
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from orchtw.start import begin
from orchtw.storage.sqlite import SqliteStore

SPARE_FILES = 256
"""Open files beside connections: the store, logs, outgoing calls."""

SWITCH_S = 0.001
"""How long a thread that computes keeps the reactor waiting for the interpreter; Python's own choice is 5 ms."""


def make_service(config: Config) -> IService:
    """The API server as a service that is yet to be started.

    What can go wrong before the reactor runs does so here, while `twistd` is still in the terminal: raises
    ConfigError for a port that is taken and for files that cannot be used. The store is claimed first: a server whose
    folder is another one's touches nothing in it.
    """
    from twisted.internet import reactor

    sys.setswitchinterval(SWITCH_S)
    naming = Naming.of(config.vocabulary)
    _allow_connections(config.max_connections)
    bound = bind(config.bind_address, config.secure_port)
    try:
        files.make_folder(config.data_dir)
        store = claim_store(config, naming, reactor)
        try:
            pki = first_start.prepare(config, naming, bound.getsockname()[1], datetime.now(UTC))
            return APIServer(config, naming, store, pki, bound, reactor)
        except BaseException:
            store.release()
            raise
    except BaseException:
        bound.close()
        raise


class APIServer(Service):
    """Starts the core and then the listener, and stops them in reverse (supplement G4)."""

    def __init__(
        self, config: Config, naming: Naming, store: SqliteStore, pki: Pki, bound: socket.socket, reactor: Any
    ) -> None:
        self._config = config
        self._pki = pki
        self._reactor = reactor
        port = bound.getsockname()[1]
        self._core = Core(
            config,
            naming,
            reactor,
            store=store,
            address=config.public_address,
            port=port,
            secret=pki.derived_key(b"continue"),
            client_ca_pem=pki.client_ca_pem,
        )
        self._address = host_and_port(config.public_address, port)
        tls = ServingTLS(self._tls_options(pki.serving_chain, pki.serving_key))
        self._reload = self._certificate_reload(tls)
        self._listener = Listener(
            self._core.app,
            tls,
            bound,
            reactor=reactor,
            limits=EdgeLimits(
                handshake_s=config.tls_handshake_timeout_s,
                idle_s=config.idle_timeout_s,
                write_stall_s=config.write_stall_timeout_s,
                inflight_bytes=config.max_inflight_bytes,
                max_connections=config.max_connections,
                compress=config.gates["APIResponseCompression"],
            ),
            screen=self._core.screen,
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
        await self._core.start()
        self._listener.startService()
        if self._reload is not None:
            self._reload.startService()  # type: ignore[no-untyped-call]
        _settle_memory()
        print(f"https://{self._address} {os.path.relpath(self._pki.kubeconfig)}", file=sys.__stdout__, flush=True)

    async def _stop(self) -> None:
        self._core.begin_shutdown()
        if self._reload is not None and self._reload.running:
            await self._reload.stopService()  # type: ignore[no-untyped-call]
        if self._config.shutdown_delay_duration_s:
            await deferLater(self._reactor, self._config.shutdown_delay_duration_s)
        await self._core.withdraw()
        await self._listener.stop_accepting()
        self._core.end_watches()
        await self._listener.stopService()
        await self._core.stop()

    def _tls_options(self, chain: tuple[Certificate, ...], key: PrivateKeyTypes) -> TLSOptions:
        config = self._config
        return TLSOptions(
            certificates=chain,
            key=key,
            client_cas=self._pki.client_cas,
            min_version=config.tls_min_version,
            cipher_suites=config.tls_cipher_suites,
        )

    def _certificate_reload(self, tls: ServingTLS) -> CertificateReload | None:
        """Follows the operator's own certificate files; None: the certificate was made here."""
        config = self._config
        files = [path for path in (config.tls_cert_file, config.tls_private_key_file) if path is not None]

        def read() -> TLSOptions:
            given = first_start.given(config)
            assert given is not None
            return self._tls_options(*given)

        return CertificateReload(tls, files, read, self._reactor) if files else None


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
