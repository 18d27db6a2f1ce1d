"""Other servers, as `Backends` would ask them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.outbound.exchange import Head, Headers
from orchtw.registry.aggregation.backends import Answer, NoAnswer
from orchtw.registry.aggregation.services import Backend
from orchtw.request import UserInfo


def answer(code: int = 200, body: bytes = b"", **headers: str) -> Answer:
    """An answer."""
    return Answer(head=Head(code=code, headers=list(headers.items())), body=body)


class Servers:
    """Answers by path: with an answer, with NoAnswer for a text, or with what a Deferred will have."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | str | Deferred[Answer] | Callable[[Headers], Answer]] = {}
        self.asked: list[tuple[str, str]] = []

    async def get(
        self, backend: Backend, path: str, user: UserInfo, *, headers: Headers = (), timeout_s: float, limit: int = 0
    ) -> Answer:
        self.asked.append((path, user.name))
        found: Any = self.answers.get(path, answer(404))
        if callable(found):
            found = found(headers)
        if isinstance(found, str):
            raise NoAnswer(found)
        return await found if isinstance(found, Deferred) else found
