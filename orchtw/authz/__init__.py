"""What a user may do: one authorizer per mode, the chain that asks them, and the text of a refusal.

Who the user is was settled in `authn`. `MODES` names what `--authorization-mode` can pick; a mode that is
accepted but not listed has no opinion on anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from orchtw.authz.bootstrap_paths import BootstrapPaths
from orchtw.authz.decision import Authorizer
from orchtw.authz.fixed import AlwaysAllow, AlwaysDeny

MODES: Mapping[str, type[Authorizer]] = MappingProxyType(
    {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny, "RBAC": BootstrapPaths}
)
