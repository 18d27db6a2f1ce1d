"""Authentication: one module per method (client certificates, bearer tokens), and the union that tries them in order.

Authorization is decided in `authz`. Only the composition root and `filters` import this package. `METHODS` and
`TOKENS` list the members of the union; those that call other servers are imported if the flags name one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from orchtw.authn import bootstrap_tokens, request_headers, token_file
from orchtw.authn.audiences import PlainTokens, plain
from orchtw.authn.method import Authenticator, AuthnHost, TokenMethod
from orchtw.authn.service_accounts import authenticator
from orchtw.authn.x509 import ClientCertificates
from orchtw.config.authentication import AuthenticationOptions
from orchtw.plugins import AuthenticationPlugin, Plugins
from orchtw.plugins.order import anchored

MakeMethod = Callable[[AuthnHost, AuthenticationOptions], Authenticator | None]
MakeSource = Callable[[AuthnHost, AuthenticationOptions], TokenMethod | None]


def _oidc(host: AuthnHost, options: AuthenticationOptions) -> PlainTokens | None:
    if options.config_file is not None:
        from orchtw.authn.issuers import from_file

        return from_file(host, options)
    if not options.oidc.issuer_url:
        return None
    from orchtw.authn.oidc import from_flags

    return from_flags(host, options)


def _webhook(host: AuthnHost, options: AuthenticationOptions) -> TokenMethod | None:
    if options.webhook.config_file is None:
        return None
    from orchtw.authn.webhook import from_flags

    return from_flags(host, options)


METHODS: Mapping[str, MakeMethod] = MappingProxyType(
    {
        "request-header": request_headers.from_flags,
        "client-certificate": lambda host, options: ClientCertificates(host.seconds, host.metrics),
    }
)
"""Factories of the methods tried before bearer tokens, in order; they return None for a method that flags disable."""

TOKENS: Mapping[str, MakeSource] = MappingProxyType(
    {
        "token-file": plain(token_file.from_flags),
        "service-accounts": authenticator.from_flags,
        "bootstrap": plain(bootstrap_tokens.from_flags),
        "oidc": plain(_oidc),
        "webhook": _webhook,
    }
)
"""Factories of the bearer-token sources, in order; they return None for a source that flags disable."""


def methods(installed: Plugins) -> list[MakeMethod]:
    """Return the factories of all methods tried before bearer tokens, with plugins in their places."""
    return _with_plugins(METHODS, installed, tokens=False)


def token_sources(installed: Plugins) -> list[MakeSource]:
    """Return the factories of all bearer-token sources, with plugins in their places."""
    return _with_plugins(TOKENS, installed, tokens=True)


def _with_plugins(built_in: Mapping[str, Any], installed: Plugins, *, tokens: bool) -> list[Any]:
    found = installed.of(AuthenticationPlugin)
    plugins = {name: plugin for name, plugin in found.items() if plugin.tokens is tokens}
    made = {name: _from_values(plugin, installed.values) for name, plugin in plugins.items()}
    order = anchored(list(built_in), {name: plugin.before for name, plugin in plugins.items()})
    return [built_in[name] if name in built_in else made[name] for name in order]


def _from_values(plugin: AuthenticationPlugin, values: Mapping[str, Any]) -> Callable[[AuthnHost, object], Any]:
    """Wrap a plugin's factory in the signature of the built-in ones."""
    return lambda host, options: plugin.make(host, values)
