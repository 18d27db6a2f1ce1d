"""Paths of the server's API, in the names of the vocabulary that it serves."""

from __future__ import annotations

import msgspec

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming


class ServerPaths(msgspec.Struct, frozen=True):
    """Paths of collections by the server's naming."""

    naming: Naming

    @classmethod
    def of_groups(cls, groups: bytes) -> ServerPaths:
        """Return the paths by the server's list of API groups. Raises ConfigError for an unknown vocabulary."""
        for naming in (Naming.kubernetes(), Naming.orch()):
            if f'"{naming.group("coordination.orch.io")}"'.encode() in groups:
                return cls(naming)
        raise ConfigError("the server does not list the group of Leases: is it an API server?")

    def core(self, plural: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return a path of the core group."""
        return _joined("/api/v1", plural, namespace, name, subresource)

    def deployments(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return a path of Deployments."""
        return _joined("/apis/apps/v1", "deployments", namespace, name, subresource)

    def slices(self, namespace: str = "", name: str = "") -> str:
        """Return a path of EndpointSlices."""
        version = self.naming.api_version("discovery.orch.io/v1")
        return _joined(f"/apis/{version}", "endpointslices", namespace, name, "")

    def leases(self, name: str = "") -> str:
        """Return a path of the nodes' Leases."""
        version = self.naming.api_version("coordination.orch.io/v1")
        return _joined(f"/apis/{version}", "leases", self.naming.node_lease_namespace, name, "")


def _joined(root: str, plural: str, namespace: str, name: str, subresource: str) -> str:
    place = f"/namespaces/{namespace}" if namespace else ""
    return "".join((root, place, f"/{plural}", f"/{name}" if name else "", f"/{subresource}" if subresource else ""))
