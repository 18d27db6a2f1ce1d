"""Decides which requests are audited, and keeps the record of each while it is served (reference AUDIT-1)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

import attrs
import orjson
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.audit.bodies import as_json, may_be_status, object_json, parsed, patch_json
from orchtw.audit.counts import Counts
from orchtw.audit.event import TRUNCATED, Event, stamp
from orchtw.audit.policy import LEVELS, NONE, REQUEST, REQUEST_RESPONSE, Outcome, Policy
from orchtw.audit.senders import source_ips, user_agent, user_object
from orchtw.audit.sink import Sink, Stored
from orchtw.errors import StatusError, TooManyRequests
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.offload import Offload
from orchtw.request import Decided, Request
from orchtw.schema.codec.codecs import Codecs

_STATUS: Final = ("status", "message", "reason", "details", "code")
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
        "_agent",
        "_auditor",
        "_ips",
        "_object",
        "_outcome",
        "_received",
        "_request",
        "_request_object",
        "_response_object",
        "_truncated",
        "_uri",
        "_user",
        "status",
    )

    def __init__(self, auditor: Auditor, request: Request, outcome: Outcome) -> None:
        self._auditor = auditor
        self._request = request
        self._outcome = outcome
        self._received = stamp(request.received_s or auditor.seconds())
        self._uri = f"{request.path}?{request.query}" if request.query else request.path
        self._user = user_object(request.authenticated)
        self._ips = source_ips(request)
        self._agent = user_agent(request)
        self._object = _reference(request)
        self._request_object: orjson.Fragment | None = None
        self._response_object: orjson.Fragment | None = None
        self._truncated = False
        self.status: Object | None = None
        """`responseStatus`, once it is known."""
        request.on_decoded = self._take_decoded

    @property
    def wants_answer(self) -> bool:
        """Whether the event holds what is answered."""
        return self._outcome.level >= REQUEST_RESPONSE

    def at(self, stage: str) -> Stored:
        """Send the event of a stage, unless the policy omits it."""
        if stage in self._outcome.omit_stages:
            return True
        auditor = self._auditor
        auditor.counts.events += 1
        return auditor.sink.process(Event(self._members(stage)))

    def _members(self, stage: str) -> Object:
        request = self._request
        members: Object = {
            "level": LEVELS[self._outcome.level],
            "auditID": request.audit_id,
            "stage": stage,
            "requestURI": self._uri,
            "verb": request.info.verb if request.info is not None else request.method.lower(),
            "user": self._user,
        }
        if request.user is not request.authenticated:
            members["impersonatedUser"] = user_object(request.user)
        if self._ips:
            members["sourceIPs"] = self._ips
        if self._agent:
            members["userAgent"] = self._agent
        if self._object is not None:
            members["objectRef"] = self._object
        if self.status is not None:
            members["responseStatus"] = self.status
        if self._request_object is not None:
            members["requestObject"] = self._request_object
        if self._response_object is not None:
            members["responseObject"] = self._response_object
        members["requestReceivedTimestamp"] = self._received
        members["stageTimestamp"] = stamp(self._auditor.seconds())
        # Of a request that is refused by its head, the decision is known before its first event.
        decision = None if self.status is None else request.decision
        if request.annotations or decision is not None or self._truncated:
            members["annotations"] = self._annotations(decision)
        return members

    def _annotations(self, decision: Decided | None) -> dict[str, str]:
        naming = self._auditor.naming
        found = dict(self._request.annotations)
        if decision is not None:
            found[naming.decision_annotation] = "allow" if decision.allowed else "forbid"
            found[naming.reason_annotation] = decision.reason
        if self._truncated:
            found[f"{naming.group('audit.orch.io')}/{TRUNCATED}"] = "true"
        return found

    # What becomes known on the way

    def _take_decoded(self, obj: Object) -> None:
        """The request's object: what it says of itself completes the reference, and it is kept from level Request."""
        meta = obj.get("metadata")
        if self._object is not None and isinstance(meta, dict):
            self._object = _completed(self._object, meta)
        if self._outcome.level >= REQUEST:
            text = object_json(obj, managed_fields=not self._outcome.omit_managed_fields)
            self._request_object = None if text is None else orjson.Fragment(text)

    async def take_patch(self) -> None:
        """The body of a patch as it was sent, which nobody decodes to an object."""
        request = self._request
        info = request.info
        if self._outcome.level < REQUEST or request.method != "PATCH" or not request.body:
            return
        if info is None or not info.is_resource or request.passed_on:
            return
        text = await self._worked(len(request.body), lambda: patch_json(request.body))
        self._request_object = None if text is None else orjson.Fragment(text)

    async def take_body(self, body: bytes | None, content_type: str) -> None:
        """The answer's object, at level RequestResponse; None: it is too long, which is noted."""
        if body is None:
            self._truncated = True
        elif body:
            codecs, managed = self._auditor.codecs, not self._outcome.omit_managed_fields
            work: Any = lambda: as_json(body, content_type, codecs, managed_fields=managed)  # noqa: E731
            text = await self._worked(len(body), work)
            self._response_object = None if text is None else orjson.Fragment(text)

    async def _worked(self, size: int, work: Callable[[], bytes | None]) -> bytes | None:
        """What `work` makes of so many bytes; nothing, which is noted, where too much waits for the thread."""
        try:
            return await self._auditor.offload.run(size, work)
        except TooManyRequests:
            self._truncated = True
            return None

    def answered(self, code: int, body: bytes | None = None, content_type: str = "") -> None:
        """The code of the answer; if that is a Status, as deletions have, what it says."""
        found: Object = {}
        request = self._request
        verb = request.info.verb if request.info is not None else ""
        if body is not None and verb in _DELETES and may_be_status(body):
            found = parsed(body, content_type, self._auditor.codecs) or {}
        self.status = _status({**found, "code": code})

    def refused(self, error: StatusError) -> None:
        """The answer will be this Status."""
        status = error.to_status()
        self.status = _status(status)
        if self.wants_answer:
            text = object_json(status, managed_fields=True)
            self._response_object = None if text is None else orjson.Fragment(text)


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
