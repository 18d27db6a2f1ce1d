"""The settings of the API server as one value, and the flags and file that they come from (reference FLAG-1, FLAG-2).

`Config` is the only list of flags: each field carries its flag's section, help and kind. `parse` reads a
command line and an optional `--config` file; everything wrong with either is reported together. Which stores, modes
and controllers there are is for their registries to say: the composition root hands their names in as `Choices`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import yaml

from orchtw import flags, gates
from orchtw.cipher_suites import CIPHER_SUITES
from orchtw.errors import ConfigError
from orchtw.flags import BOOLEAN, DURATION, INTEGER, LIST, PAIRS, PATH, SWITCHES, TEXT, Flag, Kind
from orchtw.naming import Naming

VOCABULARIES = ("orch", "kubernetes")
ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
TLS_VERSIONS = ("VersionTLS12", "VersionTLS13")
# Modes that the field knows beside those of this server: to name one is another mistake than to misspell one.
_OTHER_MODES = frozenset({"ABAC", "Webhook"})
HIGHEST_PORT = 65535
MIN_SERVICE_ADDRESSES, MAX_SERVICE_BITS = 8, 20  # as the reference server: bounded tables of taken addresses
# So that an eighth takes one request of the largest size: a head of 1 MiB and a body of 3 MiB.
MIN_INFLIGHT_BYTES = 32 << 20
_LOOPBACK = {4: "127.0.0.1", 6: "::1"}


def _about(section: str, help: str, kind: Kind, short: str = "") -> dict[str, Any]:
    return {"section": section, "help": help, "kind": kind, "short": short}


@attrs.frozen(slots=True, kw_only=True)
class Choices:
    """The names that registries have for what flags can pick, each in the order of its registry.

    A flag's help shows them where it has the field's name in braces.
    """

    stores: tuple[str, ...]
    authorization_modes: tuple[str, ...]
    admission_plugins: tuple[str, ...]
    controllers: tuple[str, ...]


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
    authorization_mode: tuple[str, ...] = attrs.field(
        default=("Node", "RBAC"),
        metadata=_about(
            "Authorization", "Modes in the order in which they are asked: {authorization_modes}.", LIST
        ),
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
            "Make and look after what every cluster has: namespaces, priority classes, the server's Service.",
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

    controllers: tuple[str, ...] = attrs.field(
        default=("*",),
        metadata=_about(
            "Controllers",
            "Controllers to run: * for all, names, -name for all but it, -* for none but those named; "
            "there are {controllers}.",
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
        return _ports(self.service_node_port_range) or (1, HIGHEST_PORT)

    def rooted(self, folder: Path) -> Config:
        """The same with every relative path taken from `folder`, so that a later change of directory is harmless."""
        paths = {name: value for name in _PATHS if (value := getattr(self, name)) is not None}
        return attrs.evolve(self, **{name: folder / path for name, path in paths.items()})

    @property
    def gates(self) -> Mapping[str, bool]:
        """Every feature gate's state."""
        return MappingProxyType(gates.resolve(self.feature_gates)[0])


def host_and_port(address: str, port: int) -> str:
    """`127.0.0.1:6443` or `[::1]:6443`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _name(field: attrs.Attribute[Any]) -> str:
    return field.name.removesuffix("_s").replace("_", "-")


_PORT_RANGE = re.compile(r"(\d{1,5})(?:([-+])(\d{1,5}))?", re.ASCII)


def _also(name: str) -> str:
    """The flag's name in the other vocabulary, if it has one: the vocabulary is a flag itself, so both are read."""
    other = Naming.kubernetes().translate(name)
    return "" if other == name else other


_FIELDS = {_name(field): field.name for field in attrs.fields(Config)}
_PATHS = tuple(field.name for field in attrs.fields(Config) if field.metadata["kind"] is PATH)


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


def check(config: Config, choices: Choices) -> list[str]:
    """What is wrong with values that can each be read: a line each, naming the flag."""
    problems = [
        _one_of("vocabulary", config.vocabulary, VOCABULARIES),
        _one_of("tls-min-version", config.tls_min_version, TLS_VERSIONS),
        _one_of("storage-backend", config.storage_backend, choices.stores),
        _address("bind-address", config.bind_address),
        _address("advertise-address", config.advertise_address or "::1"),
        *(_one_of("tls-cipher-suites", name, tuple(CIPHER_SUITES)) for name in config.tls_cipher_suites),
        *_numbers(config),
        *(f"--feature-gates: {problem}" for problem in gates.resolve(config.feature_gates)[1]),
        *_origins(config.cors_allowed_origins),
        *_service_ranges(config.service_cluster_ip_range),
        _node_ports(config.service_node_port_range),
        *_modes(config.authorization_mode, choices.authorization_modes),
        *_controllers(config.controllers, choices.controllers),
        *_election(config),
        *(
            _one_of("orchlet-preferred-address-types", each, ADDRESS_TYPES)
            for each in config.orchlet_preferred_address_types
        ),
    ]
    if (config.orchlet_client_certificate is None) != (config.orchlet_client_key is None):
        problems.append("--orchlet-client-certificate and --orchlet-client-key must be given together")
    if (config.tls_cert_file is None) != (config.tls_private_key_file is None):
        problems.append("--tls-cert-file and --tls-private-key-file must be given together")
    if config.data_dir is None or not str(config.data_dir):
        problems.append("--data-dir: must not be empty")
    return [problem for problem in problems if problem]


def _one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    return "" if value in allowed else f'--{name}: "{value}" is not one of {", ".join(allowed)}'


def _address(name: str, value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return f'--{name}: "{value}" is not an IP address'
    return ""


def _numbers(config: Config) -> list[str]:
    """Bounds of the numbers; a time of zero would cut off every request, handshake or all history at once."""
    problems = []
    if config.secure_port > HIGHEST_PORT:
        problems.append(f"--secure-port: {config.secure_port} must be between 0 and {HIGHEST_PORT}")
    if not 0 < config.orchlet_port <= HIGHEST_PORT:
        problems.append(f"--orchlet-port: {config.orchlet_port} must be between 1 and {HIGHEST_PORT}")
    if config.max_inflight_bytes < MIN_INFLIGHT_BYTES:
        problems.append(f"--max-inflight-bytes: must be at least {MIN_INFLIGHT_BYTES}")
    positive = (
        ("request-timeout", config.request_timeout_s),
        ("min-request-timeout", config.min_request_timeout),
        ("max-connections", config.max_connections),
        ("idle-timeout", config.idle_timeout_s),
        ("write-stall-timeout", config.write_stall_timeout_s),
        ("tls-handshake-timeout", config.tls_handshake_timeout_s),
        ("orchlet-timeout", config.orchlet_timeout_s),
        ("concurrent-namespace-syncs", config.concurrent_namespace_syncs),
        ("concurrent-gc-syncs", config.concurrent_gc_syncs),
        ("namespace-sync-period", config.namespace_sync_period_s),
    )
    return problems + [f"--{name}: must be greater than 0" for name, value in positive if value <= 0]


def _origins(patterns: tuple[str, ...]) -> list[str]:
    """Problems of `--cors-allowed-origins`: malformed expressions."""
    problems = []
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            problems.append(f'--cors-allowed-origins: "{pattern}" is not a regular expression: {error}')
    return problems


def _service_ranges(ranges: tuple[str, ...]) -> list[str]:
    """Problems of `--service-cluster-ip-range`: one range, or one of each IP version, none too small or too large."""
    problems, versions = [], []
    for text in ranges:
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            problems.append(str(error))
            continue
        versions.append(network.version)
        if network.num_addresses < MIN_SERVICE_ADDRESSES:
            problems.append(f"{text} must hold at least {MIN_SERVICE_ADDRESSES} addresses")
        shortest = network.max_prefixlen - MAX_SERVICE_BITS
        if network.prefixlen < shortest:
            problems.append(f"{text} is too large, its prefix must be /{shortest} or longer")
    if not ranges or len(versions) != len(set(versions)):
        problems.append("must be one range, or one of each IP version")
    return [f"--service-cluster-ip-range: {problem}" for problem in problems]


def _ports(text: str) -> tuple[int, int] | None:
    """First and last of `30000-32767`, `30000+2767` or `30000`; None: it cannot be read."""
    found = _PORT_RANGE.fullmatch(text)
    if found is None:
        return None
    first, sign, other = found.groups("")
    return int(first), int(first) + int(other) if sign == "+" else int(other or first)


def _node_ports(text: str) -> str:
    """The problem of `--service-node-port-range`."""
    found = _ports(text)
    if found is None:
        return f'--service-node-port-range: "{text}" is not a range of ports such as 30000-32767'
    first, last = found
    if not 0 < first <= last <= HIGHEST_PORT:
        return f"--service-node-port-range: {text} must lie between 1 and {HIGHEST_PORT}"
    return ""


def _modes(modes: tuple[str, ...], available: tuple[str, ...]) -> list[str]:
    """Problems of `--authorization-mode`: unknown or repeated modes, or ones that are not here
    (reference AUTHZ-7).
    """
    unknown = [mode for mode in modes if mode not in available and mode not in _OTHER_MODES]
    if unknown:
        return [f'--authorization-mode: "{mode}" is not a valid mode' for mode in unknown]
    if len(set(modes)) != len(modes):
        return [f"--authorization-mode: {','.join(modes)} has mode specified more than once"]
    if not modes:
        return ["--authorization-mode: at least one mode must be given"]
    return [
        f'--authorization-mode: "{mode}" is not available; available are {", ".join(available)}'
        for mode in modes
        if mode not in available
    ]


def _controllers(names: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    """Problems of `--controllers`: unknown names."""
    return [
        f'--controllers: "{name}" is not in the list of known controllers: {", ".join(known)}'
        for name in names
        if name.removeprefix("-") not in ("*", *known)
    ]


def _election(config: Config) -> list[str]:
    """Problems of the election's times: a leader must notice its loss before others take over."""
    duration_s, deadline_s = config.leader_elect_lease_duration_s, config.leader_elect_renew_deadline_s
    retry_s = config.leader_elect_retry_period_s
    problems = []
    if duration_s <= deadline_s:
        problems.append("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline")
    if deadline_s <= 1.2 * retry_s:
        problems.append("--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period")
    if retry_s <= 0:
        problems.append("--leader-elect-retry-period: must be greater than 0")
    return problems
