"""What becomes of fields that are unknown or come twice (seed 1 §4.5, supplement B7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.request import Request

IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"


def directive_of(request: Request) -> str:
    """`Ignore`, `Warn` or `Strict`; Warn unless the query says otherwise, in words that its options check."""
    return (request.param("fieldValidation") or WARN) if request.query else WARN


def strict_error(request: Request, directive: str, findings: Sequence[str]) -> str:
    """Under Strict the text of a refusal; else empty, and the findings have become warnings."""
    if not findings:
        return ""
    if directive == STRICT:
        return "strict decoding error: " + ", ".join(findings)
    request.warnings += findings
    return ""
