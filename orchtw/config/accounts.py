"""Settings of service account tokens."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import BOOLEAN, DURATION, LIST, PATH, PATHS, TEXT


@options
class AccountOptions:
    """Options of service account tokens."""

    signing_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Service accounts",
            "Private key (PEM) that signs service account tokens; empty means the generated key.",
            PATH,
        ),
    )
    private_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Service accounts",
            "Private key (PEM) that signs the tokens kept in Secrets; empty means the key of all other tokens.",
            PATH,
        ),
    )
    key_file: tuple[Path, ...] = setting(
        default=(),
        metadata=about(
            "Service accounts",
            "Keys (PEM) that verify service account tokens, in addition to the signing key; repeatable.",
            PATHS,
        ),
    )
    issuer: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Service accounts",
            "Issuers of service account tokens: the first one is put into new tokens, all are accepted; "
            "empty means the server's URL in the cluster.",
            LIST,
        ),
    )
    api_audiences: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Service accounts",
            "Audiences of tokens that are meant for this API; empty means the service account issuers.",
            LIST,
            flag="api-audiences",
        ),
    )
    lookup: bool = setting(
        default=True,
        metadata=about(
            "Service accounts",
            "Reject a token kept in a Secret once its Secret or its service account is deleted.",
            BOOLEAN,
        ),
    )
    max_token_expiration_s: float = setting(
        default=0.0,
        metadata=about(
            "Service accounts", "Maximum lifetime of an issued token, at least 1h; 0 means as requested.", DURATION
        ),
    )
    extend_token_expiration: bool = setting(
        default=True,
        metadata=about(
            "Service accounts",
            "Extend the tokens that node agents request by default to a year, for clients that do not reload them.",
            BOOLEAN,
        ),
    )
    jwks_uri: str = setting(
        default="",
        metadata=about(
            "Service accounts",
            "URL (https) of the key set in the issuer's discovery document; empty means this server's.",
            TEXT,
        ),
    )
    root_ca_file: Path | None = setting(
        default=None,
        metadata=about(
            "Service accounts",
            "CA certificates (PEM) that are given to service accounts for this server; empty means those "
            "in admin.kubeconfig.",
            PATH,
            flag="root-ca-file",
        ),
    )
