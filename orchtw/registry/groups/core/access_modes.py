"""Access modes of volumes and claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import not_supported, required

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
"""Known access modes, without ReadWriteOncePod, which is behind a gate that is off."""


def check_access_modes(modes: Sequence[str], missing: str = "") -> list[Cause]:
    """Validate that there is a mode, and that all are known; `missing` is the text if there is none."""
    if not modes:
        return [required("accessModes", missing)]
    unknown = [mode for mode in modes if mode not in ACCESS_MODES]
    return [not_supported("accessModes", mode, ACCESS_MODES) for mode in unknown[:MAX_CAUSES]]
