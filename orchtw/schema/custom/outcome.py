"""Outcome of the validation of a custom resource."""

from __future__ import annotations

import msgspec

from orchtw.errors import Cause


class Outcome(msgspec.Struct, frozen=True):
    """Causes that refuse an object, and the texts of those that its old form excuses."""

    causes: list[Cause]
    excused: list[str]
