"""Settings of authentication: certificates, tokens, OpenID Connect, webhooks."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, CLAIMS, DURATION, LIST, PATH, TEXT


@attrs.frozen(slots=False, kw_only=True)
class Authentication:
    """The settings of authentication."""

    anonymous_auth: bool = attrs.field(
        default=True,
        metadata=about("Authentication", "Requests without credentials are user system:anonymous.", BOOLEAN),
    )
    client_ca_file: Path | None = attrs.field(
        default=None,
        metadata=about("Authentication", "PEM CAs of client certificates; empty: the generated CA.", PATH),
    )
    token_auth_file: Path | None = attrs.field(
        default=None, metadata=about("Authentication", 'CSV of token,user,uid[,"group1,group2"].', PATH)
    )
    requestheader_client_ca_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Authentication", "PEM CAs of the certificates of proxies that say in headers who asks.", PATH
        ),
    )
    requestheader_allowed_names: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Authentication", "Common names that such a certificate may have; empty: any.", LIST),
    )
    requestheader_username_headers: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Authentication", "Headers that such proxies put the user's name in, such as X-Remote-User.", LIST
        ),
    )
    requestheader_group_headers: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Authentication", "Headers with the user's groups, such as X-Remote-Group.", LIST),
    )
    requestheader_extra_headers_prefix: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Authentication", "Beginnings of headers with the user's extra attributes, such as X-Remote-Extra-.", LIST
        ),
    )
    enable_bootstrap_token_auth: bool = attrs.field(
        default=False,
        metadata=about("Authentication", "Secrets of the system's namespace hold tokens for joining.", BOOLEAN),
    )
    oidc_issuer_url: str = attrs.field(
        default="",
        metadata=about("Authentication", "https URL of the OpenID Connect issuer whose ID tokens are taken.", TEXT),
    )
    oidc_client_id: str = attrs.field(
        default="", metadata=about("Authentication", "Audience that ID tokens must be for.", TEXT)
    )
    oidc_ca_file: Path | None = attrs.field(
        default=None,
        metadata=about("Authentication", "PEM CAs of the issuer's certificate; empty: the machine's.", PATH),
    )
    oidc_username_claim: str = attrs.field(
        default="sub", metadata=about("Authentication", "Claim of ID tokens with the user's name.", TEXT)
    )
    oidc_username_prefix: str = attrs.field(
        default="",
        metadata=about(
            "Authentication",
            "Put before that name; empty: the issuer's URL and #, but nothing for email; - is nothing.",
            TEXT,
        ),
    )
    oidc_groups_claim: str = attrs.field(
        default="", metadata=about("Authentication", "Claim of ID tokens with the user's groups.", TEXT)
    )
    oidc_groups_prefix: str = attrs.field(
        default="", metadata=about("Authentication", "Put before each of those groups.", TEXT)
    )
    oidc_required_claim: tuple[tuple[str, str], ...] = attrs.field(
        default=(),
        metadata=about("Authentication", "Claim that ID tokens must have: name=value; repeatable.", CLAIMS),
    )
    oidc_signing_algs: tuple[str, ...] = attrs.field(
        default=("RS256",),
        metadata=about(
            "Authentication", "Algorithms that ID tokens may be signed with: RS, ES or PS with 256, 384 or 512.", LIST
        ),
    )
    authentication_token_webhook_config_file: Path | None = attrs.field(
        default=None,
        metadata=about("Authentication", "Client configuration of a webhook that is asked about tokens.", PATH),
    )
    authentication_token_webhook_cache_ttl_s: float = attrs.field(
        default=120.0,
        metadata=about("Authentication", "Time for which that webhook's answers are kept; 0: not at all.", DURATION),
    )
    authentication_token_webhook_version: str = attrs.field(
        default="v1beta1",
        metadata=about("Authentication", "Version of TokenReview for that webhook: v1beta1 or v1.", TEXT),
    )
