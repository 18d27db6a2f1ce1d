"""Rules in the Common Expression Language: read, checked against a schema and compiled to closures that count their
cost (reference CRD-28).

Nothing here knows of definitions as objects: `rules` takes structural schemas and answers causes.
"""

from __future__ import annotations

import sys


def are_loaded() -> bool:
    """Report whether the modules that compile rules have been imported: the import is too slow for the reactor."""
    return f"{__name__}.compiler" in sys.modules
