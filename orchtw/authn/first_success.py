"""Search for the first of several sources that authenticates a user (reference AUTHN-3, AUTHN-8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from orchtw.errors import Unauthorized
from orchtw.request import UserInfo

Question = TypeVar("Question")
Answer = UserInfo | None | Awaitable[UserInfo | None]
"""A user; None if the credentials are not the source's; an awaitable if another process must be called."""


def first_success(
    sources: Sequence[Callable[[Question], Answer]], question: Question, reasons: list[str]
) -> UserInfo | None | Awaitable[UserInfo | None]:
    """Return the user of the first source that finds one; None if no source does.

    Sources are tried in order; the result is an awaitable if the search reaches a source that returns one. A
    rejection (Unauthorized) does not stop the search; its text is appended to `reasons`.
    """
    for index, ask in enumerate(sources):
        try:
            found = ask(question)
        except Unauthorized as refusal:
            reasons.append(refusal.why)
            continue
        if isinstance(found, UserInfo):
            return found
        if found is not None:
            return _go_on(found, sources[index + 1 :], question, reasons)
    return None


async def _go_on(
    waiting: Awaitable[UserInfo | None],
    sources: Sequence[Callable[[Question], Answer]],
    question: Question,
    reasons: list[str],
) -> UserInfo | None:
    """Await a source's answer, and try the remaining sources if it is not a user."""
    try:
        found = await waiting
    except Unauthorized as refusal:
        reasons.append(refusal.why)
        found = None
    if found is not None:
        return found
    rest = first_success(sources, question, reasons)
    return rest if rest is None or isinstance(rest, UserInfo) else await rest
