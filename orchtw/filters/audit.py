"""The stages that write down who asked for what, and what came of it (reference AUDIT-2, AUDIT-5)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from twisted.internet.defer import CancelledError

from orchtw.audit.auditor import Auditor, Record
from orchtw.audit.bodies import Copied, whole_body
from orchtw.audit.policy import COMPLETE, NONE, PANIC, RECEIVED, REQUEST_RESPONSE, STARTED, PolicyOutcome
from orchtw.audit.senders import attempts
from orchtw.audit.sink import Stored
from orchtw.errors import BadRequest, InternalError, StatusError, Timeout, TooManyRequests, Unauthorized
from orchtw.filters.chain import Proceed
from orchtw.filters.first_step import READS, Resumed
from orchtw.filters.plain_errors import internal_server_error
from orchtw.filters.request_log import LONGEST
from orchtw.request import Ending, Request, Response, is_short
from orchtw.rules.long_running import long_running
from orchtw.rules.request_info import parse

_CLOSED_EARLY: Final = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}


class RefusedRequests:
    """Audit of requests that are refused by their head: wrong credentials, a malformed `timeout`.

    Of such a request there is one event. It also notes when requests came.
    """

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor
        self._seconds = auditor.seconds

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, with its events."""
        request.received_s = self._seconds()
        try:
            answer = proceed(request)
        except (Unauthorized, BadRequest) as error:
            if request.authenticated is None:
                return self._refuse(request, error)
            raise
        return answer if request.authenticated is not None else self._watch(request, answer)

    async def _watch(self, request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
        try:
            return await answer
        except (Unauthorized, BadRequest) as error:
            if request.authenticated is None:
                return await self._refuse(request, error)
            raise

    async def _refuse(self, request: Request, error: StatusError) -> Response:
        if request.info is None:
            request.info = parse(request.method, request.path, request.params)
        record = self._auditor.begin(request)
        if record is not None:
            message = attempts(request) if isinstance(error, Unauthorized) else error.message
            record.status = {"metadata": {}, "message": message, "code": error.code}
            await _began(request, record.at(STARTED))
        raise error


class AuditStage:
    """Wraps what authenticated requests are answered with."""

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, audited; an ignored request costs no more than the policy's rules."""
        auditor = self._auditor
        outcome = auditor.outcome(request)
        if outcome.level == NONE:
            return proceed(request)
        if (
            request.method in READS
            and auditor.sink.prompt
            and outcome.level < REQUEST_RESPONSE
            and not request.annotations
        ):
            return self._read(request, outcome, proceed)
        return self._audited(request, Record(auditor, request, outcome), proceed)

    async def _read(self, request: Request, outcome: PolicyOutcome, proceed: Proceed) -> Response:
        # It takes the first step itself. Most reads end in it: their events are made together, and written by one
        # call. Of the others, and of refusals, the first event is made now: nothing has been done that others see.
        rest: Any
        try:
            answer = proceed(request)
            waiting = answer.send(None)
        except StopIteration as done:
            response: Response = done.value
            if _is_simple(request, response):
                self._auditor.all_at_once(request, outcome, response.code)
                return response
            rest = _given(response)
        except Exception as problem:
            rest = _raised(problem)
        else:
            rest = Resumed(answer, waiting)
        record = Record(self._auditor, request, outcome, annotated=False)
        record.at(RECEIVED)
        return await self._followed(request, record, lambda _request: rest)

    async def _audited(self, request: Request, record: Record, proceed: Proceed) -> Response:
        stored = record.at(RECEIVED)
        if stored is not True and not await self._begins(request, record, stored):
            return self._rejected(request)
        request.on_decoded = record.take_decoded
        try:
            return await self._followed(request, record, proceed)
        finally:
            request.on_decoded = None  # it leads back here: requests leave no reference cycles

    async def _begins(self, request: Request, record: Record, stored: Stored) -> bool:
        """Report whether the first event is stored, as far as the request depends on it."""
        try:
            return await _began(request, stored)
        except CancelledError:
            self._left(request, record)
            raise

    def _left(self, request: Request, record: Record) -> None:
        """Send the last event of a request whose client has left, or whose time is over; nobody waits for that."""
        if request.given_up:
            record.refused(Timeout.request())
        elif record.status is None:
            record.status = dict(_CLOSED_EARLY)
        self._auditor.finish(_told(request, record))

    async def _followed(self, request: Request, record: Record, proceed: Proceed) -> Response:
        """The rest of a request whose first event is written."""
        try:
            response = await proceed(request)
        except (StatusError, MemoryError) as error:
            record.refused(error if isinstance(error, StatusError) else InternalError.no_memory())
            await self._ended(request, record)
            raise
        except CancelledError:
            self._left(request, record)
            raise
        except Exception as error:
            why = f"APIServer panic'd: {str(error)[:LONGEST]}"
            record.status = {
                "metadata": {}, "status": "Failure", "message": why, "reason": "InternalError", "code": 500
            }
            await _settled(self._auditor, request, record.at(PANIC))
            raise
        try:
            if response.stream is not None or response.parts is not None or response.upgrade is not None:
                await self._begun(request, record, response)
                return response
            if request.method in READS and not (is_short(response) or _runs_long(request)):
                await self._long(record, response)
                return response
            body = response.body
            record.answered(response.code, body if isinstance(body, bytes) else None, response.content_type)
            if record.wants_answer or request.method == "PATCH" or _runs_long(request):
                await self._answered(request, record, response)
            elif (stored := record.at(COMPLETE)) is not True:
                # Here rather than in a coroutine of its own: most requests wait for nothing.
                await _settled(self._auditor, request, stored)
        except CancelledError:
            self._left(request, record)
            response.drop(Ending.CLIENT_GONE)
            raise
        return response

    def _rejected(self, request: Request) -> Response:
        """The 500 of mode blocking-strict (reference AUDIT-11)."""
        self._auditor.counts.rejected += 1
        return internal_server_error(request, "failed to store audit event")

    async def _ended(self, request: Request, record: Record) -> None:
        """The events of an answer of which all is known."""
        try:
            if request.method == "PATCH":
                await record.take_patch()
            if _runs_long(request):
                await _settled(self._auditor, request, record.at(STARTED))
            await _settled(self._auditor, request, record.at(COMPLETE))
        except CancelledError:
            self._left(request, record)
            raise

    async def _answered(self, request: Request, record: Record, response: Response) -> None:
        if record.wants_answer and not _runs_long(request):
            await record.take_body(whole_body(response), response.content_type)
        await self._ended(request, record)

    async def _long(self, record: Record, response: Response) -> None:
        """A long answer to a read, in whose place there may be a refusal: what came of it is known when it ends."""
        record.answered(response.code)
        if record.wants_answer:
            await record.take_body(whole_body(response), response.content_type)

        def end(ending: Ending) -> None:
            if ending is Ending.NO_ROOM:
                record.refused(TooManyRequests.no_room())
            self._auditor.finish(_complete(record, None, ""))

        response.on_end(end)

    async def _begun(self, request: Request, record: Record, response: Response) -> None:
        """An answer that comes over time: it is complete when it ends."""
        record.answered(response.code)
        if request.method == "PATCH":
            await record.take_patch()
        if _runs_long(request):
            await _settled(self._auditor, request, record.at(STARTED))
        copied: Copied | None = None
        if record.wants_answer and response.parts is not None:
            copied = Copied(response.parts)
            response.parts = iter(copied)

        content_type = response.content_type

        def end(_ending: Ending) -> None:
            self._auditor.finish(_complete(record, copied, content_type))

        response.on_end(end)


async def _complete(record: Record, copied: Copied | None, content_type: str) -> None:
    if copied is not None:
        await record.take_body(None if copied.pieces is None else b"".join(copied.pieces), content_type)
    record.at(COMPLETE)


async def _told(request: Request, record: Record) -> None:
    """Send what is left of the events of a request that nobody waits for."""
    if request.method == "PATCH":
        await record.take_patch()
    if _runs_long(request):
        record.at(STARTED)
    record.at(COMPLETE)


async def _began(request: Request, stored: Stored) -> bool:
    """Wait until the first event is stored. Until then nothing is done, so that a write can be cancelled like a read.

    A request that the server refuses to defend itself does not wait for it.
    """
    if isinstance(stored, bool):
        return stored
    if request.given_up:
        return True
    request.queued = True
    try:
        return await stored
    finally:
        request.queued = False


async def _settled(auditor: Auditor, request: Request, stored: Stored) -> None:
    """Wait until an event is where it belongs, but no longer than somebody waits for the answer."""
    if isinstance(stored, bool) or request.given_up:
        return
    if request.ends_at_s is not None:
        left_s = max(request.ends_at_s - auditor.clock.seconds(), 0.0)
        stored.addTimeout(left_s, auditor.clock, onTimeoutCancel=lambda *_: False)
    await stored


async def _given(response: Response) -> Response:
    return response


async def _raised(problem: Exception) -> Response:
    try:
        raise problem
    finally:
        del problem  # its traceback leads here: requests leave no reference cycles


def _is_simple(request: Request, response: Response) -> bool:
    """Report whether a read has a complete response, and events without rare fields."""
    return (
        is_short(response)
        and response.upgrade is None
        and not request.annotations
        and not request.detailed_annotations
        and not _runs_long(request)
    )


def _runs_long(request: Request) -> bool:
    """Report whether the request is long-running, whatever its outcome (reference LIMIT-3)."""
    return request.info is not None and long_running(request.info)

