"""Shuffle sharding: the queues that a flow may use (reference FLOW-4)."""

from __future__ import annotations

from bisect import insort
from hashlib import sha256


def entropy(schema: str, distinguisher: str) -> int:
    """Return the hash of a flow: 64 bits of the schema's name and the flow distinguisher."""
    digest = sha256(f"{schema}\0{distinguisher}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def deal(bits: int, deck: int, hand: int) -> tuple[int, ...]:
    """Return `hand` different numbers below `deck`, by `bits`.

    All hands are equally likely for random `bits`, and the same bits give the same hand everywhere.
    """
    taken: list[int] = []
    dealt: list[int] = []
    for left in range(deck, deck - hand, -1):
        bits, card = divmod(bits, left)
        for other in taken:
            if card < other:
                break
            card += 1
        insort(taken, card)
        dealt.append(card)
    return tuple(dealt)
