"""Cross-field validation of the settings (reference FLAG-2)."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import attrs

from orchtw.config import feature_gates, metrics
from orchtw.config.audit_checks import audit_problems
from orchtw.config.cipher_suites import CIPHER_SUITES
from orchtw.config.cluster import ADDRESS_TYPES
from orchtw.config.etcd_checks import etcd_problems
from orchtw.config.hosts import is_address, is_dns_name, split_host
from orchtw.config.settings import Config
from orchtw.naming.names import VOCABULARIES
from orchtw.values.ports import HIGHEST, port_range

RECONCILER_TYPES = ("master-count", "lease", "none")
SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
REVIEW_VERSIONS = ("v1beta1", "v1")
LOG_FORMATS = ("text", "json")
TLS_VERSIONS = ("VersionTLS12", "VersionTLS13")
MIN_SERVICE_ADDRESSES, MAX_SERVICE_BITS = 8, 20  # as the reference server: bounded tables of taken addresses
# So that an eighth takes one request of the largest size: a head of 1 MiB and a body of 3 MiB.
MIN_INFLIGHT_BYTES = 32 << 20
MAX_WORKERS = 64
MOST_NAMES: Final = 100  # of --tls-san: every client gets all of them with each handshake
MIN_WATCH_CACHE_BYTES = 16 << 20
MIN_TOKEN_LIMIT_S, MAX_TOKEN_LIMIT_S = 3600, 1 << 32
MAX_GOAWAY_CHANCE = 0.02
MAX_HTTP2_STREAMS = 1000  # four times the reference server's: a client's settings may change the windows of all
_HSTS = re.compile(r"max-age=\d{1,15}|includeSubDomains|preload", re.ASCII)


@attrs.frozen(slots=True, kw_only=True)
class Choices:
    """The names that registries have for what flags can pick, each in the order of its registry.

    A flag's help shows them where it has the field's name in braces.
    """

    stores: tuple[str, ...]
    authorization_modes: tuple[str, ...]
    admission_plugins: tuple[str, ...]
    controllers: tuple[str, ...]


def check(config: Config, choices: Choices) -> list[str]:
    """Return the problems of values that could each be parsed: a line each, naming the flag."""
    problems = [
        _one_of("vocabulary", config.vocabulary, VOCABULARIES),
        _one_of("logging-format", config.logging_format, LOG_FORMATS),
        _one_of("tls-min-version", config.tls_min_version, TLS_VERSIONS),
        _one_of("storage-backend", config.backend, choices.stores),
        _one_of("endpoint-reconciler-type", config.endpoint_reconciler_type, RECONCILER_TYPES),
        _address("bind-address", config.bind_address),
        _address("advertise-address", config.advertise_address or "::1"),
        *(_one_of("tls-cipher-suites", name, tuple(CIPHER_SUITES)) for name in config.tls_cipher_suites),
        *etcd_problems(config),
        *_numbers(config),
        *_gates(config),
        *_origins(config.cors_allowed_origins),
        *_transport_security(config.strict_transport_security_directives),
        *_service_ranges(config.service_cluster_ip_range),
        *_hosts(config),
        _node_ports(config.service_node_port_range),
        *_modes(config.authorization_mode, choices.authorization_modes),
        _one_of(
            "authentication-token-webhook-version", config.authentication_token_webhook_version, REVIEW_VERSIONS
        ),
        *_oidc(config),
        *_files_of_modes(config),
        _one_of("authorization-webhook-version", config.authorization_webhook_version, REVIEW_VERSIONS),
        *_controllers(config.controllers, choices.controllers),
        *_election(config),
        *_accounts(config),
        *_signing(config),
        *metrics.problems(config),
        *audit_problems(config),
        *(
            _one_of("orchlet-preferred-address-types", each, ADDRESS_TYPES)
            for each in config.orchlet_preferred_address_types
        ),
    ]
    if (config.orchlet_client_certificate is None) != (config.orchlet_client_key is None):
        problems.append("--orchlet-client-certificate and --orchlet-client-key must be given together")
    if (config.proxy_client_cert_file is None) != (config.proxy_client_key_file is None):
        problems.append("--proxy-client-cert-file and --proxy-client-key-file must be given together")
    if (config.requestheader_client_ca_file is None) != (not config.requestheader_username_headers):
        problems.append("--requestheader-client-ca-file and --requestheader-username-headers must be given together")
    if (config.tls_cert_file is None) != (config.tls_private_key_file is None):
        problems.append("--tls-cert-file and --tls-private-key-file must be given together")
    if config.join_secret_file is not None and config.backend == "sqlite":
        problems.append("--join-secret-file: only where servers share the store (--storage-backend=etcd3)")
    if config.data_dir is None or not str(config.data_dir):
        problems.append("--data-dir: must not be empty")
    return [problem for problem in problems if problem]


def _signing(config: Config) -> list[str]:
    """Problems of the authorities that sign: halves of pairs, and one for all beside ones of their own."""
    names = ("orch-apiserver-client", "orchlet-client", "orchlet-serving", "legacy-unknown")
    own = [(f"cluster-signing-{name}", _signing_pair(config, f"_{name.replace('-', '_')}")) for name in names]
    common = _signing_pair(config, "")
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


def _signing_pair(config: Config, name: str) -> tuple[Path | None, Path | None]:
    certificate, key = (getattr(config, f"cluster_signing{name}_{part}_file") for part in ("cert", "key"))
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
    """Bounds of the numbers; a time of zero would cut off every request, handshake or all history at once."""
    problems = []
    if config.secure_port > HIGHEST:
        problems.append(f"--secure-port: {config.secure_port} must be between 0 and {HIGHEST}")
    if not 0 < config.orchlet_port <= HIGHEST:
        problems.append(f"--orchlet-port: {config.orchlet_port} must be between 1 and {HIGHEST}")
    if not 1 <= config.workers <= MAX_WORKERS:
        problems.append(f"--workers: must be between 1 and {MAX_WORKERS}")
    elif config.workers > 1 and config.backend != "sqlite":
        problems.append("--workers: only with --storage-backend sqlite; on another start several servers")
    elif config.workers > 1 and sys.platform != "linux":
        problems.append("--workers: only on Linux, which spreads the connections to one port")
    if 0 != config.watch_cache_bytes < MIN_WATCH_CACHE_BYTES:
        problems.append(f"--watch-cache-bytes: must be 0 or at least {MIN_WATCH_CACHE_BYTES}")
    if config.max_inflight_bytes < MIN_INFLIGHT_BYTES:
        problems.append(f"--max-inflight-bytes: must be at least {MIN_INFLIGHT_BYTES}")
    if config.goaway_chance > MAX_GOAWAY_CHANCE:
        problems.append(f"--goaway-chance: must be between 0 and {MAX_GOAWAY_CHANCE}")
    if config.http2_max_streams_per_connection > MAX_HTTP2_STREAMS:
        problems.append(f"--http2-max-streams-per-connection: must be between 0 and {MAX_HTTP2_STREAMS}")
    if config.apiserver_count <= 0:
        count = config.apiserver_count
        problems.append(f"--apiserver-count should be a positive number, but value '{count}' provided")
    problems += _in_flight(config)
    positive = (
        ("request-timeout", config.request_timeout_s),
        ("lease-reuse-duration-seconds", config.lease_reuse_duration_seconds),
        ("etcd-healthcheck-timeout", config.etcd_healthcheck_timeout_s),
        ("min-request-timeout", config.min_request_timeout),
        ("max-connections", config.max_connections),
        ("idle-timeout", config.idle_timeout_s),
        ("write-stall-timeout", config.write_stall_timeout_s),
        ("tls-handshake-timeout", config.tls_handshake_timeout_s),
        ("orchlet-timeout", config.orchlet_timeout_s),
        ("concurrent-namespace-syncs", config.concurrent_namespace_syncs),
        ("concurrent-gc-syncs", config.concurrent_gc_syncs),
        ("concurrent-serviceaccount-token-syncs", config.concurrent_serviceaccount_token_syncs),
        ("namespace-sync-period", config.namespace_sync_period_s),
        ("concurrent-resource-quota-syncs", config.concurrent_resource_quota_syncs),
        ("resource-quota-sync-period", config.resource_quota_sync_period_s),
        ("cluster-signing-duration", config.cluster_signing_duration_s),
        ("identity-lease-duration-seconds", config.identity_lease_duration_seconds),
        ("identity-lease-renew-interval-seconds", config.identity_lease_renew_interval_seconds),
    )
    return problems + [f"--{name}: must be greater than 0" for name, value in positive if value <= 0]


def _in_flight(config: Config) -> list[str]:
    """Both limits of requests at a time are together the seats of all priority levels, of which there must be one."""
    limits = config.max_requests_inflight, config.max_mutating_requests_inflight
    if any(limits) or not config.enable_priority_and_fairness:
        return []
    return [
        "invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; "
        "they must add up to something positive"
    ]


def _hosts(config: Config) -> list[str]:
    """Find what is wrong with the names of the server: a line each, naming the flag."""
    problems = [
        f'--tls-san: "{each}" is neither a DNS name nor an IP address'
        for each in config.tls_san
        if not (is_address(each) or is_dns_name(each.removeprefix("*.")))
    ]
    if len(config.tls_san) > MOST_NAMES:
        problems.append(f"--tls-san: {len(config.tls_san)} names are too many, at most {MOST_NAMES}")
    if config.external_hostname:
        try:
            split_host(config.external_hostname)
        except ValueError as error:
            problems.append(f"--external-hostname: {error}")
    return problems


def _gates(config: Config) -> Iterator[str]:
    _, problems = feature_gates.resolve(config.feature_gates, config.vocabulary)
    yield from (f"--feature-gates: {problem}" for problem in problems)


def _origins(patterns: tuple[str, ...]) -> list[str]:
    """Return the problems of `--cors-allowed-origins`: malformed expressions."""
    if not patterns:
        return []
    from orchtw.values.patterns import compiled

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
    """Problems of `--service-cluster-ip-range`: one range, or one of each IP version, none too small or too large."""
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
    """The problem of `--service-node-port-range`."""
    found = port_range(text)
    if found is None:
        return f'--service-node-port-range: "{text}" is not a range of ports such as 30000-32767'
    first, last = found
    if not 0 < first <= last <= HIGHEST:
        return f"--service-node-port-range: {text} must lie between 1 and {HIGHEST}"
    return ""


def _modes(modes: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    """Problems of `--authorization-mode`: unknown or repeated modes (reference AUTHZ-7)."""
    unknown = [mode for mode in modes if mode not in known]
    if unknown:
        return [f'--authorization-mode: "{mode}" is not a valid mode' for mode in unknown]
    if len(set(modes)) != len(modes):
        return [f"--authorization-mode: {','.join(modes)} has mode specified more than once"]
    return [] if modes else ["--authorization-mode: at least one mode must be given"]


def _files_of_modes(config: Config) -> list[str]:
    """A mode without its file, or a file without its mode (reference AUTHZ-36)."""
    modes, policies = config.authorization_mode, config.authorization_policy_file
    webhook = config.authorization_webhook_config_file
    problems = []
    if "ABAC" in modes and policies is None:
        problems.append("--authorization-mode: mode ABAC needs --authorization-policy-file")
    if "Webhook" in modes and webhook is None:
        problems.append("--authorization-mode: mode Webhook needs --authorization-webhook-config-file")
    if policies is not None and "ABAC" not in modes:
        problems.append("--authorization-policy-file: cannot be given without mode ABAC in --authorization-mode")
    if webhook is not None and "Webhook" not in modes:
        text = "cannot be given without mode Webhook in --authorization-mode"
        problems.append(f"--authorization-webhook-config-file: {text}")
    return problems


def _oidc(config: Config) -> list[str]:
    """Problems of the `--oidc` flags (reference AUTHN-32)."""
    problems = [_one_of("oidc-signing-algs", each, SIGNING_ALGORITHMS) for each in config.oidc_signing_algs]
    url = config.oidc_issuer_url
    if bool(url) != bool(config.oidc_client_id):
        problems.append("--oidc-issuer-url and --oidc-client-id must be given together")
    if not url:
        return problems
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return [*problems, f'--oidc-issuer-url: "{url}" is no URL']
    if parts.scheme != "https":
        problems.append(f"'oidc-issuer-url' (\"{url}\") has invalid scheme (\"{parts.scheme}\"), require 'https'")
    elif not good or parts.query or parts.fragment or parts.username is not None:
        problems.append(f'--oidc-issuer-url: "{url}" must be a URL such as https://host:port/path')
    return problems


def _controllers(names: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    """Problems of `--controllers`: unknown names."""
    return [
        f'--controllers: "{name}" is not in the list of known controllers: {", ".join(known)}'
        for name in names
        if name.removeprefix("-") not in ("*", *known)
    ]


def _accounts(config: Config) -> list[str]:
    """Problems of the tokens of service accounts."""
    problems = [
        f'--service-account-issuer: "{issuer}" contains a \':\' and is not a valid URL'
        for issuer in config.service_account_issuer
        if ":" in issuer and not _is_url(issuer)
    ]
    if (uri := config.service_account_jwks_uri) and not (uri.startswith("https://") and _is_url(uri)):
        problems.append(f'--service-account-jwks-uri: requires https scheme, got "{uri}"')
    longest_s = config.service_account_max_token_expiration_s
    if longest_s and not MIN_TOKEN_LIMIT_S <= longest_s <= MAX_TOKEN_LIMIT_S:
        problems.append("--service-account-max-token-expiration: must be between 1 hour and 2^32 seconds")
    return problems


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and not any(char.isspace() for char in text)


def _election(config: Config) -> list[str]:
    """Problems of the election's times: a leader must notice its loss before others take over."""
    duration_s, deadline_s = config.leader_elect_lease_duration_s, config.leader_elect_renew_deadline_s
    retry_s = config.leader_elect_retry_period_s
    problems = [_one_of("leader-elect-resource-lock", config.leader_elect_resource_lock, ("leases",))]
    if duration_s <= deadline_s:
        problems.append("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline")
    if deadline_s <= 1.2 * retry_s:
        problems.append("--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period")
    if retry_s <= 0:
        problems.append("--leader-elect-retry-period: must be greater than 0")
    return problems
