"""Authentication: one module per method (client certificates, bearer tokens), and the union that tries them in order.

Authorization is decided in `authz`. Only the composition root and `filters` import this. `METHODS` and
`TOKENS` list the members of the union.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from orchtw.authn import bootstrap_tokens, oidc, request_headers, tokens, webhook_tokens
from orchtw.authn.client_certificates import ClientCertificates
from orchtw.authn.method import Authenticator, AuthnHost, TokenMethod, plain
from orchtw.authn.service_accounts import tokens as service_accounts
from orchtw.config import Config
from orchtw.plugins import AuthenticationPlugin
from orchtw.plugins.order import anchored

MakeMethod = Callable[[AuthnHost, Config], Authenticator | None]
MakeSource = Callable[[AuthnHost, Config], TokenMethod | None]

METHODS: Mapping[str, MakeMethod] = MappingProxyType(
    {
        "request-header": request_headers.from_flags,
        "client-certificate": lambda host, config: ClientCertificates(host.seconds, host.metrics),
    }
)
"""Factories of the methods that are tried before bearer tokens, in their order; None: switched off by the flags."""

TOKENS: Mapping[str, MakeSource] = MappingProxyType(
    {
        "token-file": plain(tokens.from_flags),
        "service-accounts": service_accounts.from_flags,
        "bootstrap": plain(bootstrap_tokens.from_flags),
        "oidc": plain(oidc.from_flags),
        "webhook": webhook_tokens.from_flags,
    }
)
"""Factories of the sources of bearer tokens, in their order; None: switched off by the flags."""


def methods(config: Config) -> list[MakeMethod]:
    """The factories of all methods that are tried before bearer tokens, plugins' in their places."""
    return _with_plugins(METHODS, config, tokens=False)


def token_sources(config: Config) -> list[MakeSource]:
    """The factories of all sources of bearer tokens, plugins' in their places."""
    return _with_plugins(TOKENS, config, tokens=True)


def _with_plugins(built_in: Mapping[str, Any], config: Config, *, tokens: bool) -> list[Any]:
    found = config.plugins.of(AuthenticationPlugin)
    plugins = {name: plugin for name, plugin in found.items() if plugin.tokens is tokens}
    order = anchored(list(built_in), {name: plugin.before for name, plugin in plugins.items()})
    return [built_in[name] if name in built_in else plugins[name].make for name in order]
