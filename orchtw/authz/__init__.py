"""Authorization: one authorizer per mode, the union that asks them, and the text of a refusal.

Users come from `authn`. `MODES` makes what `--authorization-mode` can name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.authz import node, policy_file, webhook
from orchtw.authz.decision import Authorizer, AuthzHost
from orchtw.authz.fixed import AlwaysAllow, AlwaysDeny
from orchtw.authz.rbac import RBAC
from orchtw.config import Config
from orchtw.plugins import AuthorizationPlugin

MakeAuthorizer = Callable[[AuthzHost, Config], Authorizer]

MODES: Mapping[str, MakeAuthorizer] = MappingProxyType(
    {
        "Node": node.from_flags,
        "ABAC": lambda host, config: policy_file.from_flags(config, host.naming),
        "Webhook": webhook.from_flags,
        "RBAC": lambda host, config: RBAC(host.roles, host.naming),
        "AlwaysAllow": lambda host, config: AlwaysAllow(),
        "AlwaysDeny": lambda host, config: AlwaysDeny(),
    }
)
"""Factories by mode. They raise ConfigError for a file that cannot be used."""


def factories(config: Config) -> list[MakeAuthorizer]:
    """The factories of `--authorization-mode`, in its order, built in or plugins'; the names have been checked."""
    plugins = config.plugins.of(AuthorizationPlugin)
    return [MODES[mode] if mode in MODES else plugins[mode].make for mode in config.authorization_mode]
