"""The settings of the API server as one value, and the flags and file that they come from (reference FLAG-1, FLAG-2).

`Config` is the only list of flags: each field carries its flag's section, help and kind. `parse` reads a
command line and an optional `--config` file; everything wrong with either is reported together. Which stores, modes
and controllers there are is for their registries to say: the composition root hands their names in as `Choices`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import yaml

from orchtw import flags, gates
from orchtw.config_checks import ADDRESS_TYPES, Choices, check, port_range
from orchtw.errors import ConfigError
from orchtw.flags import BOOLEAN, DURATION, INTEGER, LIST, PAIRS, PATH, PATHS, SWITCHES, TEXT, Flag, Kind
from orchtw.naming import Naming
from orchtw.rules.ports import HIGHEST

_LOOPBACK = {4: "127.0.0.1", 6: "::1"}


def _about(section: str, help: str, kind: Kind, short: str = "") -> dict[str, Any]:
    return {"section": section, "help": help, "kind": kind, "short": short}


@attrs.frozen(slots=True, kw_only=True)
class Config:
    """How one API server is to run. Attributes are the flags' names; `_s` at the end means seconds."""

    data_dir: Path = attrs.field(
        default=Path("orch-data"),
        metadata=_about("Generic", "Folder of the store, the keys and admin.kubeconfig.", PATH),
    )
    vocabulary: str = attrs.field(
        default="orch",
        metadata=_about(
            "Generic", "Names to serve under: orch or kubernetes. A store of the other is rewritten once.", TEXT
        ),
    )
    config: Path | None = attrs.field(
        default=None,
        metadata=_about("Generic", "YAML file with flags as keys; the command line wins.", PATH),
    )
    feature_gates: tuple[tuple[str, str], ...] = attrs.field(
        default=(), metadata=_about("Generic", "Features to switch: Name=true|false, comma-separated.", SWITCHES)
    )
    runtime_config: tuple[tuple[str, str], ...] = attrs.field(
        default=(),
        metadata=_about(
            "Generic",
            "APIs to switch: api/all|ga|beta|alpha, <group>/<version>[/<resource>] = true|false.",
            PAIRS,
        ),
    )
    v: int = attrs.field(
        default=0, metadata=_about("Generic", "Log verbosity; 3 and more logs every request.", INTEGER, "v")
    )
    bind_address: str = attrs.field(
        default="127.0.0.1", metadata=_about("Serving", "IP address to listen on; 0.0.0.0 or :: for all.", TEXT)
    )
    secure_port: int = attrs.field(
        default=6443, metadata=_about("Serving", "HTTPS port; 0 picks a free one.", INTEGER)
    )
    advertise_address: str = attrs.field(
        default="",
        metadata=_about("Serving", "IP address that clients are told; empty: the bind address.", TEXT),
    )
    tls_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Serving", "PEM serving certificate, chain after it; empty: one is made.", PATH),
    )
    tls_private_key_file: Path | None = attrs.field(
        default=None, metadata=_about("Serving", "PEM private key of --tls-cert-file.", PATH)
    )
    tls_min_version: str = attrs.field(
        default="VersionTLS12", metadata=_about("Serving", "Oldest TLS version: VersionTLS12 or VersionTLS13.", TEXT)
    )
    tls_cipher_suites: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about("Serving", "TLS 1.2 cipher suites by IANA name, in order; empty: safe defaults.", LIST),
    )
    request_timeout_s: float = attrs.field(
        default=60.0, metadata=_about("Serving", "Time for a request that is not long-running.", DURATION)
    )
    min_request_timeout: int = attrs.field(
        default=1800, metadata=_about("Serving", "Seconds a watch lives at least; at most twice that.", INTEGER)
    )
    max_connections: int = attrs.field(
        default=20_000, metadata=_about("Serving", "Connections at a time; more wait in the system.", INTEGER)
    )
    idle_timeout_s: float = attrs.field(
        default=180.0, metadata=_about("Serving", "Time a connection may wait between requests.", DURATION)
    )
    write_stall_timeout_s: float = attrs.field(
        default=30.0,
        metadata=_about("Serving", "Time a client may take nothing of what waits for it.", DURATION),
    )
    max_inflight_bytes: int = attrs.field(
        default=256 << 20,
        metadata=_about(
            "Serving", "Bytes held for unfinished requests and answers; an eighth for anonymous clients.", INTEGER
        ),
    )
    tls_handshake_timeout_s: float = attrs.field(
        default=10.0, metadata=_about("Serving", "Time for a TLS handshake.", DURATION)
    )
    cors_allowed_origins: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Serving",
            "Regular expressions of web origins whose pages may use the API; they match anywhere in one.",
            LIST,
        ),
    )
    livez_grace_period_s: float = attrs.field(
        default=0.0, metadata=_about("Health", "Time during which /livez forgives unfinished start hooks.", DURATION)
    )
    shutdown_delay_duration_s: float = attrs.field(
        default=0.0, metadata=_about("Health", "Time to go on serving after SIGTERM, with /readyz failing.", DURATION)
    )
    storage_backend: str = attrs.field(default="sqlite", metadata=_about("Storage", "Store to use: {stores}.", TEXT))
    etcd_compaction_interval_s: float = attrs.field(
        default=300.0, metadata=_about("Storage", "Time for which the store keeps history.", DURATION)
    )
    event_ttl_s: float = attrs.field(
        default=3600.0,
        metadata=_about("Storage", "Time for which Events are kept after their last write; 0: for ever.", DURATION),
    )
    anonymous_auth: bool = attrs.field(
        default=True,
        metadata=_about("Authentication", "Requests without credentials are user system:anonymous.", BOOLEAN),
    )
    client_ca_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Authentication", "PEM CAs of client certificates; empty: the generated CA.", PATH),
    )
    token_auth_file: Path | None = attrs.field(
        default=None, metadata=_about("Authentication", 'CSV of token,user,uid[,"group1,group2"].', PATH)
    )
    requestheader_client_ca_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Authentication", "PEM CAs of the certificates of proxies that say in headers who asks.", PATH
        ),
    )
    requestheader_allowed_names: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about("Authentication", "Common names that such a certificate may have; empty: any.", LIST),
    )
    requestheader_username_headers: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Authentication", "Headers that such proxies put the user's name in, such as X-Remote-User.", LIST
        ),
    )
    requestheader_group_headers: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about("Authentication", "Headers with the user's groups, such as X-Remote-Group.", LIST),
    )
    requestheader_extra_headers_prefix: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Authentication", "Beginnings of headers with the user's extra attributes, such as X-Remote-Extra-.", LIST
        ),
    )
    enable_bootstrap_token_auth: bool = attrs.field(
        default=False,
        metadata=_about("Authentication", "Secrets of the system's namespace hold tokens for joining.", BOOLEAN),
    )
    oidc_issuer_url: str = attrs.field(
        default="",
        metadata=_about("Authentication", "https URL of the OpenID Connect issuer whose ID tokens are taken.", TEXT),
    )
    oidc_client_id: str = attrs.field(
        default="", metadata=_about("Authentication", "Audience that ID tokens must be for.", TEXT)
    )
    oidc_ca_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Authentication", "PEM CAs of the issuer's certificate; empty: the machine's.", PATH),
    )
    oidc_username_claim: str = attrs.field(
        default="sub", metadata=_about("Authentication", "Claim of ID tokens with the user's name.", TEXT)
    )
    oidc_username_prefix: str = attrs.field(
        default="",
        metadata=_about(
            "Authentication",
            "Put before that name; empty: the issuer's URL and #, but nothing for email; - is nothing.",
            TEXT,
        ),
    )
    oidc_groups_claim: str = attrs.field(
        default="", metadata=_about("Authentication", "Claim of ID tokens with the user's groups.", TEXT)
    )
    oidc_groups_prefix: str = attrs.field(
        default="", metadata=_about("Authentication", "Put before each of those groups.", TEXT)
    )
    oidc_required_claim: tuple[tuple[str, str], ...] = attrs.field(
        default=(), metadata=_about("Authentication", "Claims that ID tokens must have: name=value.", PAIRS)
    )
    oidc_signing_algs: tuple[str, ...] = attrs.field(
        default=("RS256",),
        metadata=_about(
            "Authentication", "Algorithms that ID tokens may be signed with: RS, ES or PS with 256, 384 or 512.", LIST
        ),
    )
    authentication_token_webhook_config_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Authentication", "Client configuration of a webhook that is asked about tokens.", PATH),
    )
    authentication_token_webhook_cache_ttl_s: float = attrs.field(
        default=120.0,
        metadata=_about("Authentication", "Time for which that webhook's answers are kept; 0: not at all.", DURATION),
    )
    authentication_token_webhook_version: str = attrs.field(
        default="v1beta1",
        metadata=_about("Authentication", "Version of TokenReview for that webhook: v1beta1 or v1.", TEXT),
    )
    service_account_signing_key_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Service accounts", "PEM private key that signs their tokens; empty: the generated one.", PATH
        ),
    )
    service_account_key_file: tuple[Path, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Service accounts", "PEM keys whose tokens are believed, beside the one that signs; repeatable.", PATHS
        ),
    )
    service_account_issuer: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Service accounts",
            "Issuers of tokens: the first signs, all are accepted; empty: the server's name in the cluster.",
            LIST,
        ),
    )
    api_audiences: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about("Service accounts", "Audiences of tokens for this API; empty: the issuers.", LIST),
    )
    service_account_lookup: bool = attrs.field(
        default=True,
        metadata=_about("Service accounts", "Tokens kept in Secrets end with their Secret and account.", BOOLEAN),
    )
    service_account_max_token_expiration_s: float = attrs.field(
        default=0.0,
        metadata=_about(
            "Service accounts", "Longest time that an issued token is valid, 1h at least; 0: as asked.", DURATION
        ),
    )
    service_account_extend_token_expiration: bool = attrs.field(
        default=True,
        metadata=_about(
            "Service accounts", "Tokens that node agents ask for in the usual way are valid for a year.", BOOLEAN
        ),
    )
    service_account_jwks_uri: str = attrs.field(
        default="",
        metadata=_about(
            "Service accounts", "https URL of the keys that issuer discovery tells; empty: on this server.", TEXT
        ),
    )
    root_ca_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Service accounts",
            "PEM authorities that accounts trust this server by; empty: those of admin.kubeconfig.",
            PATH,
        ),
    )
    authorization_mode: tuple[str, ...] = attrs.field(
        default=("Node", "RBAC"),
        metadata=_about(
            "Authorization", "Modes in the order in which they are asked: {authorization_modes}.", LIST
        ),
    )
    authorization_policy_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Authorization", "Policies of mode ABAC: a JSON object on each line, read once.", PATH),
    )
    authorization_webhook_config_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Authorization", "Client configuration (kubeconfig) of the server that mode Webhook asks.", PATH
        ),
    )
    authorization_webhook_version: str = attrs.field(
        default="v1beta1",
        metadata=_about("Authorization", "Version of SubjectAccessReview that it is asked in: v1beta1 or v1.", TEXT),
    )
    authorization_webhook_cache_authorized_ttl_s: float = attrs.field(
        default=300.0, metadata=_about("Authorization", "Time for which its permissions are remembered.", DURATION)
    )
    authorization_webhook_cache_unauthorized_ttl_s: float = attrs.field(
        default=30.0,
        metadata=_about("Authorization", "Time for which its other answers are remembered.", DURATION),
    )

    enable_admission_plugins: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Admission",
            "Admission plugins to run beside the default ones, of {admission_plugins}; their order is fixed.",
            LIST,
        ),
    )
    disable_admission_plugins: tuple[str, ...] = attrs.field(
        default=(), metadata=_about("Admission", "Admission plugins not to run, default ones included.", LIST)
    )
    admission_control: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_about(
            "Admission",
            "Admission plugins to run and no others, in place of the two flags above (deprecated).",
            LIST,
        ),
    )
    admission_control_config_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Admission", "AdmissionConfiguration: what plugins are configured with.", PATH),
    )
    allow_privileged: bool = attrs.field(
        default=False,
        metadata=_about("Cluster", "Pods may have privileged containers, and processes of windows nodes.", BOOLEAN),
    )
    service_cluster_ip_range: tuple[str, ...] = attrs.field(
        default=("10.0.0.0/24",),
        metadata=_about(
            "Cluster",
            "CIDR that Services get addresses from, or one of each IP family, the preferred one first; "
            "its first address is the server's own.",
            LIST,
        ),
    )

    service_node_port_range: str = attrs.field(
        default="30000-32767",
        metadata=_about(
            "Cluster", "Node ports that Services get: first and last, or first and how many more (30000+99).", TEXT
        ),
    )
    bootstrap: bool = attrs.field(
        default=True,
        metadata=_about(
            "Cluster",
            "Make and look after what every cluster has: namespaces, priority classes, Services, APIServices.",
            BOOLEAN,
        ),
    )

    orchlet_https: bool = attrs.field(
        default=True, metadata=_about("Node agents", "Node agents are spoken to by HTTPS.", BOOLEAN)
    )
    orchlet_port: int = attrs.field(
        default=10250,
        metadata=_about("Node agents", "Port of the agents of nodes whose status names none.", INTEGER),
    )
    orchlet_timeout_s: float = attrs.field(
        default=5.0, metadata=_about("Node agents", "Time for a connection to a node agent.", DURATION)
    )
    orchlet_preferred_address_types: tuple[str, ...] = attrs.field(
        default=ADDRESS_TYPES,
        metadata=_about("Node agents", "Types of node addresses, the preferred one first.", LIST),
    )
    orchlet_certificate_authority: Path | None = attrs.field(
        default=None,
        metadata=_about("Node agents", "PEM CAs of the agents' certificates; empty: these are not verified.", PATH),
    )
    orchlet_client_certificate: Path | None = attrs.field(
        default=None, metadata=_about("Node agents", "PEM certificate that agents are shown, chain after it.", PATH)
    )
    orchlet_client_key: Path | None = attrs.field(
        default=None, metadata=_about("Node agents", "PEM private key of --orchlet-client-certificate.", PATH)
    )

    proxy_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Aggregation", "PEM certificate that aggregated API servers are shown; empty: one is made.", PATH
        ),
    )
    proxy_client_key_file: Path | None = attrs.field(
        default=None, metadata=_about("Aggregation", "PEM private key of --proxy-client-cert-file.", PATH)
    )
    enable_aggregator_routing: bool = attrs.field(
        default=False,
        metadata=_about(
            "Aggregation",
            "Aggregated API servers are reached by the endpoints of their Service alone, never by its address.",
            BOOLEAN,
        ),
    )

    controllers: tuple[str, ...] = attrs.field(
        default=("*",),
        metadata=_about(
            "Controllers",
            "Controllers to run: * for all but bootstrapsigner and tokencleaner, names, -name for all but it, "
            "-* for none but those named; there are {controllers}.",
            LIST,
        ),
    )
    enable_garbage_collector: bool = attrs.field(
        default=True,
        metadata=_about("Controllers", "Deletes set and obey the garbage collector's finalizers.", BOOLEAN),
    )
    concurrent_namespace_syncs: int = attrs.field(
        default=10, metadata=_about("Controllers", "Namespaces that are emptied at a time.", INTEGER)
    )
    concurrent_gc_syncs: int = attrs.field(
        default=20, metadata=_about("Controllers", "Objects that the garbage collector looks at at a time.", INTEGER)
    )
    concurrent_serviceaccount_token_syncs: int = attrs.field(
        default=5,
        metadata=_about("Controllers", "Secrets with tokens of service accounts worked on at a time.", INTEGER),
    )
    namespace_sync_period_s: float = attrs.field(
        default=300.0, metadata=_about("Controllers", "Time between looks at all namespaces.", DURATION)
    )
    leader_elect: bool = attrs.field(
        default=False,
        metadata=_about("Controllers", "Run the controllers only while holding a Lease.", BOOLEAN),
    )
    leader_elect_lease_duration_s: float = attrs.field(
        default=15.0, metadata=_about("Controllers", "Time after which others may take the Lease over.", DURATION)
    )
    leader_elect_renew_deadline_s: float = attrs.field(
        default=10.0, metadata=_about("Controllers", "Time a leader may fail to renew before it ends.", DURATION)
    )
    leader_elect_retry_period_s: float = attrs.field(
        default=2.0, metadata=_about("Controllers", "Time between attempts at the Lease.", DURATION)
    )

    cluster_signing_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM CA that signs for every signer; empty: the server's own.", PATH
        ),
    )
    cluster_signing_key_file: Path | None = attrs.field(
        default=None, metadata=_about("Certificate signing", "PEM private key of --cluster-signing-cert-file.", PATH)
    )
    cluster_signing_orch_apiserver_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM CA that signs for clients; signers without a CA do not sign then.", PATH
        ),
    )
    cluster_signing_orch_apiserver_client_key_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM private key of --cluster-signing-orch-apiserver-client-cert-file.", PATH
        ),
    )
    cluster_signing_orchlet_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM CA that signs nodes' client certificates.", PATH
        ),
    )
    cluster_signing_orchlet_client_key_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM private key of --cluster-signing-orchlet-client-cert-file.", PATH
        ),
    )
    cluster_signing_orchlet_serving_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM CA that signs nodes' serving certificates.", PATH
        ),
    )
    cluster_signing_orchlet_serving_key_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM private key of --cluster-signing-orchlet-serving-cert-file.", PATH
        ),
    )
    cluster_signing_legacy_unknown_cert_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM CA that signs for the legacy signer.", PATH
        ),
    )
    cluster_signing_legacy_unknown_key_file: Path | None = attrs.field(
        default=None,
        metadata=_about(
            "Certificate signing", "PEM private key of --cluster-signing-legacy-unknown-cert-file.", PATH
        ),
    )
    cluster_signing_duration_s: float = attrs.field(
        default=8760 * 3600.0,
        metadata=_about("Certificate signing", "Longest life of a certificate that is signed.", DURATION),
    )

    @property
    def public_address(self) -> str:
        """The address clients are sent to: advertised, else the bound one, else (bound to all) loopback."""
        if self.advertise_address:
            return self.advertise_address
        address = ipaddress.ip_address(self.bind_address)
        return _LOOPBACK[address.version] if address.is_unspecified else self.bind_address

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
        return attrs.evolve(self, **paths)

    @property
    def gates(self) -> Mapping[str, bool]:
        """Every feature gate's state."""
        return MappingProxyType(gates.resolve(self.feature_gates)[0])


def host_and_port(address: str, port: int) -> str:
    """`127.0.0.1:6443` or `[::1]:6443`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _name(field: attrs.Attribute[Any]) -> str:
    return field.name.removesuffix("_s").replace("_", "-")


def _also(name: str) -> str:
    """The flag's name in the other vocabulary, if it has one: the vocabulary is a flag itself, so both are read."""
    other = Naming.kubernetes().translate(name)
    return "" if other == name else other


_FIELDS = {_name(field): field.name for field in attrs.fields(Config)}
_PATHS = tuple(field.name for field in attrs.fields(Config) if field.metadata["kind"] is PATH)
_PATH_LISTS = tuple(field.name for field in attrs.fields(Config) if field.metadata["kind"] is PATHS)


def flags_of(choices: Choices) -> tuple[Flag, ...]:
    """Every flag, in the order of the fields."""
    named = {name: ", ".join(names) for name, names in attrs.asdict(choices).items()}
    return tuple(
        Flag(name=name, also=_also(name), default=field.default, **{**about, "help": about["help"].format_map(named)})
        for field in attrs.fields(Config)
        if (about := field.metadata) and (name := _name(field))
    )


def parse(arguments: Sequence[str], choices: Choices) -> Config:
    """The Config of a command line (without the program's name) and of the `--config` file it names.

    Raises ConfigError with every problem of both: unknown flags and keys, values that cannot be read, and
    values that do not fit together.
    """
    known = flags_of(choices)
    given, problems = flags.scan(arguments, known)
    path = given.get("config", [""])[-1]
    if path:
        found, more = _read_file(Path(path), known)
        given = {**found, **given}
        problems += more
    values, more = flags.convert(given, known)
    problems += more
    config = Config(**{_FIELDS[name]: value for name, value in values.items()})
    problems += check(config, choices)
    if problems:
        raise ConfigError(*problems)
    return config


def _read_file(path: Path, known: Sequence[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    source = f"--config {path}"
    try:
        document = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        return {}, [f"{source}: {error.strerror}"]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, [f"{source}: not valid YAML: {' '.join(str(error).split())}"]
    return flags.scan_mapping(document, [flag for flag in known if flag.name != "config"], source)
