"""Switches for parts of the OpenAPI documents (reference OPS-23)."""

from __future__ import annotations

from typing import Final

import msgspec


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """Switches.

    `enums`: a text's allowed values; `field_validation`: the parameter of that name; `v3`: version 3;
    `initial_events`: sendInitialEvents; `shards`: shardSelector; `unsafe_deletes`: the option to ignore read errors.
    """

    enums: bool = True
    field_validation: bool = True
    v3: bool = True
    initial_events: bool = True
    shards: bool = True
    unsafe_deletes: bool = True


EVERYTHING: Final = Features()
