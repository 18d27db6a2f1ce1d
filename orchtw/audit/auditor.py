"""Decides which requests are audited, and keeps the record of each while it is served (reference AUDIT-1)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.audit.bodies import as_json, may_be_status, object_json, parsed, patch_json
from orchtw.audit.counts import Counts
from orchtw.audit.event import TRUNCATED, Event, stamp, text
from orchtw.audit.known import Known, remember
from orchtw.audit.policy import LEVELS, NONE, RECEIVED, REQUEST, REQUEST_RESPONSE, STAGES, Outcome, Policy
from orchtw.audit.policy_file import GROUP
from orchtw.audit.sink import Sink, Stored
from orchtw.errors import StatusError, TooManyRequests
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.offload import Offload
from orchtw.request import Decided, Request
from orchtw.schema.codec.codecs import Codecs

_LEADS: Final = tuple(f'{{"level":"{level}","auditID":'.encode() for level in LEVELS)
_STAGE_BYTES: Final = {stage: stage.encode() for stage in STAGES}
_STATUS: Final = ("status", "message", "reason", "details", "code")
_SUCCESSES: Final = {code: b',"responseStatus":' + text({"metadata": {}, "code": code}) for code in (200, 201, 202)}
_CODE_ONLY: Final = 2

_DELETES: Final = ("delete", "deletecollection")
_log = Logger()


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Auditor:
    """The policy, where events go, and what they are made with. `seconds` is the time since the epoch."""

    policy: Policy
    sink: Sink
    counts: Counts
    naming: Naming
    codecs: Codecs
    offload: Offload
    seconds: Callable[[], float]
    decisions: dict[tuple[bool | None, str], bytes] = attrs.field(factory=dict, init=False)
    """What events say of them, as JSON; there are as many as bindings that are used."""
    known: Known = attrs.field(factory=Known, init=False)
    _finishing: set[Deferred[None]] = attrs.field(factory=set, init=False)

    def begin(self, request: Request) -> Record | None:
        """The record of a request whose sender is known as far as it ever will be; None: it leaves none."""
        assert request.info is not None
        outcome = self.policy.outcome(request.authenticated, request.info)
        self.counts.levels[outcome.level] += 1
        return None if outcome.level == NONE else Record(self, request, outcome)

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
        """Threads may begin."""
        self.sink.start()

    async def stop(self) -> None:
        """Bring all events to where they belong; the last request has been answered."""
        if self._finishing:
            await gatherResults(list(self._finishing))
        await self.sink.stop()


def _failed(failure: Failure) -> None:
    _log.failure("an audit event could not be made", failure=failure)


class Record:
    """What is known of one request, from which an event is made at each of its stages."""

    __slots__ = (
        "_acting",
        "_asked",
        "_auditor",
        "_common",
        "_lead",
        "_object",
        "_outcome",
        "_received",
        "_request",
        "_request_object",
        "_response_object",
        "_sender",
        "_truncated",
        "status",
        "wants_answer",
    )

    def __init__(self, auditor: Auditor, request: Request, outcome: Outcome) -> None:
        info = request.info
        self._auditor = auditor
        self._request = request
        self._outcome = outcome
        self._lead = _LEADS[outcome.level] + text(request.audit_id)
        self._received = stamp(request.received_s or auditor.seconds())
        # Noted now: stages behind this one change headers and users.
        known = auditor.known
        self._asked = b'"requestURI":%b,"verb":%b,"user":%b' % (
            text(f"{request.path}?{request.query}" if request.query else request.path),
            text(info.verb if info is not None else request.method.lower()),
            known.user(request.authenticated),
        )
        self._sender = known.sender(request)
        self._object = _reference(request)
        self._common: bytes | None = None
        self._acting = request.user
        self._request_object = self._response_object = b""
        self._truncated = False
        self.status: Object | None = None
        """`responseStatus`, once it is known."""
        self.wants_answer = outcome.level >= REQUEST_RESPONSE
        """Whether the event holds what is answered."""

    def at(self, stage: str) -> Stored:
        """Send the event of a stage, unless the policy omits it."""
        if stage in self._outcome.omit_stages:
            return True
        auditor = self._auditor
        auditor.counts.events += 1
        return auditor.sink.process(Event(self._json(stage), self._outcome.level))

    def _json(self, stage: str) -> bytes:
        """The event's text, joined: most of it is the same at each stage, and two stages of each request count."""
        request, common = self._request, self._common
        if common is None or self._acting is not request.user:
            common = self._common = self._described()
        received = self._received
        status = self.status
        if status is None:
            now, known, decision = received if stage is RECEIVED else stamp(self._auditor.seconds()), b"", None
        else:
            # Of a request that is refused by its head, the decision is known before its first event.
            now, known, decision = stamp(self._auditor.seconds()), self._outcome_text(status), request.decision
        annotations = b""
        if request.annotations or request.detailed_annotations or self._truncated:
            found = self._annotations(decision)
            annotations = b',"annotations":' + text(found) if found else b""
        elif decision is not None:
            annotations = self._decision(decision)
        return b'%b,"stage":"%b",%b%b,"requestReceivedTimestamp":"%b","stageTimestamp":"%b"%b}' % (
            self._lead, _STAGE_BYTES[stage], common, known, received, now, annotations
        )

    def _outcome_text(self, status: Object) -> bytes:
        """What came of the request, and the objects that the event holds."""
        known = _SUCCESSES.get(status["code"]) if len(status) == _CODE_ONLY else None
        if known is None:
            known = b',"responseStatus":' + text(status)
        if self._request_object:
            known += b',"requestObject":' + self._request_object
        if self._response_object:
            known += b',"responseObject":' + self._response_object
        return known

    def _described(self) -> bytes:
        """What is the same at all stages as long as neither the user nor the object becomes another."""
        request = self._request
        self._acting = request.user
        acting = b""
        if request.user is not request.authenticated:
            acting = b',"impersonatedUser":' + self._auditor.known.user(request.user)
        named = b"" if self._object is None else b',"objectRef":' + text(self._object)
        return b"%b%b%b%b" % (self._asked, acting, self._sender, named)

    def _decision(self, decision: Decided) -> bytes:
        """The annotations where there are no others: the same texts again and again."""
        known, key = self._auditor.decisions, (decision.allowed, decision.reason)
        found = known.get(key)
        if found is None:
            found = b',"annotations":' + text(self._annotations(decision))
            remember(known, key, found, len(found))
        return found

    def _annotations(self, decision: Decided | None) -> dict[str, str]:
        naming = self._auditor.naming
        found = dict(self._request.annotations)
        if self._outcome.level >= REQUEST:
            found |= self._request.detailed_annotations
        if decision is not None:
            found[naming.decision_annotation] = "allow" if decision.allowed else "forbid"
            found[naming.reason_annotation] = decision.reason
        if self._truncated:
            found[f"{naming.group(GROUP)}/{TRUNCATED}"] = "true"
        return found

    # What becomes known on the way

    def take_decoded(self, obj: Object) -> None:
        """The request's object: what it says of itself completes the reference, and it is kept from level Request."""
        meta = obj.get("metadata")
        if self._object is not None and isinstance(meta, dict):
            self._object = _completed(self._object, meta)
            self._common = None
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
        """What `work` makes of so many bytes; nothing, which is noted, where too much waits for the thread."""
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


def _reference(request: Request) -> Object | None:
    info = request.info
    if info is None or not info.is_resource:
        return None
    found: Object = {"resource": info.resource}
    if info.namespace:
        found["namespace"] = info.namespace
    if info.name:
        found["name"] = info.name
    if info.group:
        found["apiGroup"] = info.group
    found["apiVersion"] = info.version
    if info.subresource:
        found["subresource"] = info.subresource
    return found


def _completed(reference: Object, meta: Object) -> Object:
    """The reference with what the path did not say, in the order in which it is shown."""
    more = {
        "namespace": meta.get("namespace"),
        "name": meta.get("name"),
        "uid": meta.get("uid"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    found = {**{name: value for name, value in more.items() if value}, **reference}
    order = ("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")
    return {name: found[name] for name in order if name in found}
