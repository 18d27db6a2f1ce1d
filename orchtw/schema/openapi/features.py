"""Which documents there are, and what they may speak of (reference OPS-23)."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(slots=True, kw_only=True)
class Features:
    """`enums`: the values that a text may have; `field_validation`: the parameter of that name; `v3`: version 3."""

    enums: bool = True
    field_validation: bool = True
    v3: bool = True


EVERYTHING: Final = Features()
