"""Audit stage of authenticated requests (reference AUDIT-2)."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from twisted.internet.defer import CancelledError

from orchtw.audit.auditor import Auditor, Record
from orchtw.audit.bodies import Copied, whole_body
from orchtw.audit.equal_requests import EqualRequests
from orchtw.audit.policy import COMPLETE, NONE, PANIC, RECEIVED, REQUEST_RESPONSE, STARTED, PolicyOutcome
from orchtw.audit.sink import Stored
from orchtw.errors import InternalError, StatusError, Timeout, TooManyRequests
from orchtw.filters.chain import Proceed
from orchtw.filters.first_step import READS, Resumed
from orchtw.filters.plain_errors import internal_server_error
from orchtw.filters.plan import AS_IT_IS, Part, Passage, Short
from orchtw.filters.request_log import LONGEST
from orchtw.request import Ending, Request, Response, is_short
from orchtw.rules.long_running import long_running

_CLOSED_EARLY: Final = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}


class AuditStage:
    """Audit of authenticated requests: their stages from RequestReceived to ResponseComplete or Panic."""

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, audited; at level None only the policy is evaluated."""
        outcome = self._auditor.outcome(request)
        return proceed(request) if outcome.level == NONE else self._recorded(request, outcome, proceed, proceed)

    def _recorded(
        self, request: Request, outcome: PolicyOutcome, proceed: Proceed, whole: Proceed
    ) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, audited; of `whole` if the request has to wait for its first event."""
        auditor = self._auditor
        if (
            request.method in READS
            and auditor.sink.prompt
            and outcome.level < REQUEST_RESPONSE
            and not request.annotations
        ):
            return self._read(request, outcome, proceed)
        return self._audited(request, Record(auditor, request, outcome), proceed, whole)

    def plan(self, request: Request) -> Part | None:
        """Have the events made of what equal requests have in common, if no request waits for them."""
        auditor, info = self._auditor, request.info
        if auditor.policy.by_name or info is None:
            return None
        outcome, levels = auditor.policy.outcome(request.authenticated, info), auditor.counts.levels
        level = outcome.level
        if level == NONE:

            def ignored(_passage: Passage) -> None:
                levels[NONE] += 1

            return Part(passed=ignored)
        if not auditor.sink.prompt or level >= REQUEST_RESPONSE:
            return None
        equal = EqualRequests(auditor, request, outcome)
        tell = equal.tell

        def passed(passage: Passage) -> None:
            levels[level] += 1
            tell(passage.request.audit_id, passage.name, passage.took_s)

        return Part(passed=passed, size=equal.size)

    def shorten(self, request: Request) -> Short:
        """Keep the policy's outcome, unless it may depend on the name."""
        auditor, info, recorded = self._auditor, request.info, self._recorded
        if auditor.policy.by_name or info is None:
            return AS_IT_IS
        outcome, levels = auditor.policy.outcome(request.authenticated, info), auditor.counts.levels
        level = outcome.level

        def count(_request: Request) -> None:
            levels[level] += 1

        if level == NONE:
            return Short(fill=count)
        return Short(
            fill=count,
            around=lambda proceed, whole: partial(recorded, outcome=outcome, proceed=proceed, whole=whole),
        )

    async def _read(self, request: Request, outcome: PolicyOutcome, proceed: Proceed) -> Response:
        # Take the first step by hand. Most reads finish in it: their events are made together and written by one
        # call. For the others, and for errors, the first event is made now: a read has had no visible effect yet.
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

    async def _audited(self, request: Request, record: Record, proceed: Proceed, whole: Proceed) -> Response:
        stored = record.at(RECEIVED)
        if stored is not True:
            if not await self._begins(request, record, stored):
                return self._rejected(request)
            proceed = whole
        request.on_decoded = record.take_decoded
        try:
            return await self._followed(request, record, proceed)
        finally:
            request.on_decoded = None  # breaks the reference cycle

    async def _begins(self, request: Request, record: Record, stored: Stored) -> bool:
        """Wait for the first event; False if it is lost and the request must fail."""
        try:
            return await began(request, stored)
        except CancelledError:
            self._left(request, record)
            raise

    def _left(self, request: Request, record: Record) -> None:
        """Send the last event of a request that was cancelled by its client or its timeout, without waiting."""
        if request.given_up:
            record.refused(Timeout.request())
        elif record.status is None:
            record.status = dict(_CLOSED_EARLY)
        self._auditor.finish(_told(request, record))

    async def _followed(self, request: Request, record: Record, proceed: Proceed) -> Response:
        """Return the response of `proceed` and record the remaining events."""
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
                # Inline: most requests wait for nothing, and a coroutine would cost them.
                await _settled(self._auditor, request, stored)
        except CancelledError:
            self._left(request, record)
            response.drop(Ending.CLIENT_GONE)
            raise
        return response

    def _rejected(self, request: Request) -> Response:
        """Return the 500 of mode blocking-strict (reference AUDIT-11)."""
        self._auditor.counts.rejected += 1
        return internal_server_error(request, "failed to store audit event")

    async def _ended(self, request: Request, record: Record) -> None:
        """Record the last events of a complete response or an error."""
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
        """Record a long response to a read when it ends: until then it may still become a 429."""
        record.answered(response.code)
        if record.wants_answer:
            await record.take_body(whole_body(response), response.content_type)

        def end(ending: Ending) -> None:
            if ending is Ending.NO_ROOM:
                record.refused(TooManyRequests.no_room())
            self._auditor.finish(_complete(record, None, ""))

        response.on_end(end)

    async def _begun(self, request: Request, record: Record, response: Response) -> None:
        """Record the start of a streamed response, and its completion when it ends."""
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
    """Send the remaining events of a cancelled request."""
    if request.method == "PATCH":
        await record.take_patch()
    if _runs_long(request):
        record.at(STARTED)
    record.at(COMPLETE)


async def began(request: Request, stored: Stored) -> bool:
    """Wait until the first event is stored; report whether it is. Until then a write can be cancelled like a read.

    A request that the server sheds (`given_up`) does not wait.
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
    """Wait until an event is stored, but not past the request's deadline."""
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
        del problem  # breaks the reference cycle through its traceback


def _is_simple(request: Request, response: Response) -> bool:
    """Report whether a read has a short, complete response, and events without annotations."""
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

