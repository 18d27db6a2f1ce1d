"""Refusals of policies, which have their own reason and code (reference POLICY-10, POLICY-12)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes
from orchtw.errors import Forbidden


def refused(text: str, attributes: Attributes, reason: str, code: int) -> Forbidden:
    """Return a refusal of a write with its text as the one cause."""
    found = attributes.forbidden(text)
    found.reason, found.code = reason, code  # type: ignore[misc]
    found.details = {**(found.details or {}), "causes": [{"message": text}]}
    return found
