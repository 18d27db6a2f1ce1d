"""Name of the user who is the test itself, which the server and `orchtw.testing` both know."""

from __future__ import annotations

from typing import Final

TESTER: Final = "orch-testing"
"""Only rules that name this user strike it: assertions read while an operator is to fail, and use no rules up."""
