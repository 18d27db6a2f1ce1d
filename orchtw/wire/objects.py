"""The type of API objects while they are worked on."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
"""An object, or a part of one, as its JSON has it: in canonical form wherever it does not say otherwise."""
