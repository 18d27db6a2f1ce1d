"""Base of connections that count their memory against the budget of all."""

from __future__ import annotations

import abc
from typing import Any

from orchtw.request import StreamBody
from orchtw.serving.budget import Holding
from orchtw.serving.edge import Edge
from orchtw.serving.limits import FREE_BYTES
from orchtw.serving.response_bodies import Body, lasting


class Counted(abc.ABC):
    """Count of incomplete, queued and served requests, and of unsent responses.

    The bytes are added up whenever they may have passed FREE_BYTES; the vast majority of requests and responses stays
    below it and costs nothing here.
    """

    # All that a connection has is in slots: a dictionary of so many names would take four times their room.
    __slots__ = (
        "_edge",
        "_holding",
        "_known",
        "_part_bytes",
        "_serving_bytes",
        "_stream",
        "_task",
        "transport",
    )

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self.transport: Any = None
        self._known = False
        """True once the client is identified, by its certificate or by a request's head."""
        self._serving_bytes = 0
        """Size of the request that the app is serving."""
        self._part_bytes: int | None = None
        """Memory of the part of a response being sent; None: the unsent bytes count."""
        self._task: Any = None
        self._stream: StreamBody | None = None
        self._holding: Holding | None = None

    def _account(self) -> bool:
        """Count what is held now; False where there is no room for it."""
        counted = self._to_count(self._held_bytes())
        holding = self._holding
        if holding is None:
            if not counted:
                return True
            holding = self._new_holding()
        if not holding.hold(counted):
            return False
        if holding.empty:
            self._release()
        elif self._task is None:
            holding.move()
        return True

    def _to_count(self, size: int) -> int:
        """Return how much of `size` counts."""
        return size if size > FREE_BYTES else 0

    def _held_bytes(self) -> int:
        size = self._received_bytes() + self._serving_bytes
        if self._stream is None:
            size += self.transport.unsent if self._part_bytes is None else self._part_bytes
        return size

    def _new_holding(self) -> Holding:
        self._holding = holding = self._edge.budget.holding(known=self._known, end=self._evicted)
        return holding

    def _keep_part(self, size: int) -> bool:
        """Count the part of an answer that is about to be written; without room the connection ends."""
        self._part_bytes = size
        return self._account_or_abort()

    def _pin(self, body: Body) -> bool:
        """Count the long pieces of an answer instead of its request; False where there is no room."""
        self._serving_bytes = 0
        holding = self._holding or self._new_holding()
        fits = holding.pin(lasting(body))
        if fits:
            holding.move()
        return fits

    def _answered(self) -> bool:
        """Count no more than what is left unsent of an answer; without room the connection ends."""
        self._part_bytes = None
        self._serving_bytes = 0
        if self._holding is not None:
            self._holding.unpin()
        return self._account_or_abort()

    def _account_or_abort(self) -> bool:
        if self._account():
            return True
        self.transport.abortConnection()
        return False

    def _recount(self) -> None:
        """Count anew after the client may have taken something of what was unsent."""
        if self._holding is not None and self._task is None:
            self._account_or_abort()

    def _release(self) -> None:
        """Release everything that is held."""
        holding, self._holding = self._holding, None
        if holding is not None:
            holding.release()

    @abc.abstractmethod
    def _received_bytes(self) -> int:
        """Return about how many bytes incomplete and queued requests hold."""

    @abc.abstractmethod
    def _evicted(self) -> None:
        """Release everything that is held, to make room for others."""
