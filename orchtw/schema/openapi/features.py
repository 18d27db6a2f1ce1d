"""Switches for parts of the OpenAPI documents (reference OPS-23)."""

from __future__ import annotations

from typing import Final

import msgspec


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """Switches: `enums`: a text's allowed values; `field_validation`: the parameter of that name; `v3`: version 3."""

    enums: bool = True
    field_validation: bool = True
    v3: bool = True


EVERYTHING: Final = Features()
