"""Settings of the cluster: Service networks, node agents, aggregated servers, server identity."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from orchtw.config.about import about
from orchtw.config.service_map import SERVICE_MAPPINGS, ServiceMapping
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT
from orchtw.values.ports import HIGHEST, port_range

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


@options
class ClusterOptions:
    """Options that the servers of a cluster have in common."""

    allow_privileged: bool = setting(
        default=False,
        metadata=about("Cluster", "Allow privileged containers and Windows host processes in pods.", BOOLEAN),
    )
    service_cluster_ip_range: tuple[str, ...] = setting(
        default=("10.0.0.0/24",),
        metadata=about(
            "Cluster",
            "CIDR range for the cluster IPs of Services, or one range of each IP family with the "
            "preferred one first. The first address is the server's own.",
            LIST,
        ),
    )
    service_node_port_range: str = setting(
        default="30000-32767",
        metadata=about(
            "Cluster", "Port range for the node ports of Services: first-last, or first+count (30000+99).", TEXT
        ),
    )
    bootstrap: bool = setting(
        default=True,
        metadata=about(
            "Cluster",
            "Create and maintain the objects that every cluster has: namespaces, roles, priority classes, the "
            "server's Service, APIServices.",
            BOOLEAN,
        ),
    )
    join_secret_file: Path | None = setting(
        default=None,
        metadata=about(
            "Cluster",
            "File with a secret of at least 16 bytes that all servers on one etcd share. The first "
            "server's keys are kept in the store, encrypted with it; a server without keys takes them "
            "from there.",
            PATH,
        ),
    )
    service_map: tuple[ServiceMapping, ...] = setting(
        default=(),
        metadata=about(
            "Cluster",
            "Address to dial for a Service, as namespace/name:port=host:port, for webhooks, aggregated API servers "
            "and the services' sub-resource proxy; repeatable.",
            SERVICE_MAPPINGS,
        ),
    )
    service_map_file: Path | None = setting(
        default=None,
        metadata=about(
            "Cluster",
            "File with a mapping of --service-map on each line, read again when it changes; it takes precedence.",
            PATH,
        ),
    )
    endpoint_reconciler_type: str = setting(
        default="lease",
        metadata=about(
            "Cluster",
            "Maintenance of the endpoints of the server's own Service: lease (all live servers), "
            "master-count (up to --apiserver-count servers that have started) or none.",
            TEXT,
        ),
    )
    apiserver_count: int = setting(
        default=1,
        metadata=about(
            "Cluster", "Number of servers in the cluster, for --endpoint-reconciler-type=master-count.", INTEGER
        ),
    )

    @property
    def service_networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """Return the parsed `--service-cluster-ip-range`, which must be valid."""
        return tuple(ipaddress.ip_network(each) for each in self.service_cluster_ip_range)

    @property
    def service_node_ports(self) -> tuple[int, int]:
        """Return the first and last port of `--service-node-port-range`, which must be valid."""
        return port_range(self.service_node_port_range) or (1, HIGHEST)


@options
class NodeOptions:
    """Options of connections to node agents."""

    https: bool = setting(
        default=True, metadata=about("Node agents", "Connect to node agents by HTTPS.", BOOLEAN)
    )
    port: int = setting(
        default=10250,
        metadata=about("Node agents", "Port of node agents whose node status does not name one.", INTEGER),
    )
    timeout_s: float = setting(
        default=5.0, metadata=about("Node agents", "Timeout for connecting to a node agent.", DURATION)
    )
    preferred_address_types: tuple[str, ...] = setting(
        default=ADDRESS_TYPES,
        metadata=about("Node agents", "Types of node addresses to try, in order of preference.", LIST),
    )
    certificate_authority: Path | None = setting(
        default=None,
        metadata=about(
            "Node agents",
            "CA certificates (PEM) for the node agents' certificates; empty means they are not verified.",
            PATH,
        ),
    )
    client_certificate: Path | None = setting(
        default=None,
        metadata=about(
            "Node agents", "Client certificate (PEM) for connections to node agents, followed by its chain.", PATH
        ),
    )
    client_key: Path | None = setting(
        default=None, metadata=about("Node agents", "Private key (PEM) of --orchlet-client-certificate.", PATH)
    )


@options
class AggregationOptions:
    """Options of connections to aggregated API servers."""

    proxy_client_cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Aggregation",
            "Client certificate (PEM) for connections to aggregated API servers; empty means a generated one.",
            PATH,
        ),
    )
    proxy_client_key_file: Path | None = setting(
        default=None, metadata=about("Aggregation", "Private key (PEM) of --proxy-client-cert-file.", PATH)
    )
    enable_aggregator_routing: bool = setting(
        default=False,
        metadata=about(
            "Aggregation",
            "Connect to aggregated API servers by the endpoints of their Service instead of its cluster IP.",
            BOOLEAN,
        ),
    )


@options
class IdentityOptions:
    """Options of this server's identity Lease."""

    duration_seconds: int = setting(
        default=3600,
        metadata=about(
            "Storage",
            "Duration of the Lease by which this server shows that it is alive, in seconds (gate APIServerIdentity).",
            INTEGER,
        ),
    )
    renew_interval_seconds: int = setting(
        default=10,
        metadata=about(
            "Storage",
            "Interval between renewals of the identity Lease, in seconds (gate APIServerIdentity).",
            INTEGER,
        ),
    )
