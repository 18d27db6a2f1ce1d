"""Settings of authentication: certificates, tokens, OpenID Connect, webhooks."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import BOOLEAN, CLAIMS, DURATION, LIST, PATH, TEXT


@options
class RequestHeaderOptions:
    """Options of authenticating proxies, which name users in request headers."""

    client_ca_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authentication",
            "CA certificates (PEM) for the client certificates of authenticating proxies, which name "
            "users in headers.",
            PATH,
        ),
    )
    allowed_names: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Authentication", "Common names allowed in such a proxy's certificate; empty allows any.", LIST
        ),
    )
    username_headers: tuple[str, ...] = setting(
        default=(),
        metadata=about("Authentication", "Headers to read the user name from, such as X-Remote-User.", LIST),
    )
    uid_headers: tuple[str, ...] = setting(
        default=(),
        metadata=about("Authentication", "Headers to read the user's uid from, such as X-Remote-Uid.", LIST),
    )
    group_headers: tuple[str, ...] = setting(
        default=(),
        metadata=about("Authentication", "Headers to read the groups from, such as X-Remote-Group.", LIST),
    )
    extra_headers_prefix: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Authentication", "Prefixes of headers to read extra user attributes from, such as X-Remote-Extra-.", LIST
        ),
    )


@options
class OIDCOptions:
    """Options of OpenID Connect."""

    issuer_url: str = setting(
        default="",
        metadata=about(
            "Authentication", "URL (https) of the OpenID Connect issuer whose ID tokens are accepted.", TEXT
        ),
    )
    client_id: str = setting(
        default="", metadata=about("Authentication", "Client ID, which ID tokens must have as an audience.", TEXT)
    )
    ca_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authentication", "CA certificates (PEM) for the issuer's certificate; empty means the system's.", PATH
        ),
    )
    username_claim: str = setting(
        default="sub", metadata=about("Authentication", "Claim with the user name.", TEXT)
    )
    username_prefix: str = setting(
        default="",
        metadata=about(
            "Authentication",
            'Prefix of user names; empty means the issuer\'s URL and "#" (no prefix for the claim email), '
            '"-" means no prefix.',
            TEXT,
        ),
    )
    groups_claim: str = setting(
        default="", metadata=about("Authentication", "Claim with the user's groups.", TEXT)
    )
    groups_prefix: str = setting(default="", metadata=about("Authentication", "Prefix of group names.", TEXT))
    required_claim: tuple[tuple[str, str], ...] = setting(
        default=(),
        metadata=about("Authentication", "Claim that ID tokens must have, as name=value; repeatable.", CLAIMS),
    )
    signing_algs: tuple[str, ...] = setting(
        default=("RS256",),
        metadata=about(
            "Authentication", "Accepted signing algorithms of ID tokens: RS, ES or PS with 256, 384 or 512.", LIST
        ),
    )


@options
class TokenWebhookOptions:
    """Options of the webhook token authenticator."""

    config_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authentication",
            "Client configuration (kubeconfig format) of the webhook that authenticates bearer tokens.",
            PATH,
        ),
    )
    cache_ttl_s: float = setting(
        default=120.0,
        metadata=about(
            "Authentication", "How long the token webhook's responses are cached; 0 turns the cache off.", DURATION
        ),
    )
    version: str = setting(
        default="v1beta1",
        metadata=about("Authentication", "Version of TokenReview to send to the webhook: v1beta1 or v1.", TEXT),
    )


@options
class AuthenticationOptions:
    """Options of authentication methods."""

    anonymous_auth: bool = setting(
        default=True,
        metadata=about(
            "Authentication",
            "Let requests without credentials through to authorization, as user system:anonymous.",
            BOOLEAN,
        ),
    )
    config_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authentication",
            "AuthenticationConfiguration file: issuers of tokens with rules for their claims, and the paths of "
            "anonymous requests. It takes the place of --oidc-issuer-url and its companions.",
            PATH,
            flag="authentication-config",
        ),
    )
    client_ca_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authentication", "CA certificates (PEM) for client certificates; empty means the generated CA.", PATH
        ),
    )
    token_auth_file: Path | None = setting(
        default=None,
        metadata=about("Authentication", 'CSV file of static tokens: token,user,uid[,"group1,group2"].', PATH),
    )
    enable_bootstrap_token_auth: bool = setting(
        default=False,
        metadata=about(
            "Authentication",
            "Accept bootstrap tokens, which are Secrets in the system namespace for nodes that join the cluster.",
            BOOLEAN,
        ),
    )
    request_header: RequestHeaderOptions = subject(RequestHeaderOptions, "requestheader")
    oidc: OIDCOptions = subject(OIDCOptions, "oidc")
    webhook: TokenWebhookOptions = subject(TokenWebhookOptions, "authentication-token-webhook")
