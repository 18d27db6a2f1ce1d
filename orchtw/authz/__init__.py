"""Authorization: one authorizer per mode, their union, and the text of a 403.

Users come from `authn`. `MODES` has a factory for each built-in `--authorization-mode`; the larger modes are
imported if the flag names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from orchtw.authz.decision import Authorizer, AuthzHost
from orchtw.authz.fixed import AlwaysAllow, AlwaysDeny
from orchtw.authz.rbac import RBAC
from orchtw.config.authorization import AuthorizationOptions
from orchtw.plugins import AuthorizationPlugin, Plugins

MakeAuthorizer = Callable[[AuthzHost, AuthorizationOptions], Authorizer]


def _node(host: AuthzHost, options: AuthorizationOptions) -> Authorizer:
    from orchtw.authz.node import from_flags

    return from_flags(host, options)


def _abac(host: AuthzHost, options: AuthorizationOptions) -> Authorizer:
    from orchtw.authz.abac_policy import from_flags

    return from_flags(options, host.naming)


def _webhook(host: AuthzHost, options: AuthorizationOptions) -> Authorizer:
    from orchtw.authz.webhook import from_flags

    return from_flags(host, options)


MODES: Mapping[str, MakeAuthorizer] = MappingProxyType(
    {
        "Node": _node,
        "ABAC": _abac,
        "Webhook": _webhook,
        "RBAC": lambda host, options: RBAC(host.roles, host.naming),
        "AlwaysAllow": lambda host, options: AlwaysAllow(),
        "AlwaysDeny": lambda host, options: AlwaysDeny(),
    }
)
"""Factories by mode. They raise ConfigError for a file that is unreadable or invalid."""


def authorizers(host: AuthzHost, options: AuthorizationOptions, installed: Plugins) -> list[Authorizer]:
    """Return the authorizers of `--authorization-mode`, in its order, built-in and plugins'.

    The names must have been validated. Raises ConfigError for a file that is unreadable or invalid.
    """
    makes = makers(host, options, installed)
    return [makes[mode]() for mode in options.mode]


def makers(
    host: AuthzHost, options: AuthorizationOptions, installed: Plugins
) -> Mapping[str, Callable[[], Authorizer]]:
    """Return a factory for each mode, built-in and plugins'."""
    plugins, values = installed.of(AuthorizationPlugin), installed.values
    of_plugins = {name: partial(plugin.make, host, values) for name, plugin in plugins.items()}
    return {**of_plugins, **{mode: partial(make, host, options) for mode, make in MODES.items()}}
