"""The Service by which workloads find the API server, and where it really is (reference CTRL-7)."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import attrs

from orchtw.registry.bootstrap.maker import Maker

PORT = 443
"""Where the Service listens, whatever port the server has."""


@attrs.frozen(slots=True, kw_only=True)
class ServerService:
    """`cluster_ip` is the first address of the service range; `address` and `port` are what the server advertises."""

    cluster_ip: str
    address: str
    port: int

    async def publish(self, maker: Maker) -> None:
        """Make the Service where it is missing, and let its endpoints name this server."""
        await maker.ensure("", "v1", "services", self._service(maker))
        await self._point(maker, (self.address,))

    async def withdraw(self, maker: Maker) -> None:
        """Take this server out of the endpoints: it is about to end."""
        await self._point(maker, ())

    async def _point(self, maker: Maker, addresses: tuple[str, ...]) -> None:
        naming = maker.naming
        meta = self._meta(maker, {f"endpointslice.{naming.label_domain}/skip-mirror": "true"})
        port = {"name": "https", "port": self.port, "protocol": "TCP"}
        subsets = [{"addresses": [{"ip": each} for each in addresses], "ports": [port]}] if addresses else []
        await maker.ensure_content("", "v1", "endpoints", {"metadata": meta, "subsets": subsets})
        endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
        slice_meta = self._meta(maker, {f"{naming.label_domain}/service-name": naming.product})
        family = f"IPv{ip_address(self.address).version}"
        slice_ = {"metadata": slice_meta, "addressType": family, "endpoints": endpoints, "ports": [port]}
        await maker.ensure_content("discovery.orch.io", "v1", "endpointslices", slice_)

    def _service(self, maker: Maker) -> dict[str, Any]:
        labels = {"component": "apiserver", "provider": maker.naming.product}
        port = {"name": "https", "port": PORT, "protocol": "TCP", "targetPort": self.port}
        addresses = {"clusterIP": self.cluster_ip, "clusterIPs": [self.cluster_ip]}
        family = {"ipFamilies": [f"IPv{ip_address(self.cluster_ip).version}"], "ipFamilyPolicy": "SingleStack"}
        spec = {**addresses, **family, "ports": [port], "sessionAffinity": "None", "type": "ClusterIP"}
        return {"metadata": self._meta(maker, labels), "spec": spec}

    @staticmethod
    def _meta(maker: Maker, labels: dict[str, str]) -> dict[str, Any]:
        naming = maker.naming
        return {"name": naming.product, "namespace": naming.default_namespace, "labels": labels}
