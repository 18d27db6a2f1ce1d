"""Slicing of long computations, so that none of them blocks the reactor."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import Final, TypeVar

from twisted.internet.defer import Deferred

from orchtw.watch.turns import ReactorTurns

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A computation that yields every millisecond or so and returns its result."""

PART_BYTES: Final = 256 * 1024
"""Approximate size of the parts in which a long body is made and sent."""

COMPLETE_BYTES: Final = 1 << 20
"""Limit of bodies that are sent with their length, if they are made within one slice."""


async def in_turns(turns: ReactorTurns, steps: Steps[T]) -> T:
    """Return the result of `steps`, run in slices. Raises the errors of `steps`.

    If the client leaves, the wait is cancelled and `steps` does not continue.
    """
    while True:
        for done in _slice(turns, steps):
            return done
        await turn(turns)


async def in_some_turns(turns: ReactorTurns, steps: Steps[T], slices: int) -> T | None:
    """Return the result of `steps`, run in at most `slices` slices; None if they are not enough."""
    for _ in range(slices):
        for done in _slice(turns, steps):
            return done
        await turn(turns)
    return None


def _slice(turns: ReactorTurns, steps: Steps[T]) -> tuple[T] | tuple[()]:
    """Run one slice of `steps`; return the result in a tuple, which is empty if there is none yet."""
    end = turns.end()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return (done.value,)
        if turns.seconds() >= end:
            return ()


def turn(turns: ReactorTurns) -> Deferred[None]:
    """Wait for one of the next turns."""
    waiting: Deferred[None] = Deferred()
    turns.later(lambda: None if waiting.called else waiting.callback(None))
    return waiting


def begun(turns: ReactorTurns, parts: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """Return the body made of `parts`: whole if that takes no longer than a slice, else in parts made on demand.

    Each of these parts takes no longer than a slice and has about PART_BYTES at most, as long as the given ones do.
    """
    end = turns.end()
    made: list[bytes] = []
    size = 0
    for part in parts:
        made.append(part)
        size += len(part)
        if size > COMPLETE_BYTES or turns.seconds() >= end:
            turns.spent()
            return chain([b"".join(made)], _paced(turns, parts))
    return b"".join(made)


def _paced(turns: ReactorTurns, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `parts`, joined slice by slice."""
    made: list[bytes] = []
    size = 0
    end = turns.end()
    for part in parts:
        made.append(part)
        size += len(part)
        if size >= PART_BYTES or turns.seconds() >= end:
            turns.spent()
            yield b"".join(made)
            made, size, end = [], 0, turns.end()
    if made:
        yield b"".join(made)
