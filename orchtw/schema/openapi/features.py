"""What the documents may speak of (reference OPS-23)."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(slots=True, kw_only=True)
class Features:
    """`enums`: the values that a text may have; `field_validation`: the parameter of that name."""

    enums: bool = True
    field_validation: bool = True


EVERYTHING: Final = Features()
