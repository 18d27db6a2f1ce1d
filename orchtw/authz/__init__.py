"""What a user may do: one authorizer per mode, the chain that asks them, and the text of a refusal.

Who the user is was settled in `authn`. `MODES` makes what `--authorization-mode` can pick; a mode that is
accepted but not listed has no opinion on anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchtw.authz.bootstrap_rights import BootstrapRights
from orchtw.authz.decision import Authorizer
from orchtw.authz.fixed import AlwaysAllow, AlwaysDeny
from orchtw.naming import Naming

MODES: Mapping[str, Callable[[Naming], Authorizer]] = MappingProxyType(
    {"AlwaysAllow": lambda _: AlwaysAllow(), "AlwaysDeny": lambda _: AlwaysDeny(), "RBAC": BootstrapRights}
)
