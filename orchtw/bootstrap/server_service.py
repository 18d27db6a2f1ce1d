"""The Service by which workloads find the API servers, and its endpoints (reference CTRL-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.bootstrap.endpoint_reconcilers import EndpointReconciler
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.errors import Invalid
from orchtw.rules.services import family_of

PORT = 443
"""Port of the Service, for servers on any port."""

TRIES: Final = 50
PAUSE_S: Final = 0.1
"""Delay between two attempts: the other server's write takes as long on a busy machine."""


class ServerService(msgspec.Struct, frozen=True, kw_only=True):
    """The Service and its endpoints.

    `cluster_ip` is the first address of the service range; `mine` is this server's place, `reconciler` finds those of
    others; `clock` is for delays.
    """

    clock: IReactorTime
    cluster_ip: str
    mine: ServerPlace
    reconciler: EndpointReconciler

    async def publish(self, ensurer: Ensurer) -> None:
        """Create the Service if it is missing, and update its endpoints."""
        await self._make(ensurer)
        await self.point(ensurer)

    async def _make(self, ensurer: Ensurer) -> None:
        """Create the Service; retry if its address is taken, perhaps by another starting server's same Service."""
        for tries_left in reversed(range(TRIES)):
            try:
                await ensurer.ensure("", "v1", "services", self._service(ensurer))
                return
            except Invalid:
                if not tries_left:
                    raise
                await deferLater(self.clock, PAUSE_S)

    async def point(self, ensurer: Ensurer) -> None:
        """Update the endpoints to the live servers, even one that only this machine can reach.

        Other endpoints may not have a loopback address.
        """
        present = ensurer.find("", "v1", "endpoints", {"metadata": self._meta(ensurer, {})})
        places = await self.reconciler.places(present)
        if places is None:
            return
        naming = ensurer.naming
        meta = self._meta(ensurer, {f"endpointslice.{naming.label_domain}/skip-mirror": "true"})
        subsets = [
            {"addresses": [{"ip": each.address} for each in places if each.port == port], "ports": [_port(port)]}
            for port in sorted({each.port for each in places})
        ]
        await ensurer.ensure_content("", "v1", "endpoints", {"metadata": meta, "subsets": subsets})
        await self._point_slice(ensurer, places)

    async def _point_slice(self, ensurer: Ensurer, places: Sequence[ServerPlace]) -> None:
        """Update the slice, which has addresses of one family and one set of ports.

        Every server makes the same choice, or they would undo each other's: the lowest port, IPv4 before IPv6.
        """
        naming = ensurer.naming
        port = min((each.port for each in places), default=self.mine.port)
        addresses = [each.address for each in places if each.port == port] or [self.mine.address]
        family = min(map(family_of, addresses))
        alike = [each for each in places if each.port == port and family_of(each.address) == family]
        slice_ = {
            "metadata": self._meta(ensurer, {f"{naming.label_domain}/service-name": naming.product}),
            "addressType": family,
            "endpoints": [{"addresses": [each.address], "conditions": {"ready": True}} for each in alike],
            "ports": [_port(port)],
        }
        await ensurer.remove_unless("discovery.orch.io", "v1", "endpointslices", slice_, "addressType")
        await ensurer.ensure_content("discovery.orch.io", "v1", "endpointslices", slice_)

    def _service(self, ensurer: Ensurer) -> dict[str, Any]:
        labels = {"component": "apiserver", "provider": ensurer.naming.product}
        port = {"name": "https", "port": PORT, "protocol": "TCP", "targetPort": self.mine.port}
        addresses = {"clusterIP": self.cluster_ip, "clusterIPs": [self.cluster_ip]}
        family = {"ipFamilies": [family_of(self.cluster_ip)], "ipFamilyPolicy": "SingleStack"}
        inside = {"internalTrafficPolicy": "Cluster"}
        spec = {**addresses, **family, **inside, "ports": [port], "sessionAffinity": "None", "type": "ClusterIP"}
        return {"metadata": self._meta(ensurer, labels), "spec": spec}

    @staticmethod
    def _meta(ensurer: Ensurer, labels: dict[str, str]) -> dict[str, Any]:
        naming = ensurer.naming
        return {"name": naming.product, "namespace": naming.default_namespace, "labels": labels}


def _port(number: int) -> dict[str, Any]:
    return {"name": "https", "port": number, "protocol": "TCP"}
