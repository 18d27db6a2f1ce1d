"""Wait of a definition's writer until the controller has decided on the change (CRD-65)."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

LIMIT_S: Final = 10.0
"""Seconds after which a change is answered in any case: it is stored, and a kind with very many objects takes
long.
"""

_Waiting = tuple[int, Deferred[None]]
"""Generation that a writer waits for."""


class Acknowledging:
    """Latest generation of each definition, by uid, that the controller has finished with."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._settled: dict[str, int] = {}
        self._waiting: dict[str, list[_Waiting]] = {}
        self._stopped = False

    async def settled(self, uid: str, generation: int) -> None:
        """Return when a definition has been looked at in that generation or a later one, or LIMIT_S have passed."""
        if self._stopped or self._settled.get(uid, 0) >= generation:
            return
        done: Deferred[None] = Deferred()
        waiting = generation, done
        self._waiting.setdefault(uid, []).append(waiting)
        limit = self._clock.callLater(LIMIT_S, done.callback, None)
        try:
            await done
        finally:
            if limit.active():
                limit.cancel()
            self._leave(uid, waiting)

    def settle(self, uid: str, generation: int) -> None:
        """Note that a definition has been processed in that generation."""
        self._settled[uid] = generation
        for needed, done in tuple(self._waiting.get(uid, ())):
            if needed <= generation and not done.called:
                done.callback(None)

    def forget(self, uid: str) -> None:
        """Forget a deleted definition."""
        self._settled.pop(uid, None)
        self._release(uid)

    def stop(self) -> None:
        """Let nobody wait any longer."""
        self._stopped = True
        for uid in tuple(self._waiting):
            self._release(uid)

    def _release(self, uid: str) -> None:
        for _, done in tuple(self._waiting.get(uid, ())):
            if not done.called:
                done.callback(None)

    def _leave(self, uid: str, waiting: _Waiting) -> None:
        others = self._waiting.get(uid, [])
        if waiting in others:
            others.remove(waiting)
        if not others:
            self._waiting.pop(uid, None)
