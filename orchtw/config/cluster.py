"""The cluster that is served: its networks, its nodes, its other servers."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


@attrs.frozen(slots=False, kw_only=True)
class Cluster:
    """The settings of cluster, node agents and aggregation."""

    allow_privileged: bool = attrs.field(
        default=False,
        metadata=about("Cluster", "Pods may have privileged containers, and processes of windows nodes.", BOOLEAN),
    )
    service_cluster_ip_range: tuple[str, ...] = attrs.field(
        default=("10.0.0.0/24",),
        metadata=about(
            "Cluster",
            "CIDR that Services get addresses from, or one of each IP family, the preferred one first; "
            "its first address is the server's own.",
            LIST,
        ),
    )
    service_node_port_range: str = attrs.field(
        default="30000-32767",
        metadata=about(
            "Cluster", "Node ports that Services get: first and last, or first and how many more (30000+99).", TEXT
        ),
    )
    bootstrap: bool = attrs.field(
        default=True,
        metadata=about(
            "Cluster",
            "Make and look after what every cluster has: namespaces, priority classes, Services, APIServices.",
            BOOLEAN,
        ),
    )
    join_secret_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Cluster",
            "File with a secret (16 bytes or more) that all servers on one etcd know: the keys of the first are kept "
            "in the store, sealed with it, and a server without keys takes them from there.",
            PATH,
        ),
    )
    endpoint_reconciler_type: str = attrs.field(
        default="lease",
        metadata=about(
            "Cluster",
            "Whom the endpoints of the servers' Service name: lease (those that live), master-count (those that have "
            "started, --apiserver-count at most) or none (they are left alone).",
            TEXT,
        ),
    )
    apiserver_count: int = attrs.field(
        default=1,
        metadata=about("Cluster", "Number of servers, for --endpoint-reconciler-type=master-count.", INTEGER),
    )
    orchlet_https: bool = attrs.field(
        default=True, metadata=about("Node agents", "Node agents are spoken to by HTTPS.", BOOLEAN)
    )
    orchlet_port: int = attrs.field(
        default=10250,
        metadata=about("Node agents", "Port of the agents of nodes whose status names none.", INTEGER),
    )
    orchlet_timeout_s: float = attrs.field(
        default=5.0, metadata=about("Node agents", "Time for a connection to a node agent.", DURATION)
    )
    orchlet_preferred_address_types: tuple[str, ...] = attrs.field(
        default=ADDRESS_TYPES,
        metadata=about("Node agents", "Types of node addresses, the preferred one first.", LIST),
    )
    orchlet_certificate_authority: Path | None = attrs.field(
        default=None,
        metadata=about("Node agents", "PEM CAs of the agents' certificates; empty: these are not verified.", PATH),
    )
    orchlet_client_certificate: Path | None = attrs.field(
        default=None, metadata=about("Node agents", "PEM certificate that agents are shown, chain after it.", PATH)
    )
    orchlet_client_key: Path | None = attrs.field(
        default=None, metadata=about("Node agents", "PEM private key of --orchlet-client-certificate.", PATH)
    )
    proxy_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Aggregation", "PEM certificate that aggregated API servers are shown; empty: one is made.", PATH
        ),
    )
    proxy_client_key_file: Path | None = attrs.field(
        default=None, metadata=about("Aggregation", "PEM private key of --proxy-client-cert-file.", PATH)
    )
    enable_aggregator_routing: bool = attrs.field(
        default=False,
        metadata=about(
            "Aggregation",
            "Aggregated API servers are reached by the endpoints of their Service alone, never by its address.",
            BOOLEAN,
        ),
    )
