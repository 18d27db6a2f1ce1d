"""Membership of a server in its cluster: what it publishes, and what follows from agreement with the others."""

from __future__ import annotations

import socket
from hashlib import sha256

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.assembly.accounts import account_tokens, root_ca
from orchtw.assembly.bootstrap import Bootstrap
from orchtw.assembly.facts import facts
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.handover import Handover
from orchtw.assembly.identity import Identity
from orchtw.authn.service_accounts.keys import PrivateKey
from orchtw.bootstrap.agreement import Agreement
from orchtw.bootstrap.presence import Presence
from orchtw.bootstrap.server_leases import ServerLeases, ServerPlace
from orchtw.config import Config, host_and_port
from orchtw.controllers.manager import Manager
from orchtw.errors import StatusError
from orchtw.filters.shutting_down import Doors
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.front_proxy import FrontProxy
from orchtw.rules.agreement import statement


class ServerKeys(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Keys and authorities of a server.

    `secret` (32 bytes) signs continue tokens and is the same after a restart; `client_ca_pem` are the authorities of
    client certificates. `account_key` signs tokens of service accounts, which know this server by `ca_pem`;
    `front_proxy` is how requests are passed on to aggregated servers, `signing` issues certificates.
    """

    secret: bytes
    client_ca_pem: str = ""
    front_proxy: FrontProxy | None = None
    account_key: PrivateKey | None = None
    ca_pem: str = ""
    signing: ClusterSigning | None = None


class Duties(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that act for the whole cluster."""

    manager: Manager
    bootstrap: Bootstrap | None
    presence: Presence
    identity: Identity


class Membership:
    """This server among those that share its store.

    `leases` says which servers are alive, `agreement` whether they fit together. `accounts`, `signing` and
    `root_ca_pem` are what servers must have in common; `client_ca_pem` are the authorities of client certificates as
    they are published at present. `handover` offers this server's keys to others.
    """

    _log = Logger()

    def __init__(self, base: Foundation, place: ServerPlace, keys: ServerKeys) -> None:
        config, resources = base.config, base.resources
        self.place = place
        self.client_ca_pem = keys.client_ca_pem
        self.handover: Handover | None = None
        address = config.serving.told_address(place.address, place.port)
        self.accounts = account_tokens(config, resources.naming, address, keys.account_key)
        self.signing = keys.signing or ClusterSigning(config.signing)
        self.root_ca_pem = root_ca(config.accounts) or keys.ca_pem
        told = facts(
            config,
            resources.naming,
            self.accounts,
            self.signing,
            client_ca_pem=keys.client_ca_pem,
            published_ca_pem=self.root_ca_pem,
        )
        name, alone = server_name(config, place), config.serving.workers > 1
        self.leases = ServerLeases(resources.store, place, name, statement(told), alone=alone)
        self.agreement = Agreement(self.leases, told)
        self.agreement.changed = self._agreed
        self.doors = Doors()
        self._resources = resources
        self._duties: Duties | None = None

    def take_on(self, duties: Duties) -> None:
        """Have these parts work while the servers agree; before the start."""
        self._duties = duties
        duties.manager.permit(self.agreement.agreed)

    @property
    def duties(self) -> Duties:
        """The parts that act for the cluster."""
        assert self._duties is not None
        return self._duties

    def _agreed(self, agreed: bool) -> None:
        """Begin, or stop, to do this server's part for the cluster."""
        self.duties.manager.permit(agreed)
        if agreed and self.doors.open:
            self.look_soon()
            Deferred.fromCoroutine(self._hand_over()).addErrback(self._failed)

    def look_soon(self) -> None:
        """Look at the bootstrap objects now, if that is this server's task: what they hold has changed."""
        if self.duties.bootstrap is not None:
            self.duties.bootstrap.look_soon()

    def trust_clients_of(self, client_ca_pem: str) -> None:
        """Publish other authorities of client certificates from now on (reference AUTHN-56)."""
        self.client_ca_pem = client_ca_pem
        self.look_soon()

    async def start(self) -> None:
        """Publish this server, compare it with the others, and bootstrap the cluster if that is its task."""
        # 1. The lease comes first: what others see decides whether this server may do anything for the cluster.
        await self.duties.presence.start()
        # 2. Keys are handed over before anything is bootstrapped that is signed with them.
        await self._hand_over()
        # 3. Namespaces, roles and the server's own Service.
        if self.duties.bootstrap is not None:
            await self.duties.bootstrap.start()
        # 4. The identity Lease, in a namespace that exists by now.
        await self.duties.identity.start()

    def stop(self) -> None:
        """End the upkeep: nothing is published or bootstrapped any more."""
        self.duties.presence.stop()
        self.duties.identity.stop()
        if self.duties.bootstrap is not None:
            self.duties.bootstrap.stop()

    async def withdraw(self) -> None:
        """Take this server out of its Service's endpoints; a store that refuses to write does not hold up the end."""
        try:
            await self.leases.leave()
            if self.duties.bootstrap is not None:
                await self.duties.bootstrap.point()
        except StatusError as error:
            self._log.warn("the server's endpoints could not be withdrawn: {why}", why=error.message)

    async def _hand_over(self) -> None:
        """Offer this server's keys to others, if it fits in with those that there are."""
        if self.handover is not None and self.agreement.agreed:
            await self.handover.offer(self._resources.store, self._resources.offload)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("failed to hand over this server's keys", failure=failure)


def server_name(config: Config, place: ServerPlace) -> str:
    """Return the server's name, the same after a restart: many servers advertise the same address by default."""
    folder = sha256(str(config.generic.data_dir).encode()).hexdigest()[:8]
    return f"{host_and_port(place.address, place.port)} {socket.gethostname()} {folder}"
