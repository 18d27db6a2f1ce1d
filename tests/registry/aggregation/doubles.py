"""Other servers, as `Backends` would ask them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.outbound.exchange import Headers, ResponseHead
from orchtw.outbound.services import ServiceReference
from orchtw.registry.aggregation.backends import BackendAnswer, NoAnswer
from orchtw.registry.aggregation.services import ServiceBackend
from orchtw.request import UserInfo


def answer(code: int = 200, body: bytes = b"", **headers: str) -> BackendAnswer:
    """Return a canned response."""
    return BackendAnswer(head=ResponseHead(code=code, headers=list(headers.items())), body=body)


class Servers:
    """Answers by path: with an answer, with NoAnswer for a text, or with what a Deferred will have."""

    def __init__(self) -> None:
        self.answers: dict[
            str, BackendAnswer | str | Deferred[BackendAnswer] | Callable[[Headers], BackendAnswer | str]
        ] = {}
        self.asked: list[tuple[str, str]] = []
        self.mapped: set[ServiceReference] = set()

    def is_mapped(self, backend: ServiceBackend) -> bool:
        return backend.service in self.mapped

    async def get(
        self,
        backend: ServiceBackend,
        path: str,
        user: UserInfo,
        *,
        headers: Headers = (),
        timeout_s: float,
        limit: int = 0,
    ) -> BackendAnswer:
        self.asked.append((path, user.name))
        found: Any = self.answers.get(path, answer(404))
        if callable(found):
            found = found(headers)
        if isinstance(found, str):
            raise NoAnswer(found)
        given: BackendAnswer = await found if isinstance(found, Deferred) else found
        return given
