"""What the server gives to its admission plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import attrs

from orchtw.authz.decision import Authorizer
from orchtw.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.registry.targets import Targets


@attrs.frozen(slots=True, kw_only=True)
class Host:
    """What plugins get of the server; the caches behind `targets` are filled before the first write.

    `clock` is the reactor, for those that wait or ask others; `authorizer` is the one that requests pass. By `caller`
    others are asked. `make_namespace` creates one as the server, unless it is there; it raises as a create does.
    """

    naming: Naming
    clock: Any
    random: Random
    targets: Targets
    authorizer: Authorizer
    caller: Caller
    make_namespace: Callable[[str], Awaitable[None]]
