"""Settings of the listener, of request limits, and of health checks and shutdown."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final

from orchtw.config.about import about
from orchtw.config.hosts import host_and_port, split_host
from orchtw.config.named_certificates import NAMED_CERTIFICATES, NamedCertificate
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import BOOLEAN, DURATION, FLOAT, INTEGER, LIST, PATH, TEXT

_LOOPBACK: Final = {4: "127.0.0.1", 6: "::1"}


@options
class ServingTLSOptions:
    """Options of TLS on the listener."""

    cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Serving", "Serving certificate in PEM, followed by its chain; empty means a generated certificate.", PATH
        ),
    )
    private_key_file: Path | None = setting(
        default=None, metadata=about("Serving", "Private key of --tls-cert-file, in PEM.", PATH)
    )
    san: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Serving", "Additional DNS name or IP address for the generated certificate; repeatable.", LIST
        ),
    )
    sni_cert_key: tuple[NamedCertificate, ...] = setting(
        default=(),
        metadata=about(
            "Serving",
            "Additional certificate as certificate,key[:name,name], used for these names or else for its "
            "own; repeatable.",
            NAMED_CERTIFICATES,
        ),
    )
    min_version: str = setting(
        default="VersionTLS12", metadata=about("Serving", "Minimum TLS version: VersionTLS12 or VersionTLS13.", TEXT)
    )
    cipher_suites: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Serving", "TLS 1.2 cipher suites by IANA name, in order of preference; empty means a safe default.", LIST
        ),
    )
    handshake_timeout_s: float = setting(
        default=10.0, metadata=about("Serving", "How long a TLS handshake may take.", DURATION)
    )


@options
class ServingOptions:
    """Options of the listener and its connections."""

    bind_address: str = setting(
        default="127.0.0.1",
        metadata=about("Serving", "IP address to listen on; 0.0.0.0 or :: listens on all interfaces.", TEXT),
    )
    secure_port: int = setting(
        default=6443, metadata=about("Serving", "HTTPS port; 0 picks a free port.", INTEGER)
    )
    permit_port_sharing: bool = setting(
        default=False,
        metadata=about(
            "Serving",
            "Let several servers listen on the port (SO_REUSEPORT); the kernel spreads connections among them.",
            BOOLEAN,
        ),
    )
    workers: int = setting(
        default=1,
        metadata=about(
            "Serving",
            "Number of serving processes. Each holds all objects in memory; the first one owns the SQLite store.",
            INTEGER,
        ),
    )
    advertise_address: str = setting(
        default="",
        metadata=about(
            "Serving", "IP address that clients are told to connect to; empty means the bind address.", TEXT
        ),
    )
    cert_dir: Path | None = setting(
        default=None,
        metadata=about(
            "Serving",
            "Folder of apiserver.crt and apiserver.key, which are generated if missing; empty means pki "
            "in --data-dir.",
            PATH,
        ),
    )
    external_hostname: str = setting(
        default="",
        metadata=about(
            "Serving",
            "Host name (or name:port) by which clients reach the server; used in URLs and in a generated "
            "certificate.",
            TEXT,
        ),
    )
    max_connections: int = setting(
        default=20_000,
        metadata=about(
            "Serving", "Maximum number of open connections; further ones wait in the kernel's queue.", INTEGER
        ),
    )
    idle_timeout_s: float = setting(
        default=180.0, metadata=about("Serving", "How long a connection may stay idle between requests.", DURATION)
    )
    write_stall_timeout_s: float = setting(
        default=30.0,
        metadata=about(
            "Serving", "How long a client may read nothing while data is pending before it is disconnected.", DURATION
        ),
    )
    max_inflight_bytes: int = setting(
        default=256 << 20,
        metadata=about(
            "Serving",
            "Maximum number of bytes held for unfinished requests and responses; anonymous clients get an "
            "eighth of it.",
            INTEGER,
        ),
    )
    cors_allowed_origins: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Serving",
            "Regular expressions of origins whose pages may use the API; unanchored, so use ^ and $ to "
            "match exactly.",
            LIST,
        ),
    )
    strict_transport_security_directives: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Serving", "HSTS directives sent to browsers: max-age=seconds, includeSubDomains, preload.", LIST
        ),
    )
    goaway_chance: float = setting(
        default=0.0,
        metadata=about(
            "Serving",
            "Fraction of responses (at most 0.02) after which the connection is closed, so that clients "
            "spread over servers.",
            FLOAT,
        ),
    )
    http2_max_streams_per_connection: int = setting(
        default=0,
        metadata=about(
            "Serving",
            "Maximum number of concurrent requests, watches included, over one HTTP/2 connection; 0 means 250.",
            INTEGER,
        ),
    )
    tls: ServingTLSOptions = subject(ServingTLSOptions, "tls")

    @property
    def public_address(self) -> str:
        """Return the address for clients: the advertised one, else the bind address, else (if unspecified) loopback.
        """
        if self.advertise_address:
            return self.advertise_address
        address = ipaddress.ip_address(self.bind_address)
        return _LOOPBACK[address.version] if address.is_unspecified else self.bind_address

    def told_address(self, address: str, port: int) -> str:
        """Return `host:port` for URLs given to clients: from the external host name, else `address` and `port`."""
        if not self.external_hostname:
            return host_and_port(address, port)
        host, own_port = split_host(self.external_hostname)
        return host_and_port(host, own_port or port)


@options
class RequestOptions:
    """Options of request timeouts and concurrency."""

    timeout_s: float = setting(
        default=60.0,
        metadata=about(
            "Serving",
            "How long a request may take, unless it is long-running (a watch, exec, a log that is followed).",
            DURATION,
            flag="request-timeout",
        ),
    )
    min_request_timeout: int = setting(
        default=1800,
        metadata=about(
            "Serving",
            "Minimum duration of a watch in seconds; the actual limit is random, up to twice as long.",
            INTEGER,
        ),
    )
    max_requests_inflight: int = setting(
        default=400,
        metadata=about(
            "Serving",
            "Maximum number of concurrent non-mutating requests; 0 means no limit. With priority and "
            "fairness, these are part of the seats of all priority levels.",
            INTEGER,
        ),
    )
    max_mutating_requests_inflight: int = setting(
        default=200,
        metadata=about(
            "Serving",
            "Maximum number of concurrent mutating requests; 0 means no limit. With priority and "
            "fairness, these are part of the seats of all priority levels.",
            INTEGER,
        ),
    )
    enable_priority_and_fairness: bool = setting(
        default=True,
        metadata=about(
            "Serving",
            "Queue requests fairly by FlowSchemas and PriorityLevelConfigurations instead of rejecting "
            "all above a limit.",
            BOOLEAN,
        ),
    )


@options
class HealthOptions:
    """Options of health checks and shutdown."""

    livez_grace_period_s: float = setting(
        default=0.0,
        metadata=about(
            "Health", "How long after startup /livez ignores start hooks that have not finished.", DURATION
        ),
    )
    shutdown_delay_duration_s: float = setting(
        default=0.0,
        metadata=about(
            "Health",
            "How long to keep serving after SIGTERM while /readyz fails, so that load balancers notice.",
            DURATION,
        ),
    )
    shutdown_send_retry_after: bool = setting(
        default=False,
        metadata=about(
            "Health",
            "After --shutdown-delay-duration, answer new requests with 429 and Retry-After until running "
            "requests are finished.",
            BOOLEAN,
        ),
    )
    stop_at_eof: bool = setting(
        default=False,
        metadata=about(
            "Health",
            "Shut down when standard input ends, so that a server that reads a pipe does not outlive the program "
            "which holds the other end; only in the foreground.",
            BOOLEAN,
        ),
    )
