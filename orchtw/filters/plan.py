"""Contract of plans: what a stage remembers of a request for the next one that is equal to it but for its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from orchtw.request import Request, Response


class Passage(msgspec.Struct, eq=False):
    """A request that a plan has answered: its response, and how long that took, in seconds of the reactor's clock."""

    request: Request
    response: Response
    name: str
    size: int
    ended_s: float
    took_s: float


Look = Callable[[], bool]
Passed = Callable[[Passage], None]


class Part(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A stage's part of a plan: what it would find out again, and what it does for each request all the same.

    `stands` report whether what the part was made from is unchanged; once one of them does not, the plan is dropped.
    `free` reports whether the stage lets a request through at once just now; `passed` counts and records one that was
    answered. None: there is nothing to ask, or to do. Before `passed` nothing is changed that others see. `size` is
    in bytes, of texts that only this part holds.
    """

    stands: Sequence[Look] = ()
    free: Look | None = None
    passed: Passed | None = None
    size: int = 0


NOTHING: Final = Part()
"""Part of a stage that does the same for equal requests and has nothing to count."""


@runtime_checkable
class Planning(Protocol):
    """A stage that can offer a part of a plan. Without a part of each stage there is no plan."""

    def plan(self, request: Request) -> Part | None:
        """Return the stage's part of the plan for requests that differ from this one only by name, or None.

        The request has passed the whole line and was answered with 200 at once, without warnings or annotations. It
        has the headers that it came with. Its decision, flow and user are those that the stages have found.
        """
