"""Owner's side of a scan: each page is read and sent when the worker asks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import cast

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Malformed
from orchtw.storage.remote.messages import NUMBER, MessageKind
from orchtw.storage.store import Page

Pages = AsyncGenerator[Page, None]


class _Scan(msgspec.Struct, eq=False):
    pages: Pages
    busy: bool = False
    left: bool = False


class Scans:
    """Scans of one worker, by the number of their request. `send` sends it a message.

    Pages are PAGE messages, the end is DONE. A worker asks for the next page when it has the one before, so at most
    one page of a scan is in transit.
    """

    _log = Logger()

    def __init__(self, scan: Callable[..., AsyncIterator[Page]], send: Callable[..., None]) -> None:
        self._scan = scan
        self._send = send
        self._scans: dict[int, _Scan] = {}

    def begin(self, data: bytes) -> None:
        """Begin a scan of a prefix and send the first page."""
        number, prefix, revision = messages.read_get(data)
        pages = cast(Pages, self._scan(prefix, revision=revision))
        scan = self._scans[number] = _Scan(pages)
        self._start(number, scan)

    def proceed(self, data: bytes) -> None:
        """Send the next page of a scan, or its end."""
        number = messages.read_number(data)
        scan = self._scans.get(number)
        if scan is None:
            raise Malformed(f"no scan has the number {number}")
        self._start(number, scan)

    def leave(self, data: bytes) -> None:
        """End a scan that the worker no longer wants; it may have ended already."""
        self._leave(messages.read_number(data))

    def leave_all(self) -> None:
        """End all scans: the worker has gone."""
        for number in tuple(self._scans):
            self._leave(number)

    def _leave(self, number: int) -> None:
        scan = self._scans.pop(number, None)
        if scan is None:
            return
        scan.left = True
        if not scan.busy:
            self._close(scan)

    def _start(self, number: int, scan: _Scan) -> None:
        if scan.busy:
            raise Malformed(f"a page of scan {number} was requested before the last one was sent")
        scan.busy = True
        Deferred.fromCoroutine(self._next(number, scan))

    async def _next(self, number: int, scan: _Scan) -> None:
        """Send a page, or the end, even if the worker has left the scan meanwhile."""
        try:
            page = await scan.pages.__anext__()
        except StopAsyncIteration:
            self._scans.pop(number, None)
            self._send(MessageKind.DONE, NUMBER.pack(number))
        except Exception as problem:  # noqa: BLE001 - the worker is told, whatever it is
            self._scans.pop(number, None)
            self._send(MessageKind.FAILED, messages.failed(number, problem))
        else:
            for part in messages.page(number, page):
                self._send(MessageKind.PAGE, part)
        scan.busy = False
        if scan.left:
            self._close(scan)

    def _close(self, scan: _Scan) -> None:
        closing = Deferred.fromCoroutine(scan.pages.aclose())
        closing.addErrback(lambda failure: self._log.failure("a scan could not be closed", failure))
