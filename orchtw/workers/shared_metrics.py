"""Metrics of all processes, and actions that all of them take, such as a change of verbosity."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.errors import StatusError
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.exposition import parts
from orchtw.metrics.registry import Registry
from orchtw.metrics.several import labelled

Ask = Callable[[bytes], Deferred[bytes]]
"""Puts a question to one other process."""

_ALL, _OWN = b"all", b"own"
_OPEN: Final = b"+"
_DO, _DO_ALL = b"do ", b"do-all "
_RESET, _LEVEL = b"reset", b"v="
_BETWEEN: Final = b"\0"


class MetricsExchange:
    """Exchange of one process with number `worker`. `owner` asks the owner, which itself has `others` instead.

    `registry` has what this process shows, from the moment at which it is there; `verbosity` is that of its log.
    """

    _log = Logger()

    def __init__(self, worker: int, reactor: Any, owner: Ask | None = None) -> None:
        self._worker = worker
        self._reactor = reactor
        self._owner = owner
        self.others: Callable[[], Sequence[Ask]] = tuple
        self.registry: Registry | None = None
        self.verbosity: Verbosity | None = None

    async def answer(self, question: bytes) -> bytes:
        """Answer a question of another process."""
        if question.startswith(_DO_ALL):
            await self._everywhere(question.removeprefix(_DO_ALL))
            return b""
        if question.startswith(_DO):
            self._do(question.removeprefix(_DO))
            return b""
        what, open_metrics = question.removesuffix(_OPEN), question.endswith(_OPEN)
        if what == _ALL:
            return _BETWEEN.join(await self.texts(open_metrics))
        return await self._own(open_metrics)

    async def texts(self, open_metrics: bool) -> Sequence[bytes]:
        """Return the metrics of every process that answers, the owner's first."""
        form = _OPEN if open_metrics else b""
        if self._owner is not None:
            return (await self._owner(_ALL + form)).split(_BETWEEN)
        asked = [ask(_OWN + form) for ask in self.others()]
        texts = [await self._own(open_metrics)]
        for each in asked:
            if (text := await self._answered(each)) is not None:
                texts.append(text)
        return texts

    async def reset(self) -> None:
        """Let the counts of all processes begin anew."""
        await self._everywhere(_RESET)

    async def set_level(self, level: int) -> None:
        """Let all processes log so much."""
        await self._everywhere(_LEVEL + str(level).encode())

    async def _everywhere(self, order: bytes) -> None:
        if self._owner is not None:
            await self._owner(_DO_ALL + order)
            return
        asked = [ask(_DO + order) for ask in self.others()]
        self._do(order)
        for each in asked:
            await self._answered(each)

    def _do(self, order: bytes) -> None:
        if order == _RESET:
            if self.registry is not None:
                self.registry.reset()
        elif self.verbosity is not None:
            self.verbosity.level = int(order.removeprefix(_LEVEL))

    async def _own(self, open_metrics: bool) -> bytes:
        """Return this process' metrics, made in slices: there may be very many series."""
        found = []
        if self.registry is not None:
            for part in labelled(parts(self.registry.families(), open_metrics=open_metrics), self._worker):
                found.append(part)
                await deferLater(self._reactor, 0)
        return b"".join(found)

    async def _answered(self, answer: Awaitable[bytes]) -> bytes | None:
        try:
            return await answer
        except StatusError as problem:
            self._log.warn("a worker does not respond: {why}", why=problem.message)
            return None
