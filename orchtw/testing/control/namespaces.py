"""Names of namespaces for single tests."""

from __future__ import annotations

import re
import secrets
from typing import Final

MOST_NAME: Final = 40
"""Characters of a test's name in that of its namespace, which has 63 at most."""

ACCOUNT_S: Final = 5.0
"""Timeout of the namespace's account, without which pods are refused."""


def fresh_name(test: str) -> str:
    """Return a name of its own for a namespace, which begins with the test's."""
    begin = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")[:MOST_NAME].strip("-") or "test"
    return f"{begin}-{secrets.token_hex(3)}"
