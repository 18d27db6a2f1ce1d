"""Who asks: one module per method (client certificates, bearer tokens), and the union that tries them in order.

What the user may do is decided in `authz`. Only the composition root and `filters` import this. `METHODS` and
`TOKENS` are what the union is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.authn import bootstrap_tokens, oidc, request_headers, tokens, webhook_tokens
from orchtw.authn.client_certificates import ClientCertificates
from orchtw.authn.method import Authenticator, Host, TokenMethod, plain
from orchtw.authn.service_accounts import tokens as service_accounts
from orchtw.config import Config

METHODS: Mapping[str, Callable[[Host, Config], Authenticator | None]] = MappingProxyType(
    {
        "request-header": request_headers.from_flags,
        "client-certificate": lambda host, config: ClientCertificates(host.seconds, host.metrics),
    }
)
"""Factories of the methods that are tried before bearer tokens, in their order; None: switched off by the flags."""

TOKENS: Mapping[str, Callable[[Host, Config], TokenMethod | None]] = MappingProxyType(
    {
        "token-file": plain(tokens.from_flags),
        "service-accounts": service_accounts.from_flags,
        "bootstrap": plain(bootstrap_tokens.from_flags),
        "oidc": plain(oidc.from_flags),
        "webhook": webhook_tokens.from_flags,
    }
)
"""Factories of the sources of bearer tokens, in their order; None: switched off by the flags."""
