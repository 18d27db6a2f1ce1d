"""Decides which requests are audited, and keeps the record of each while it is served (reference AUDIT-1)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.audit.bodies import as_json, may_be_status, object_json, parsed, patch_json
from orchtw.audit.counts import Counts
from orchtw.audit.event import TRUNCATED, Event, shown, stamp
from orchtw.audit.known import Known, completed, named, reference, remember
from orchtw.audit.policy import (
    COMPLETE,
    LEVELS,
    NONE,
    RECEIVED,
    REQUEST,
    REQUEST_RESPONSE,
    AuditPolicy,
    PolicyOutcome,
)
from orchtw.audit.policy_file import GROUP
from orchtw.audit.sink import AuditSink, Stored
from orchtw.errors import StatusError, TooManyRequests
from orchtw.naming.names import Naming
from orchtw.registry.offload import Offload
from orchtw.request import Decided, Request
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object

_LEADS: Final = tuple(f'{{"level":"{level}","auditID":' for level in LEVELS)
_STATUS: Final = ("status", "message", "reason", "details", "code")
_SUCCESSES: Final = {code: f',"responseStatus":{{"metadata":{{}},"code":{code}}}' for code in (200, 201, 202)}
_CODE_ONLY: Final = 2

_DELETES: Final = ("delete", "deletecollection")
_log = Logger()


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Auditor:
    """The policy, where events go, and what they are made with. `seconds` is the time since the epoch, `clock` the
    reactor's.
    """

    policy: AuditPolicy
    sink: AuditSink
    counts: Counts
    naming: Naming
    codecs: Codecs
    offload: Offload
    seconds: Callable[[], float]
    clock: IReactorTime
    decisions: dict[tuple[bool | None, str], str] = attrs.field(factory=dict, init=False)
    """What events say of them, as JSON; there are as many as bindings that are used."""
    known: Known = attrs.field(factory=Known, init=False)
    _finishing: set[Deferred[None]] = attrs.field(factory=set, init=False)

    def outcome(self, request: Request) -> PolicyOutcome:
        """Return the policy's outcome for a request, and count it."""
        assert request.info is not None
        outcome = self.policy.outcome(request.authenticated, request.info)
        self.counts.levels[outcome.level] += 1
        return outcome

    def begin(self, request: Request) -> Record | None:
        """The record of a request whose sender is known as far as it ever will be; None: it leaves none."""
        outcome = self.outcome(request)
        return None if outcome.level == NONE else Record(self, request, outcome)

    def all_at_once(self, request: Request, outcome: PolicyOutcome, code: int) -> None:
        """Send the events of a request that has been answered without waiting for anything, and has no annotations
        of its own: as a `Record` would make them, in a third of the time. The sink is a prompt one.
        """
        known, decision, omitted, seconds = self.known, request.decision, outcome.omit_stages, self.seconds
        received, acting, annotations = stamp(request.received_s), "", ""
        lead = f'{_LEADS[outcome.level]}"{request.audit_id}","stage":"'
        asked, rest = known.asked(request), f"{known.sender(request)}{named(reference(request))}"
        if request.user is not request.authenticated:
            acting = f',"impersonatedUser":{known.user(request.user)}'
        if decision is not None:
            annotations = self.decided(decision)
        events = []
        if RECEIVED not in omitted:
            text = (
                f'{lead}{RECEIVED}",{asked}{rest},"requestReceivedTimestamp":"{received}",'
                f'"stageTimestamp":"{received}"}}'
            )
            events.append(Event(text.encode(), outcome.level))
        if COMPLETE not in omitted:
            text = (
                f'{lead}{COMPLETE}",{asked}{acting}{rest},"responseStatus":{{"metadata":{{}},"code":{code}}},'
                f'"requestReceivedTimestamp":"{received}","stageTimestamp":"{stamp(seconds())}"{annotations}}}'
            )
            events.append(Event(text.encode(), outcome.level))
        self.counts.events += len(events)
        self.sink.process(*events)

    def decided(self, decision: Decided) -> str:
        """The annotations where there are no others: the same texts again and again."""
        known, key = self.decisions, (decision.allowed, decision.reason)
        found = known.get(key)
        if found is None:
            found = f',"annotations":{shown(self.explained(decision))}'
            remember(known, key, found, len(found))
        return found

    def explained(self, decision: Decided) -> dict[str, str]:
        """The annotations that say whether a request was allowed, and why."""
        return {
            self.naming.decision_annotation: "allow" if decision.allowed else "forbid",
            self.naming.reason_annotation: decision.reason,
        }

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Have the last event of an answer made that has been sent; `stop` waits for it."""
        finishing = Deferred.fromCoroutine(work)
        if finishing.called:
            finishing.addErrback(_failed)
            return
        self._finishing.add(finishing)

        def ended(_result: None) -> None:
            self._finishing.discard(finishing)

        finishing.addErrback(_failed).addCallback(ended)

    def start(self) -> None:
        """Start the threads of the backends."""
        self.sink.start()

    async def stop(self) -> None:
        """Bring all events to where they belong; the last request has been answered."""
        if self._finishing:
            await gatherResults(list(self._finishing))
        await self.sink.stop()


def _failed(failure: Failure) -> None:
    _log.failure("an audit event could not be made", failure=failure)


class Record:
    """Audit record of one request, from which an event is made at each stage."""

    __slots__ = (
        "_asked",
        "_annotated",
        "_auditor",
        "_lead",
        "_named",
        "_object",
        "_outcome",
        "_received",
        "_request",
        "_request_object",
        "_response_object",
        "_sender",
        "_sent",
        "_truncated",
        "status",
        "wants_answer",
    )

    def __init__(self, auditor: Auditor, request: Request, outcome: PolicyOutcome, *, annotated: bool = True) -> None:
        """Begin it. Annotations that the request has now are not those that it came with if it is not `annotated`."""
        self._auditor = auditor
        self._request = request
        self._outcome = outcome
        self._lead = _LEADS[outcome.level] + shown(request.audit_id)
        self._received = stamp(request.received_s or auditor.seconds())
        # Noted now: stages behind this one change headers and users.
        known = auditor.known
        self._asked = known.asked(request)
        self._sender = known.sender(request)
        self._annotated = f',"annotations":{shown(request.annotations)}' if annotated and request.annotations else ""
        self._object = reference(request)
        self._named = named(self._object)
        self._request_object = self._response_object = b""
        self._truncated = False
        self._sent: tuple[str, ...] = ()
        self.status: Object | None = None
        """`responseStatus`, once it is known."""
        self.wants_answer = outcome.level >= REQUEST_RESPONSE
        """Whether the event holds what is answered."""

    def at(self, stage: str) -> Stored:
        """Send the event of a stage once, unless the policy omits it."""
        if stage in self._sent or stage in self._outcome.omit_stages:
            return True
        self._sent += (stage,)
        if stage is RECEIVED:
            return self._send(self._received_text())
        return self._send(self._json(stage))

    def _send(self, text: bytes) -> Stored:
        auditor = self._auditor
        auditor.counts.events += 1
        return auditor.sink.process(Event(text, self._outcome.level))

    def _received_text(self) -> bytes:
        """The first event: nothing has come of the request yet."""
        received = self._received
        return (
            f'{self._lead},"stage":"{RECEIVED}",{self._asked}{self._sender}{self._named},"requestReceivedTimestamp":"{received}",'
            f'"stageTimestamp":"{received}"{self._annotated}}}'
        ).encode()

    def _json(self, stage: str) -> bytes:
        """Any other event, when it is known what is answered."""
        request, auditor, status = self._request, self._auditor, self.status
        assert status is not None
        acting = ""
        if request.user is not request.authenticated:
            acting = f',"impersonatedUser":{auditor.known.user(request.user)}'
        known = _SUCCESSES.get(status["code"]) if len(status) == _CODE_ONLY else None
        if known is None:
            known = f',"responseStatus":{shown(status)}'
        head = f'{self._lead},"stage":"{stage}",{self._asked}{acting}{self._sender}{self._named}{known}'
        times = f',"requestReceivedTimestamp":"{self._received}","stageTimestamp":"{stamp(auditor.seconds())}"'
        annotations = self._annotations_text(request.decision)
        if not (self._request_object or self._response_object):
            return f"{head}{times}{annotations}}}".encode()
        objects = b""
        if self._request_object:
            objects = b',"requestObject":' + self._request_object
        if self._response_object:
            objects += b',"responseObject":' + self._response_object
        return b"%b%b%b" % (head.encode(), objects, f"{times}{annotations}}}".encode())

    def _annotations_text(self, decision: Decided | None) -> str:
        request = self._request
        if request.annotations or request.detailed_annotations or self._truncated:
            found = self._annotations(decision)
            return f',"annotations":{shown(found)}' if found else ""
        return "" if decision is None else self._auditor.decided(decision)

    def _annotations(self, decision: Decided | None) -> dict[str, str]:
        found = dict(self._request.annotations)
        if self._outcome.level >= REQUEST:
            found |= self._request.detailed_annotations
        if decision is not None:
            found |= self._auditor.explained(decision)
        if self._truncated:
            found[f"{self._auditor.naming.group(GROUP)}/{TRUNCATED}"] = "true"
        return found

    # What becomes known on the way

    def take_decoded(self, obj: Object) -> None:
        """The request's object: what it says of itself completes the reference, and it is kept from level Request."""
        meta = obj.get("metadata")
        if self._object is not None and isinstance(meta, dict):
            self._named = named(completed(self._object, meta))
        if self._outcome.level >= REQUEST:
            self._request_object = object_json(obj, managed_fields=not self._outcome.omit_managed_fields) or b""

    async def take_patch(self) -> None:
        """The body of a patch as it was sent, which nobody decodes to an object."""
        request = self._request
        info = request.info
        if self._outcome.level < REQUEST or request.method != "PATCH" or not request.body:
            return
        if info is None or not info.is_resource or request.passed_on:
            return
        self._request_object = await self._worked(len(request.body), lambda: patch_json(request.body)) or b""

    async def take_body(self, body: bytes | None, content_type: str) -> None:
        """The answer's object, at level RequestResponse; None: it is too long, which is noted."""
        if body is None:
            self._truncated = True
        elif body:
            codecs, managed = self._auditor.codecs, not self._outcome.omit_managed_fields
            work: Any = lambda: as_json(body, content_type, codecs, managed_fields=managed)  # noqa: E731
            self._response_object = await self._worked(len(body), work) or b""

    async def _worked(self, size: int, work: Callable[[], bytes | None]) -> bytes | None:
        """Return the result of `work` on so many bytes; None, which is noted, where too much waits for the thread."""
        try:
            return await self._auditor.offload.run(size, work)
        except TooManyRequests:
            self._truncated = True
            return None

    def answered(self, code: int, body: bytes | None = None, content_type: str = "") -> None:
        """The code of the answer; if that is a Status, as deletions have, what it says."""
        info = self._request.info
        if body is not None and info is not None and info.verb in _DELETES and may_be_status(body):
            found = parsed(body, content_type, self._auditor.codecs) or {}
            self.status = _status({**found, "code": code})
        else:
            self.status = {"metadata": {}, "code": code}

    def refused(self, error: StatusError) -> None:
        """The answer will be this Status."""
        status = error.to_status()
        self.status = _status(status)
        if self.wants_answer:
            self._response_object = object_json(status, managed_fields=True) or b""


def _status(found: Object) -> Object:
    return {"metadata": {}, **{name: found[name] for name in _STATUS if found.get(name)}}
