"""The type of API objects in memory."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
"""An object, or a part of one, with the members of its JSON: in canonical form unless stated otherwise."""
