"""Settings of the process, its listener and its limits."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.config.named_certificates import NAMED_CERTIFICATES, NamedCertificate
from orchtw.flags.flag import BOOLEAN, DURATION, FLOAT, INTEGER, LEVELS, LIST, PAIRS, PATH, SWITCHES, TEXT


@attrs.frozen(slots=False, kw_only=True)
class ServerOptions:
    """The settings of generic, serving and health."""

    data_dir: Path = attrs.field(
        default=Path("orch-data"),
        metadata=about("Generic", "Folder of the store, the keys and admin.kubeconfig.", PATH),
    )
    vocabulary: str = attrs.field(
        default="orch",
        metadata=about(
            "Generic", "Names to serve under: orch or kubernetes. A folder of the other is rewritten once.", TEXT
        ),
    )
    config: Path | None = attrs.field(
        default=None,
        metadata=about("Generic", "YAML file with flags as keys; the command line wins.", PATH),
    )
    feature_gates: tuple[tuple[str, str], ...] = attrs.field(
        default=(), metadata=about("Generic", "Features to switch: Name=true|false, comma-separated.", SWITCHES)
    )
    runtime_config: tuple[tuple[str, str], ...] = attrs.field(
        default=(),
        metadata=about(
            "Generic",
            "APIs to switch: api/all|ga|beta|alpha, <group>/<version>[/<resource>] = true|false.",
            PAIRS,
        ),
    )
    v: int = attrs.field(
        default=0, metadata=about("Generic", "Log verbosity; 3 and more logs every request.", INTEGER, "v")
    )
    vmodule: tuple[tuple[str, int], ...] = attrs.field(
        default=(),
        metadata=about("Generic", "Log verbosity of modules: pattern=N, comma-separated.", LEVELS),
    )
    logging_format: str = attrs.field(
        default="text", metadata=about("Generic", "How log lines are written: text or json.", TEXT)
    )
    profiling: bool = attrs.field(
        default=True,
        metadata=about("Generic", "Serve /debug/pprof/ and /debug/flags/ to those who may read them.", BOOLEAN),
    )
    enable_logs_handler: bool = attrs.field(
        default=True, metadata=about("Generic", "Serve the files of /var/log under /logs/ (deprecated).", BOOLEAN)
    )
    bind_address: str = attrs.field(
        default="127.0.0.1", metadata=about("Serving", "IP address to listen on; 0.0.0.0 or :: for all.", TEXT)
    )
    secure_port: int = attrs.field(
        default=6443, metadata=about("Serving", "HTTPS port; 0 picks a free one.", INTEGER)
    )
    permit_port_sharing: bool = attrs.field(
        default=False,
        metadata=about("Serving", "Several servers may listen on the port; the system spreads connections.", BOOLEAN),
    )
    workers: int = attrs.field(
        default=1,
        metadata=about(
            "Serving",
            "Processes that serve, each with all objects in memory; the first owns the SQLite store.",
            INTEGER,
        ),
    )
    advertise_address: str = attrs.field(
        default="",
        metadata=about("Serving", "IP address that clients are told; empty: the bind address.", TEXT),
    )
    tls_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about("Serving", "PEM serving certificate, chain after it; empty: one is made.", PATH),
    )
    tls_private_key_file: Path | None = attrs.field(
        default=None, metadata=about("Serving", "PEM private key of --tls-cert-file.", PATH)
    )
    cert_dir: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Serving",
            "Folder of apiserver.crt and apiserver.key, which are made if missing; empty: pki in --data-dir.",
            PATH,
        ),
    )
    tls_san: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Serving", "Further DNS names and IP addresses of a generated certificate; repeatable.", LIST),
    )
    external_hostname: str = attrs.field(
        default="",
        metadata=about(
            "Serving",
            "Name, or name:port, by which clients reach the server, in URLs and in a generated certificate.",
            TEXT,
        ),
    )
    tls_sni_cert_key: tuple[NamedCertificate, ...] = attrs.field(
        default=(),
        metadata=about(
            "Serving",
            "More certificates: certificate,key[:name,name], for those names or the certificate's; repeatable.",
            NAMED_CERTIFICATES,
        ),
    )
    tls_min_version: str = attrs.field(
        default="VersionTLS12", metadata=about("Serving", "Oldest TLS version: VersionTLS12 or VersionTLS13.", TEXT)
    )
    tls_cipher_suites: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Serving", "TLS 1.2 cipher suites by IANA name, in order; empty: safe defaults.", LIST),
    )
    request_timeout_s: float = attrs.field(
        default=60.0, metadata=about("Serving", "Time for a request that is not long-running.", DURATION)
    )
    min_request_timeout: int = attrs.field(
        default=1800, metadata=about("Serving", "Seconds a watch lives at least; at most twice that.", INTEGER)
    )
    max_connections: int = attrs.field(
        default=20_000, metadata=about("Serving", "Connections at a time; more wait in the system.", INTEGER)
    )
    idle_timeout_s: float = attrs.field(
        default=180.0, metadata=about("Serving", "Time a connection may wait between requests.", DURATION)
    )
    write_stall_timeout_s: float = attrs.field(
        default=30.0,
        metadata=about("Serving", "Time a client may take nothing of what waits for it.", DURATION),
    )
    max_inflight_bytes: int = attrs.field(
        default=256 << 20,
        metadata=about(
            "Serving", "Bytes held for unfinished requests and answers; an eighth for anonymous clients.", INTEGER
        ),
    )
    max_requests_inflight: int = attrs.field(
        default=400,
        metadata=about(
            "Serving",
            "Requests that read, at a time; 0: no limit. With priority and fairness its share of the seats.",
            INTEGER,
        ),
    )
    max_mutating_requests_inflight: int = attrs.field(
        default=200,
        metadata=about(
            "Serving",
            "Requests that write, at a time; 0: no limit. With priority and fairness its share of the seats.",
            INTEGER,
        ),
    )
    enable_priority_and_fairness: bool = attrs.field(
        default=True,
        metadata=about("Serving", "Requests wait fairly for seats, by FlowSchemas and their levels.", BOOLEAN),
    )
    tls_handshake_timeout_s: float = attrs.field(
        default=10.0, metadata=about("Serving", "Time for a TLS handshake.", DURATION)
    )
    cors_allowed_origins: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Serving",
            "Regular expressions of web origins whose pages may use the API; they match anywhere in one.",
            LIST,
        ),
    )
    strict_transport_security_directives: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Serving", "Directives of HSTS for browsers: max-age=seconds, includeSubDomains, preload.", LIST
        ),
    )
    goaway_chance: float = attrs.field(
        default=0.0,
        metadata=about("Serving", "Share of answers, 0.02 at most, behind which the connection closes.", FLOAT),
    )
    http2_max_streams_per_connection: int = attrs.field(
        default=0,
        metadata=about(
            "Serving",
            "Requests that a client may have under way over one HTTP/2 connection; 0: HTTP/2 is not offered.",
            INTEGER,
        ),
    )
    livez_grace_period_s: float = attrs.field(
        default=0.0, metadata=about("Health", "Time during which /livez forgives unfinished start hooks.", DURATION)
    )
    shutdown_delay_duration_s: float = attrs.field(
        default=0.0, metadata=about("Health", "Time to go on serving after SIGTERM, with /readyz failing.", DURATION)
    )
    shutdown_send_retry_after: bool = attrs.field(
        default=False,
        metadata=about("Health", "After that delay tell new requests to come back, until the others are answered.",
                       BOOLEAN),
    )
