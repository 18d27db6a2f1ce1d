"""The tokens of service accounts."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, DURATION, LIST, PATH, PATHS, TEXT


@attrs.frozen(slots=False, kw_only=True)
class ServiceAccounts:
    """The settings of service accounts."""

    service_account_signing_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Service accounts", "PEM private key that signs their tokens; empty: the generated one.", PATH
        ),
    )
    service_account_private_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Service accounts", "PEM private key that signs tokens kept in Secrets; empty: the one for all.", PATH
        ),
    )
    service_account_key_file: tuple[Path, ...] = attrs.field(
        default=(),
        metadata=about(
            "Service accounts", "PEM keys whose tokens are believed, beside the one that signs; repeatable.", PATHS
        ),
    )
    service_account_issuer: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Service accounts",
            "Issuers of tokens: the first signs, all are accepted; empty: the server's name in the cluster.",
            LIST,
        ),
    )
    api_audiences: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Service accounts", "Audiences of tokens for this API; empty: the issuers.", LIST),
    )
    service_account_lookup: bool = attrs.field(
        default=True,
        metadata=about("Service accounts", "Tokens kept in Secrets end with their Secret and account.", BOOLEAN),
    )
    service_account_max_token_expiration_s: float = attrs.field(
        default=0.0,
        metadata=about(
            "Service accounts", "Longest time that an issued token is valid, 1h at least; 0: as asked.", DURATION
        ),
    )
    service_account_extend_token_expiration: bool = attrs.field(
        default=True,
        metadata=about(
            "Service accounts", "Tokens that node agents ask for in the usual way are valid for a year.", BOOLEAN
        ),
    )
    service_account_jwks_uri: str = attrs.field(
        default="",
        metadata=about(
            "Service accounts", "https URL of the keys that issuer discovery tells; empty: on this server.", TEXT
        ),
    )
    root_ca_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Service accounts",
            "PEM authorities that accounts trust this server by; empty: those of admin.kubeconfig.",
            PATH,
        ),
    )
