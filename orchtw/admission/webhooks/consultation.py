"""Consultation of one webhook about one write, and the handling of its outcome (reference HOOK-19 to HOOK-25)."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Final, TypeVar

from twisted.logger import Logger

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.annotations import Notes
from orchtw.admission.webhooks.answer import ReviewAnswer
from orchtw.admission.webhooks.calls import Calls
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.refusals import CallingFailed, Denied, out_of_time
from orchtw.admission.webhooks.views import WebhookView

T = TypeVar("T")

LOG_INTERVAL_S: Final = 1.0
"""Minimum time between two log lines: a webhook that is down may fail thousands of writes."""

_OK: Final = 200


class Consultation:
    """Common part of mutating and validating webhooks: calls, annotations, warnings, metrics, failure policies."""

    _log = Logger()

    def __init__(self, host: AdmissionHost, *, mutating: bool) -> None:
        self.notes = Notes(host.naming)
        self._calls = Calls(host.caller, host.clock, host.naming, host.targets.codecs, mutating=mutating)
        self._metrics = host.metrics.webhooks
        self._kind = "admit" if mutating else "validating"
        self._mutating = mutating
        self._clock = host.clock
        self._silent_until_s = 0.0

    async def allowed(self, hook: Hook, view: WebhookView, asked: Attributes) -> ReviewAnswer:
        """Return the response of a webhook that allows the write.

        Raises Denied, and what `Calls.ask` raises.
        """
        answer = await self._calls.ask(hook, view, asked)
        for key, value in answer.annotations.items():
            if not self.notes.said(asked, hook, key, value):
                self._tell("an audit annotation of webhook {name} has an invalid key", name=hook.name)
        for text in answer.warnings:
            asked.warn(text)
        if not answer.allowed:
            raise Denied(hook.name, answer.status)
        return answer

    async def settled(self, hook: Hook, asked: Attributes, number: int, asking: Awaitable[T]) -> T | None:
        """Return the result of `asking`; None if the call failed and the webhook's failure policy is Ignore.

        Raises what ends the write.
        """
        begun, operation = time.perf_counter(), asked.operation
        code, said, rejected, error_type = 0, 0, True, "apiserver_internal_error"
        try:
            found = await asking
            code, rejected = _OK, False
            return found
        except CallingFailed as failure:
            code, error_type, rejected = failure.code, "calling_webhook_error", not hook.patient
            if rejected:
                self._tell("failing closed: {why}", why=str(failure))
                raise failure.refusal() from None
            self._go_on(hook, asked, number, failure)
            return None
        except Denied as refusal:
            code = said = refusal.code
            error_type = "no_error"
            raise
        finally:
            spent_s = time.perf_counter() - begun
            if self._mutating and asked.request is not None:
                asked.request.webhooks_s += spent_s
            self._metrics.called(hook.name, self._kind, operation, spent_s, code, rejected=rejected)
            if rejected:
                self._metrics.rejected(hook.name, self._kind, operation, error_type, said)

    def _go_on(self, hook: Hook, asked: Attributes, number: int, failure: CallingFailed) -> None:
        """Ignore the failure of a webhook. Raises Timeout (504) once the request's time is over."""
        self._tell("failing open: {why}", why=str(failure))
        self._metrics.failed(hook.name, self._kind)
        self.notes.failed_open(asked, hook, number, mutating=self._mutating)
        if self._calls.late(asked.request):
            raise out_of_time()

    def _tell(self, text: str, **values: str) -> None:
        now = self._clock.seconds()
        if now >= self._silent_until_s:
            self._silent_until_s = now + LOG_INTERVAL_S
            self._log.warn(text, **values)
