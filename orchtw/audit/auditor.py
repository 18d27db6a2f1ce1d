"""Auditor of requests, and the record of each while it is served (reference AUDIT-1)."""

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
from orchtw.naming.naming import Naming
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
    """Auditor of requests by a policy, for one sink. `seconds` is the time since the epoch, `clock` the reactor."""

    policy: AuditPolicy
    sink: AuditSink
    counts: Counts
    naming: Naming
    codecs: Codecs
    offload: Offload
    seconds: Callable[[], float]
    clock: IReactorTime
    decisions: dict[tuple[bool | None, str], str] = attrs.field(factory=dict, init=False)
    """Authorization annotations by decision, as JSON; there are as many as bindings in use."""
    known: Known = attrs.field(factory=Known, init=False)
    _finishing: set[Deferred[None]] = attrs.field(factory=set, init=False)

    def outcome(self, request: Request) -> PolicyOutcome:
        """Return the policy's outcome for a request, and count it."""
        assert request.info is not None
        outcome = self.policy.outcome(request.authenticated, request.info)
        self.counts.levels[outcome.level] += 1
        return outcome

    def begin(self, request: Request) -> Record | None:
        """Return the record of an authenticated or rejected request; None if its audit level is None."""
        outcome = self.outcome(request)
        return None if outcome.level == NONE else Record(self, request, outcome)

    def all_at_once(self, request: Request, outcome: PolicyOutcome, code: int) -> None:
        """Send the events of a request that was answered without any wait, and has no annotations of its own.

        They are those of a `Record`, in a third of the time. The sink must be prompt.
        """
        known, decision, seconds = self.known, request.decision, self.seconds
        received, acting, annotations = stamp(request.received_s), "", ""
        lead = f'{_LEADS[outcome.level]}"{request.audit_id}","stage":"'
        asked, rest = known.asked(request), f"{known.sender(request)}{named(reference(request))}"
        if request.user is not request.authenticated:
            acting = f',"impersonatedUser":{known.user(request.user)}'
        if decision is not None:
            annotations = self.decided(decision)
        self.send_both(
            outcome, lead, asked, rest, acting=acting, code=code, received=received, ended=stamp(seconds()),
            annotations=annotations,
        )  # fmt: skip

    def send_both(
        self,
        outcome: PolicyOutcome,
        start: str,
        asked: str,
        rest: str,
        *,
        acting: str = "",
        code: int,
        received: str,
        ended: str,
        annotations: str,
    ) -> None:
        """Send both events of an answered request but for omitted stages; texts are members of the event's JSON."""
        events = []
        if RECEIVED not in outcome.omit_stages:
            text = (
                f'{start}{RECEIVED}",{asked}{rest},"requestReceivedTimestamp":"{received}",'
                f'"stageTimestamp":"{received}"}}'
            )
            events.append(Event(text.encode(), outcome.level))
        if COMPLETE not in outcome.omit_stages:
            text = (
                f'{start}{COMPLETE}",{asked}{acting}{rest},"responseStatus":{{"metadata":{{}},"code":{code}}},'
                f'"requestReceivedTimestamp":"{received}","stageTimestamp":"{ended}"{annotations}}}'
            )
            events.append(Event(text.encode(), outcome.level))
        self.counts.events += len(events)
        self.sink.process(*events)

    def decided(self, decision: Decided) -> str:
        """Return the annotations of events that have no others, from the cache if possible: most decisions recur."""
        known, key = self.decisions, (decision.allowed, decision.reason)
        found = known.get(key)
        if found is None:
            found = f',"annotations":{shown(self.explained(decision))}'
            remember(known, key, found, len(found))
        return found

    def explained(self, decision: Decided) -> dict[str, str]:
        """Return the annotations that say whether a request was allowed, and why."""
        return {
            self.naming.decision_annotation: "allow" if decision.allowed else "forbid",
            self.naming.reason_annotation: decision.reason,
        }

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`, which makes the last event of a response that has been sent; `stop` waits for it."""
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
        """Deliver all events, after the last request has been answered."""
        if self._finishing:
            await gatherResults(list(self._finishing))
        await self.sink.stop()


def _failed(failure: Failure) -> None:
    _log.failure("failed to build an audit event", failure=failure)


def lead(outcome: PolicyOutcome) -> str:
    """Return how events of an outcome begin, up to the audit id."""
    return _LEADS[outcome.level]


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
        """Begin the record, with the request's annotations for its first event.

        With `annotated` False they were added later, and are left out of that event.
        """
        self._auditor = auditor
        self._request = request
        self._outcome = outcome
        self._lead = _LEADS[outcome.level] + shown(request.audit_id)
        self._received = stamp(request.received_s or auditor.seconds())
        # Taken now, since later filters change headers and users.
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
        """The `responseStatus`, once it is known."""
        self.wants_answer = outcome.level >= REQUEST_RESPONSE
        """True if the event records the response."""

    def at(self, stage: str) -> Stored:
        """Send the event of a stage, once, unless the policy omits it."""
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
        """Return the event of stage RequestReceived, which has no response yet."""
        received = self._received
        return (
            f'{self._lead},"stage":"{RECEIVED}",{self._asked}{self._sender}{self._named},"requestReceivedTimestamp":"{received}",'
            f'"stageTimestamp":"{received}"{self._annotated}}}'
        ).encode()

    def _json(self, stage: str) -> bytes:
        """Return the event of a later stage, when `status` is known."""
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

    # Taken while the request is served

    def take_decoded(self, obj: Object) -> None:
        """Take the decoded request object: its names complete objectRef, and it is kept from level Request on."""
        meta = obj.get("metadata")
        if self._object is not None and isinstance(meta, dict):
            self._named = named(completed(self._object, meta))
        if self._outcome.level >= REQUEST:
            self._request_object = object_json(obj, managed_fields=not self._outcome.omit_managed_fields) or b""

    async def take_patch(self) -> None:
        """Take the body of a patch as sent, from level Request on."""
        request = self._request
        info = request.info
        if self._outcome.level < REQUEST or request.method != "PATCH" or not request.body:
            return
        if info is None or not info.is_resource or request.passed_on:
            return
        self._request_object = await self._worked(len(request.body), lambda: patch_json(request.body)) or b""

    async def take_body(self, body: bytes | None, content_type: str) -> None:
        """Take the object in a response, at level RequestResponse.

        A `body` of None is too long, which an annotation will say.
        """
        if body is None:
            self._truncated = True
        elif body:
            codecs, managed = self._auditor.codecs, not self._outcome.omit_managed_fields
            work: Any = lambda: as_json(body, content_type, codecs, managed_fields=managed)  # noqa: E731
            self._response_object = await self._worked(len(body), work) or b""

    async def _worked(self, size: int, work: Callable[[], bytes | None]) -> bytes | None:
        """Return the result of `work` on `size` bytes, or None if too much waits for the thread.

        An annotation will say so.
        """
        try:
            return await self._auditor.offload.run(size, work)
        except TooManyRequests:
            self._truncated = True
            return None

    def answered(self, code: int, body: bytes | None = None, content_type: str = "") -> None:
        """Take the code of the response, and from a deletion's response the rest of its Status."""
        info = self._request.info
        if body is not None and info is not None and info.verb in _DELETES and may_be_status(body):
            found = parsed(body, content_type, self._auditor.codecs) or {}
            self.status = _status({**found, "code": code})
        else:
            self.status = {"metadata": {}, "code": code}

    def refused(self, error: StatusError) -> None:
        """Take the Status of a refusal, which is also the response object."""
        status = error.to_status()
        self.status = _status(status)
        if self.wants_answer:
            self._response_object = object_json(status, managed_fields=True) or b""


def _status(found: Object) -> Object:
    return {"metadata": {}, **{name: found[name] for name in _STATUS if found.get(name)}}
