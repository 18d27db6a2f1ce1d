"""The settings of the API server as one value (reference FLAG-1).

Each field is a flag, the only place where it is written down; a module for each subject has them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from orchtw.config import feature_gates
from orchtw.config.accounts import ServiceAccounts
from orchtw.config.admission import Admission
from orchtw.config.audit import Audit
from orchtw.config.authentication import Authentication
from orchtw.config.authorization import Authorization
from orchtw.config.cluster import Cluster
from orchtw.config.controllers import Controllers
from orchtw.config.hosts import split_host
from orchtw.config.metrics import Metrics
from orchtw.config.server import ServerOptions
from orchtw.config.signing import Signing
from orchtw.config.store import Storage
from orchtw.flags.flag import PATH, PATHS
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins
from orchtw.values.ports import HIGHEST, port_range

_SHARED: Final = ("max_connections", "max_requests_inflight", "max_mutating_requests_inflight")
"""What the processes of a server divide between them."""

_LEAST_INFLIGHT_BYTES: Final = 64 << 20
"""Of `--max-inflight-bytes` for each process: an eighth has to do for a request's body."""

_LOOPBACK = {4: "127.0.0.1", 6: "::1"}


@attrs.frozen(slots=False, kw_only=True)
class Config(
    Signing,
    Controllers,
    Cluster,
    Audit,
    Admission,
    Authorization,
    ServiceAccounts,
    Authentication,
    Storage,
    Metrics,
    ServerOptions,
):
    """Settings of one API server. Attributes are the flags' names; `_s` at the end means seconds.

    The fields of the last base come first, in `--help` too. `notes` are what the log is to say of the flags given;
    `worker` is which of the processes of `--workers` this is: 0 owns the store, and `owner_controllers` are what that
    one has in `controllers`. `plugins` are those of installed packages, `plugin_flags` the values of their flags, by
    the flags' names.
    """

    plugins: Plugins = NO_PLUGINS
    plugin_flags: Mapping[str, Any] = attrs.field(
        default=attrs.Factory(lambda self: {flag.name: flag.default for flag in self.plugins.flags}, takes_self=True)
    )
    notes: tuple[str, ...] = ()
    worker: int = 0
    owner_controllers: tuple[str, ...] = ()

    def for_worker(self, number: int, port: int) -> Config:
        """The same for one of the other processes: what a cluster needs one of is left to the owner of the store."""
        return attrs.evolve(
            self,
            worker=number,
            secure_port=port,
            bootstrap=False,
            controllers=("-*",),
            owner_controllers=self.controllers,
            leader_elect=False,
            notes=(),
        )

    def share(self) -> Config:
        """The same for each of `workers` processes: its part of what the server may do at a time (STORE-35)."""
        parts = {name: -(-getattr(self, name) // self.workers) for name in _SHARED}
        room = max(-(-self.max_inflight_bytes // self.workers), min(self.max_inflight_bytes, _LEAST_INFLIGHT_BYTES))
        return attrs.evolve(self, max_inflight_bytes=room, **parts)

    @property
    def public_address(self) -> str:
        """The address clients are sent to: advertised, else the bound one, else (bound to all) loopback."""
        if self.advertise_address:
            return self.advertise_address
        address = ipaddress.ip_address(self.bind_address)
        return _LOOPBACK[address.version] if address.is_unspecified else self.bind_address

    def told_address(self, address: str, port: int) -> str:
        """Host and port in URLs that clients are told: the external name's, or those of the server."""
        if not self.external_hostname:
            return host_and_port(address, port)
        host, own_port = split_host(self.external_hostname)
        return host_and_port(host, own_port or port)

    @property
    def service_networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """The ranges of `--service-cluster-ip-range`, which has been checked."""
        return tuple(ipaddress.ip_network(each) for each in self.service_cluster_ip_range)

    @property
    def service_node_ports(self) -> tuple[int, int]:
        """First and last of `--service-node-port-range`, which has been checked."""
        return port_range(self.service_node_port_range) or (1, HIGHEST)

    def rooted(self, folder: Path) -> Config:
        """The same with every relative path taken from `folder`, so that a later change of directory is harmless."""
        paths: dict[str, Any] = {
            name: folder / value for name in _PATHS if (value := getattr(self, name)) is not None
        }
        paths |= {name: tuple(folder / path for path in getattr(self, name)) for name in _PATH_LISTS}
        named = tuple(each.rooted(folder) for each in self.tls_sni_cert_key)
        plugin_flags = {name: _rooted(value, folder) for name, value in self.plugin_flags.items()}
        return attrs.evolve(self, **paths, tls_sni_cert_key=named, plugin_flags=plugin_flags)

    @property
    def gates(self) -> Mapping[str, bool]:
        """Every feature gate's state."""
        return MappingProxyType(feature_gates.resolve(self.feature_gates, self.vocabulary)[0])


_PATHS = tuple(field.name for field in attrs.fields(Config) if field.metadata.get("kind") is PATH)
_PATH_LISTS = tuple(field.name for field in attrs.fields(Config) if field.metadata.get("kind") is PATHS)


def _rooted(value: Any, folder: Path) -> Any:
    """The value of a plugin's flag with relative paths taken from `folder`."""
    if isinstance(value, tuple):
        return tuple(_rooted(each, folder) for each in value)
    return folder / value if isinstance(value, Path) else value


def host_and_port(address: str, port: int) -> str:
    """Join address and port: `127.0.0.1:6443` or `[::1]:6443`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
