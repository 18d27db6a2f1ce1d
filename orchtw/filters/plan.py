"""Contract of plans: what a stage remembers of a request for the next one that is equal to it but for its name.

There are two kinds. A *plan* answers a get without a stage or a handler (`plans`). A *short line* leads any other
request to its verb past the stages that would find the same out again (`short_lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from orchtw.filters.chain import Proceed
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


Fill = Callable[[Request], None]
Around = Callable[[Proceed, Proceed], Proceed]
"""Returns a stage's `handle` with its findings at hand, around the rest of the short line and that of the whole line.

It must take the latter once it has waited: what the former was made from may have changed by then.
"""


class Short(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A stage's part of a short line, which takes the place of its `handle`.

    `stands` are those of `Part`. `fill` puts the stage's findings into the request and counts what the stage counts;
    `around` makes a shorter `handle`. A part with neither leaves the stage out. `size` is in bytes, of texts that
    only this part holds.
    """

    stands: Sequence[Look] = ()
    fill: Fill | None = None
    around: Around | None = None
    size: int = 0


LEFT_OUT: Final = Short()
"""Part of a stage that does nothing for such requests."""

AS_IT_IS: Final = Short()
"""Part of a stage that has to look at each of such requests: its `handle` stands in the short line."""


@runtime_checkable
class Shortening(Protocol):
    """A stage that can shorten its way. Others stand in short lines as they are."""

    def shorten(self, request: Request) -> Short | None:
        """Return the stage's part of the short line of requests that differ from this one only by name and body.

        None: they cannot have one. The request has passed all stages without waiting and is about to be handled. It
        has the headers that it came with; otherwise it is as the stages have left it.
        """
