"""What the processes ask each other beside the store: the metrics of all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.errors import StatusError

ALL: Final = b"all"
OWN: Final = b"own"
_PLAIN, _OPEN = b"0", b"1"

Own = Callable[[bool], Iterable[bytes]]
"""A process' own metrics as text; whether in the open form."""


class Exchange:
    """One process' side. `ask` puts a question to the owner; the owner itself has `others` instead."""

    _log = Logger()

    def __init__(self, ask: Callable[[bytes], Deferred[bytes]] | None = None) -> None:
        self._ask = ask
        self.others: Callable[[], Sequence[Callable[[bytes], Deferred[bytes]]]] = tuple
        self.own: Own = _none

    async def answer(self, question: bytes) -> bytes:
        """What another process asks."""
        what, open_metrics = question[:-1], question[-1:] == _OPEN
        texts = await self.texts(open_metrics) if what == ALL else [b"".join(self.own(open_metrics))]
        return b"\0".join(texts)

    async def texts(self, open_metrics: bool) -> list[bytes]:
        """The metrics of every process that answers, the owner's first."""
        form = _OPEN if open_metrics else _PLAIN
        if self._ask is not None:
            return (await self._ask(ALL + form)).split(b"\0")
        asked = [ask(OWN + form) for ask in self.others()]
        texts = [b"".join(self.own(open_metrics))]
        for each in asked:
            if (text := await self._text(each)) is not None:
                texts.append(text)
        return texts

    async def _text(self, answer: Awaitable[bytes]) -> bytes | None:
        try:
            return await answer
        except StatusError as problem:
            self._log.warn("a worker's metrics are missing: {why}", why=problem.message)
            return None


def _none(open_metrics: bool) -> Iterable[bytes]:
    return ()
