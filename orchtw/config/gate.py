"""Feature gate: the switch of one feature, with the release that introduced it (reference OPS-23)."""

from __future__ import annotations

import msgspec

from orchtw.config.releases import FIRST, Release


class Gate(msgspec.Struct, frozen=True):
    """Feature gate: its stage (`alpha`, `beta` or `ga`), its default, and whether it is `locked` to that.

    `on_in_orch` is the default under the vocabulary `orch`; None: the same. `since` is the release that introduced
    the feature: it is off while an earlier one is emulated.
    """

    stage: str
    on: bool
    locked: bool = False
    on_in_orch: bool | None = None
    since: Release = FIRST

    def default(self, vocabulary: str) -> bool:
        """Return the default state under a vocabulary."""
        return self.on if self.on_in_orch is None or vocabulary != "orch" else self.on_in_orch
