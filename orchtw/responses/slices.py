"""Computations of requests in slices, so that none of them holds the reactor for long."""

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
"""Of a long body: what is made and sent at a time."""

COMPLETE_BYTES: Final = 1 << 20
"""Bodies up to this size that are made within one slice are sent with their length."""


async def in_turns(turns: ReactorTurns, steps: Steps[T]) -> T:
    """The result of `steps`; at once if it is there within a slice. Raises what `steps` raises.

    When the client leaves meanwhile, the wait is cancelled and `steps` goes no further.
    """
    while True:
        for done in _slice(turns, steps):
            return done
        await _turn(turns)


async def in_some_turns(turns: ReactorTurns, steps: Steps[T], slices: int) -> T | None:
    """The same if no more than so many slices lead to it, else None."""
    for _ in range(slices):
        for done in _slice(turns, steps):
            return done
        await _turn(turns)
    return None


def _slice(turns: ReactorTurns, steps: Steps[T]) -> tuple[T] | tuple[()]:
    """One slice of `steps`, and the result if it is there."""
    end = turns.end()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return (done.value,)
        if turns.seconds() >= end:
            return ()


def _turn(turns: ReactorTurns) -> Deferred[None]:
    """Fires in one of the next turns."""
    waiting: Deferred[None] = Deferred()
    turns.later(lambda: None if waiting.called else waiting.callback(None))
    return waiting


def begun(turns: ReactorTurns, parts: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """The body that `parts` make: as a whole if that takes no longer than a slice, else in parts made when asked for.

    Each of these parts takes no longer than a slice and has about PART_BYTES at most, if the given ones do.
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
    """`parts`, as many joined as a slice makes."""
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
