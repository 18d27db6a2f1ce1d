"""Calls of webhooks: limits of time and number, and errors (reference HOOK-10, HOOK-14)."""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.answer import UNREADABLE, BadAdmissionReview, Expected, ReviewAnswer
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.refusals import CallingFailed, no_dry_run, out_of_time
from orchtw.admission.webhooks.review import KIND, Reviews
from orchtw.admission.webhooks.views import WebhookView
from orchtw.errors import TooManyRequests
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.limits import CallLimit
from orchtw.request import Request
from orchtw.schema.codec.codecs import Codecs
from orchtw.values.uuids import new_uuid

ANSWER_BYTES: Final = 6 << 20
"""Size limit of a response: a patch as large as an object, in base64, and a margin."""

_BAD_REQUEST: Final = 400


class Calls:
    """Caller of mutating or of validating webhooks; the concurrent calls of each webhook are limited."""

    def __init__(self, caller: Caller, clock: Any, naming: Naming, codecs: Codecs, *, mutating: bool) -> None:
        self._caller = caller
        self._clock = clock
        self._reviews = Reviews(naming)
        self._codecs = codecs
        self._mutating = mutating
        self._agent = f"{naming.api_server}-admission"
        self._turns: dict[str, CallLimit] = {}

    def late(self, request: Request | None) -> bool:
        """Report whether the client has left or the request's time is over."""
        if request is None:
            return False
        ends_at_s = request.ends_at_s
        return request.client_gone or (ends_at_s is not None and self._clock.seconds() >= ends_at_s)

    async def ask(self, hook: Hook, view: WebhookView, asked: Attributes) -> ReviewAnswer:
        """Call a webhook about a write.

        Raises CallingFailed, BadRequest (400) for a dry run of a webhook with side effects, and Timeout (504).
        """
        if asked.dry_run and not hook.harmless:
            raise no_dry_run(hook.name)
        if hook.broken:
            raise CallingFailed(hook.name, hook.broken, _BAD_REQUEST)
        uid = new_uuid()
        try:
            body = self._reviews.body(hook.review, uid, view.attributes, asked, *await view.texts())
        except TypeError as problem:
            raise CallingFailed(hook.name, f"could not create admission objects: {problem}", _BAD_REQUEST) from None
        codec = self._codecs.kind(self._reviews.api_version(hook.review), KIND)
        expected = Expected(version=hook.review, uid=uid, mutating=self._mutating, codec=codec)
        try:
            text = await self._posted(hook, body, asked.request)
            return await asked.surface.run(len(text), lambda: expected.read(text))
        except CallFailed as problem:
            raise CallingFailed(hook.name, f"{UNREADABLE}{problem}", problem.code or _BAD_REQUEST) from None
        except TooManyRequests as problem:
            raise CallingFailed(hook.name, f"{UNREADABLE}{problem}", problem.code) from None
        except BadAdmissionReview as problem:
            raise CallingFailed(hook.name, str(problem), problem.code) from None

    async def _posted(self, hook: Hook, body: bytes, request: Request | None) -> bytes:
        """Post a review and return the response; a client that leaves cancels the call.

        Raises CallFailed and Timeout (504).
        """
        time_s: float = hook.timeout_s
        if request is not None and request.ends_at_s is not None:
            time_s = min(time_s, request.ends_at_s - self._clock.seconds())
        if self.late(request):
            raise out_of_time()
        turns = self._turns.setdefault(hook.key, CallLimit())
        running = Deferred.fromCoroutine(
            self._caller.post(
                hook.remote,
                body,
                timeout_s=ceil(time_s),
                left_s=time_s,
                limit_bytes=ANSWER_BYTES,
                agent=self._agent,
                turns=turns,
            )
        )
        stay = None if request is None else request.on_leave(running.cancel)
        try:
            return await running
        except CancelledError:
            if self.late(request):
                raise out_of_time() from None
            raise
        finally:
            if stay is not None:
                stay()
            if turns.idle:
                self._turns.pop(hook.key, None)
