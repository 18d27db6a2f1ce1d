"""How new the cache must be before it may answer (seed 1 §4.6)."""

from __future__ import annotations

from orchtw.verbs.context import Reading

WAIT_S = 3.0
"""How long a version from the future is waited for (supplement A5)."""


async def not_older_than(context: Reading, revision: int) -> None:
    """Return once the cache has reached `revision`; raises Timeout (504) when that takes too long."""
    if context.cacher.revision < revision:
        await context.cacher.wait_for(revision, WAIT_S)
