"""What the server gives to its admission plugins, and the flags that say which of them run."""

from __future__ import annotations

import attrs

from orchtw.naming import Naming
from orchtw.registry.targets import Targets


@attrs.frozen(slots=True, kw_only=True)
class Host:
    """What plugins get of the server; the caches behind `targets` are filled before the first write."""

    naming: Naming
    targets: Targets


@attrs.frozen(slots=True, kw_only=True)
class Settings:
    """The flags of admission: names of plugins that are switched on and off beside the defaults."""

    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
