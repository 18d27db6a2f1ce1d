"""Cross-field validation of the settings (reference FLAG-2)."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from orchtw.config import feature_gates, metrics
from orchtw.config.accounts import AccountOptions
from orchtw.config.audit_checks import audit_problems
from orchtw.config.authentication import OIDCOptions
from orchtw.config.authorization import AuthorizationOptions
from orchtw.config.cipher_suites import CIPHER_SUITES
from orchtw.config.cluster import ADDRESS_TYPES, ClusterOptions
from orchtw.config.controllers import ElectionOptions
from orchtw.config.etcd_checks import etcd_problems
from orchtw.config.hosts import is_address, is_dns_name, split_host
from orchtw.config.releases import RELEASES
from orchtw.config.serving import RequestOptions, ServingOptions
from orchtw.config.settings import Config
from orchtw.config.signing import SigningOptions
from orchtw.config.simulation import ALL_CONTROLLERS
from orchtw.naming.naming import VOCABULARIES
from orchtw.values.patterns import compiled
from orchtw.values.ports import HIGHEST, port_range

RECONCILER_TYPES = ("master-count", "lease", "none")
SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
REVIEW_VERSIONS = ("v1beta1", "v1")
LOG_FORMATS = ("text", "json")
TLS_VERSIONS = ("VersionTLS12", "VersionTLS13")
MIN_SERVICE_ADDRESSES, MAX_SERVICE_BITS = 8, 20  # as in kube-apiserver; bounds the allocation tables
# An eighth, the share of anonymous clients, holds one request of maximum size: a head of 1 MiB and a body of 3 MiB.
MIN_INFLIGHT_BYTES = 32 << 20
MAX_WORKERS = 64
MOST_NAMES: Final = 100  # of --tls-san: the certificate is sent in every handshake
MIN_WATCH_CACHE_BYTES = 16 << 20
MIN_HISTORY_BYTES = 1 << 20
MIN_TOKEN_LIMIT_S, MAX_TOKEN_LIMIT_S = 3600, 1 << 32
MAX_GOAWAY_CHANCE = 0.02
MAX_HTTP2_STREAMS = 1000  # four times kube-apiserver's default: one SETTINGS frame can change all their windows
_HSTS = re.compile(r"max-age=\d{1,15}|includeSubDomains|preload", re.ASCII)


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Names that flags can choose from, each in the order of its registry.

    They replace the field's name in braces in a flag's help.
    """

    stores: tuple[str, ...]
    authorization_modes: tuple[str, ...]
    admission_plugins: tuple[str, ...]
    controllers: tuple[str, ...]


def check(config: Config, choices: Choices) -> list[str]:
    """Return the problems of parsed values, one line each, naming the flag."""
    problems = [
        _one_of("vocabulary", config.generic.vocabulary, VOCABULARIES),
        _one_of("logging-format", config.log.format, LOG_FORMATS),
        _one_of("tls-min-version", config.serving.tls.min_version, TLS_VERSIONS),
        _one_of("storage-backend", config.storage.backend, choices.stores),
        _one_of("endpoint-reconciler-type", config.cluster.endpoint_reconciler_type, RECONCILER_TYPES),
        _address("bind-address", config.serving.bind_address),
        _address("advertise-address", config.serving.advertise_address or "::1"),
        *(_one_of("tls-cipher-suites", name, tuple(CIPHER_SUITES)) for name in config.serving.tls.cipher_suites),
        *etcd_problems(config.storage),
        *_numbers(config),
        *_gates(config),
        *_origins(config.serving.cors_allowed_origins),
        *_transport_security(config.serving.strict_transport_security_directives),
        *_service_ranges(config.cluster.service_cluster_ip_range),
        *_hosts(config.serving),
        _node_ports(config.cluster.service_node_port_range),
        *_modes(config.authz.mode, choices.authorization_modes),
        _one_of("authentication-token-webhook-version", config.authn.webhook.version, REVIEW_VERSIONS),
        *_oidc(config.authn.oidc),
        *_configuration_files(config),
        *_files_of_modes(config.authz),
        _one_of("authorization-webhook-version", config.authz.webhook.version, REVIEW_VERSIONS),
        *_controllers(config, choices.controllers),
        *_election(config.controllers.election),
        *_accounts(config.accounts),
        *_signing(config.signing),
        *metrics.problems(config.metrics),
        *audit_problems(config.audit),
        *(
            _one_of("orchlet-preferred-address-types", each, ADDRESS_TYPES)
            for each in config.nodes.preferred_address_types
        ),
        *_pairs(config),
    ]
    if config.cluster.join_secret_file is not None and config.storage.backend in ("sqlite", "memory"):
        problems.append("--join-secret-file: only where servers share the store (--storage-backend=etcd3)")
    if config.generic.data_dir is None or not str(config.generic.data_dir):
        problems.append("--data-dir: must not be empty")
    return [problem for problem in problems if problem]


def _signing(options: SigningOptions) -> list[str]:
    """Return the problems of the signing CAs: incomplete pairs, and a common CA beside those of single signers."""
    names = ("orch-apiserver-client", "orchlet-client", "orchlet-serving", "legacy-unknown")
    own = [(f"cluster-signing-{name}", _signing_pair(options, f"{name.replace('-', '_')}_")) for name in names]
    common = _signing_pair(options, "")
    problems = [
        f"--{name}-cert-file and --{name}-key-file must be given together"
        for name, pair in (("cluster-signing", common), *own)
        if len({path is None for path in pair}) > 1
    ]
    if any(common) and any(path for _, pair in own for path in pair):
        problems.append(
            "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags "
            "at the same time"
        )
    return problems


def _signing_pair(options: SigningOptions, name: str) -> tuple[Path | None, Path | None]:
    certificate, key = (getattr(options, f"{name}{part}_file") for part in ("cert", "key"))
    return certificate, key


def _one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    return "" if value in allowed else f'--{name}: "{value}" is not one of {", ".join(allowed)}'


def _address(name: str, value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return f'--{name}: "{value}" is not an IP address'
    return ""


def _numbers(config: Config) -> list[str]:
    """Return the numbers that are out of range, by subject."""
    return [
        *_ports(config),
        *_processes(config),
        *_memory(config),
        *_responses(config.serving),
        *_servers(config.cluster),
        *_in_flight(config.requests),
        *_not_positive(config),
    ]


def _ports(config: Config) -> list[str]:
    problems = []
    if config.serving.secure_port > HIGHEST:
        problems.append(f"--secure-port: {config.serving.secure_port} must be between 0 and {HIGHEST}")
    if not 0 < config.nodes.port <= HIGHEST:
        problems.append(f"--orchlet-port: {config.nodes.port} must be between 1 and {HIGHEST}")
    return problems


def _processes(config: Config) -> list[str]:
    """Check the number of processes, and what cannot be divided among several."""
    problems = []
    if not 1 <= config.serving.workers <= MAX_WORKERS:
        problems.append(f"--workers: must be between 1 and {MAX_WORKERS}")
    elif config.serving.workers > 1 and config.storage.backend == "memory":
        problems.append("--workers: not with --storage memory, which is the memory of one process")
    elif config.serving.workers > 1 and config.storage.backend != "sqlite":
        problems.append("--workers: only with --storage-backend sqlite; otherwise run several servers")
    elif config.serving.workers > 1 and sys.platform != "linux":
        problems.append("--workers: only on Linux, where the kernel spreads connections over the processes")
    if config.generic.enable_faults and config.serving.workers > 1:
        problems.append("--enable-faults: not with --workers above 1, since each process would count on its own")
    if config.simulation.parts and config.simulation.speed == 0 and config.serving.workers > 1:
        problems.append("--simulate-speed 0: not with --workers, where only one process could advance the time")
    if config.history.enabled and config.serving.workers > 1:
        problems.append("--enable-history: not with --workers, whose processes would each record writes of their own")
    return problems


def _memory(config: Config) -> list[str]:
    problems = []
    if 0 != config.storage.watch_cache_bytes < MIN_WATCH_CACHE_BYTES:
        problems.append(f"--watch-cache-bytes: must be 0 or at least {MIN_WATCH_CACHE_BYTES}")
    if config.history.max_bytes < MIN_HISTORY_BYTES:
        problems.append(f"--history-max-bytes: must be at least {MIN_HISTORY_BYTES}")
    if config.serving.max_inflight_bytes < MIN_INFLIGHT_BYTES:
        problems.append(f"--max-inflight-bytes: must be at least {MIN_INFLIGHT_BYTES}")
    return problems


def _responses(options: ServingOptions) -> list[str]:
    problems = []
    if options.goaway_chance > MAX_GOAWAY_CHANCE:
        problems.append(f"--goaway-chance: must be between 0 and {MAX_GOAWAY_CHANCE}")
    if options.http2_max_streams_per_connection > MAX_HTTP2_STREAMS:
        problems.append(f"--http2-max-streams-per-connection: must be between 0 and {MAX_HTTP2_STREAMS}")
    return problems


def _servers(options: ClusterOptions) -> list[str]:
    count = options.apiserver_count
    return [f"--apiserver-count should be a positive number, but value '{count}' provided"] if count <= 0 else []


def _not_positive(config: Config) -> list[str]:
    """Return the numbers that must be positive. A zero timeout would abort every request or handshake."""
    positive = (
        ("request-timeout", config.requests.timeout_s),
        ("lease-reuse-duration-seconds", config.storage.etcd.lease_reuse_duration_seconds),
        ("etcd-healthcheck-timeout", config.storage.etcd.healthcheck_timeout_s),
        ("min-request-timeout", config.requests.min_request_timeout),
        ("max-connections", config.serving.max_connections),
        ("idle-timeout", config.serving.idle_timeout_s),
        ("write-stall-timeout", config.serving.write_stall_timeout_s),
        ("tls-handshake-timeout", config.serving.tls.handshake_timeout_s),
        ("orchlet-timeout", config.nodes.timeout_s),
        ("concurrent-namespace-syncs", config.controllers.concurrent_namespace_syncs),
        ("concurrent-gc-syncs", config.controllers.concurrent_gc_syncs),
        ("concurrent-serviceaccount-token-syncs", config.controllers.concurrent_serviceaccount_token_syncs),
        ("legacy-service-account-token-clean-up-period", config.controllers.legacy_token_clean_up_period_s),
        ("namespace-sync-period", config.controllers.namespace_sync_period_s),
        ("concurrent-resource-quota-syncs", config.controllers.concurrent_resource_quota_syncs),
        ("resource-quota-sync-period", config.controllers.resource_quota_sync_period_s),
        ("cluster-signing-duration", config.signing.duration_s),
        ("identity-lease-duration-seconds", config.identity.duration_seconds),
        ("identity-lease-renew-interval-seconds", config.identity.renew_interval_seconds),
    )
    return [f"--{name}: must be greater than 0" for name, value in positive if value <= 0]


def _in_flight(options: RequestOptions) -> list[str]:
    """Check that the in-flight limits are not both 0 with priority and fairness: their sum is the number of seats."""
    limits = options.max_requests_inflight, options.max_mutating_requests_inflight
    if any(limits) or not options.enable_priority_and_fairness:
        return []
    return [
        "invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; "
        "they must add up to something positive"
    ]


def _hosts(options: ServingOptions) -> list[str]:
    """Return the problems of `--tls-san` and `--external-hostname`, one line each."""
    problems = [
        f'--tls-san: "{each}" is neither a DNS name nor an IP address'
        for each in options.tls.san
        if not (is_address(each) or is_dns_name(each.removeprefix("*.")))
    ]
    if len(options.tls.san) > MOST_NAMES:
        problems.append(f"--tls-san: {len(options.tls.san)} names are too many, at most {MOST_NAMES}")
    if options.external_hostname:
        try:
            split_host(options.external_hostname)
        except ValueError as error:
            problems.append(f"--external-hostname: {error}")
    return problems


def _pairs(config: Config) -> Iterator[str]:
    """Yield the problems of flags that need each other."""
    if (config.nodes.client_certificate is None) != (config.nodes.client_key is None):
        yield "--orchlet-client-certificate and --orchlet-client-key must be given together"
    if (config.aggregation.proxy_client_cert_file is None) != (config.aggregation.proxy_client_key_file is None):
        yield "--proxy-client-cert-file and --proxy-client-key-file must be given together"
    if (config.authn.request_header.client_ca_file is None) != (not config.authn.request_header.username_headers):
        yield "--requestheader-client-ca-file and --requestheader-username-headers must be given together"
    if config.authn.request_header.uid_headers and not config.generic.gates["RemoteRequestHeaderUID"]:
        yield "--requestheader-uid-headers needs feature gate RemoteRequestHeaderUID"
    if (config.serving.tls.cert_file is None) != (config.serving.tls.private_key_file is None):
        yield "--tls-cert-file and --tls-private-key-file must be given together"


def _gates(config: Config) -> Iterator[str]:
    generic = config.generic
    for flag, release in (("emulated-version", generic.emulated_version), ("report-release", generic.report_release)):
        if release not in RELEASES:
            yield f'--{flag}: "{release}" is not a known release, must be one of {", ".join(RELEASES)}'
    _, problems = feature_gates.resolve(generic.feature_gates, generic.vocabulary, generic.emulated_version)
    yield from (f"--feature-gates: {problem}" for problem in problems)


def _origins(patterns: tuple[str, ...]) -> list[str]:
    """Return the problems of `--cors-allowed-origins`: malformed expressions."""
    if not patterns:
        return []
    problems = []
    for pattern in patterns:
        try:
            compiled(pattern)
        except ValueError as error:
            problems.append(f'--cors-allowed-origins: "{pattern}" is not a regular expression: {error}')
    return problems


def _transport_security(directives: tuple[str, ...]) -> list[str]:
    """Return the problems of `--strict-transport-security-directives`."""
    if all(_HSTS.fullmatch(each) for each in directives):
        return []
    text = "allowed values: max-age=expireTime, includeSubDomains, preload"
    return [f"--strict-transport-security-directives invalid, {text}"]


def _service_ranges(ranges: tuple[str, ...]) -> list[str]:
    """Check `--service-cluster-ip-range`: one range, or one of each IP family, none too small or too large."""
    problems, versions = [], []
    for text in ranges:
        if "/" not in text:
            problems.append(f"invalid CIDR address: {text}: the prefix length is missing, as in 10.0.0.0/16")
            continue
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


def _node_ports(text: str) -> str:
    """Return the problem of `--service-node-port-range`, or an empty string."""
    found = port_range(text)
    if found is None:
        return f'--service-node-port-range: "{text}" is not a range of ports such as 30000-32767'
    first, last = found
    if not 0 < first <= last <= HIGHEST:
        return f"--service-node-port-range: {text} must lie between 1 and {HIGHEST}"
    return ""


def _modes(modes: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    """Return the problems of `--authorization-mode`: unknown, repeated or missing modes (reference AUTHZ-7)."""
    unknown = [mode for mode in modes if mode not in known]
    if unknown:
        return [f'--authorization-mode: "{mode}" is not a valid mode' for mode in unknown]
    if len(set(modes)) != len(modes):
        return [f"--authorization-mode: {','.join(modes)} has mode specified more than once"]
    return [] if modes else ["--authorization-mode: at least one mode must be given"]


def _files_of_modes(options: AuthorizationOptions) -> list[str]:
    """Check that the modes ABAC and Webhook have their files, and no other mode does (reference AUTHZ-36)."""
    modes, policies = options.mode, options.policy_file
    webhook = options.webhook.config_file
    problems = []
    if "ABAC" in modes and policies is None:
        problems.append("--authorization-mode: mode ABAC needs --authorization-policy-file")
    if "Webhook" in modes and webhook is None:
        problems.append("--authorization-mode: mode Webhook needs --authorization-webhook-config-file")
    if policies is not None and "ABAC" not in modes and options.config_file is None:
        problems.append("--authorization-policy-file: cannot be given without mode ABAC in --authorization-mode")
    if webhook is not None and "Webhook" not in modes:
        text = "cannot be given without mode Webhook in --authorization-mode"
        problems.append(f"--authorization-webhook-config-file: {text}")
    return problems


def _configuration_files(config: Config) -> list[str]:
    """Return the problems of the files that take the place of flags (reference AUTHN-62, AUTHZ-40)."""
    authn, gates = config.authn, config.generic.gates
    problems = []
    if authn.config_file is not None:
        if not gates["StructuredAuthenticationConfiguration"]:
            problems.append("--authentication-config needs feature gate StructuredAuthenticationConfiguration")
        if authn.oidc != OIDCOptions():
            problems.append("authentication-config file and oidc-* flags are mutually exclusive")
    authz, unset = config.authz, AuthorizationOptions()
    if authz.config_file is not None:
        if not gates["StructuredAuthorizationConfiguration"]:
            problems.append("--authorization-config needs feature gate StructuredAuthorizationConfiguration")
        if (authz.mode, authz.webhook) != (unset.mode, unset.webhook):
            problems.append(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* "
                "flags are defined"
            )
    return problems


def _oidc(options: OIDCOptions) -> list[str]:
    """Return the problems of the `--oidc` flags (reference AUTHN-32)."""
    problems = [_one_of("oidc-signing-algs", each, SIGNING_ALGORITHMS) for each in options.signing_algs]
    url = options.issuer_url
    if bool(url) != bool(options.client_id):
        problems.append("--oidc-issuer-url and --oidc-client-id must be given together")
    if not url:
        return problems
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return [*problems, f'--oidc-issuer-url: "{url}" is not a URL']
    if parts.scheme != "https":
        problems.append(f"'oidc-issuer-url' (\"{url}\") has invalid scheme (\"{parts.scheme}\"), require 'https'")
    elif not good or parts.query or parts.fragment or parts.username is not None:
        problems.append(f'--oidc-issuer-url: "{url}" must be a URL such as https://host:port/path')
    return problems


def _controllers(config: Config, known: tuple[str, ...]) -> list[str]:
    """Return the unknown names in `--controllers`, and those of a simulation that is not switched on."""
    simulated = config.simulation.parts.controllers
    problems = []
    for name in config.controllers.names:
        if name in known:  # also that of a plugin with the name of a simulated one
            continue
        if name.removeprefix("-") not in ("*", *known, *ALL_CONTROLLERS):
            problems.append(f'--controllers: "{name}" is not in the list of known controllers: {", ".join(known)}')
        elif name in ALL_CONTROLLERS and name not in simulated:
            problems.append(f'--controllers: "{name}" needs the part of --simulate that has it')
    return problems



def _accounts(options: AccountOptions) -> list[str]:
    """Return the problems of the `--service-account` flags."""
    problems = [
        f"--service-account-issuer: \"{issuer}\" contains a ':' and is not a valid URL"
        for issuer in options.issuer
        if ":" in issuer and not _is_url(issuer)
    ]
    if (uri := options.jwks_uri) and not (uri.startswith("https://") and _is_url(uri)):
        problems.append(f'--service-account-jwks-uri: requires https scheme, got "{uri}"')
    longest_s = options.max_token_expiration_s
    if longest_s and not MIN_TOKEN_LIMIT_S <= longest_s <= MAX_TOKEN_LIMIT_S:
        problems.append("--service-account-max-token-expiration: must be between 1 hour and 2^32 seconds")
    return problems


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and not any(char.isspace() for char in text)


def _election(options: ElectionOptions) -> list[str]:
    """Check leader election: a leader must give up before another server can acquire the Lease."""
    duration_s, deadline_s = options.lease_duration_s, options.renew_deadline_s
    retry_s = options.retry_period_s
    problems = [_one_of("leader-elect-resource-lock", options.resource_lock, ("leases",))]
    if duration_s <= deadline_s:
        problems.append("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline")
    if deadline_s <= 1.2 * retry_s:
        problems.append("--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period")
    if retry_s <= 0:
        problems.append("--leader-elect-retry-period: must be greater than 0")
    return problems
