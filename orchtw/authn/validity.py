"""Time for which answers about credentials hold: what methods and sources of tokens say of it to plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, runtime_checkable

import msgspec

from orchtw.request import Request


class Validity(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Answer of a method to equal credentials, as long as all of `stands` report that it still holds.

    `known`: it knows their user; if not, they are not of its kind. `used` count one more use of them.
    """

    known: bool
    stands: tuple[Callable[[], bool], ...] = ()
    used: tuple[Callable[[], None], ...] = ()


FOREIGN: Final = Validity(known=False)
"""The credentials are of another kind, which no change of anything makes different."""


@runtime_checkable
class Lasting(Protocol):
    """A method that can be asked about a request that it has just authenticated, which shows its credentials."""

    def lasts(self, request: Request) -> Validity | None:
        """Return for how long the answer holds; None: it has to be asked each time."""


@runtime_checkable
class LastingPlainTokens(Protocol):
    """The same for a source of tokens that are meant for this API alone."""

    def lasts(self, token: str) -> Validity | None:
        """Return for how long the answer holds; None: it has to be asked each time."""


def together(answers: Iterable[Validity | None]) -> Validity | None:
    """Return the joint answer of those that are asked in order, up to the first that knows the user.

    None: one of them has to be asked each time.
    """
    stands: list[Callable[[], bool]] = []
    for answer in answers:
        if answer is None:
            return None
        stands += answer.stands
        if answer.known:
            return msgspec.structs.replace(answer, stands=tuple(stands))
    return Validity(known=False, stands=tuple(stands))
