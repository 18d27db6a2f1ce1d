"""ValidatingAdmissionWebhook: webhooks that may refuse a write, called concurrently (reference HOOK-15)."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore

from orchtw.admission.attributes import Attributes
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.consultation import Consultation
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.known import VALIDATING, Webhooks
from orchtw.admission.webhooks.plans import Match
from orchtw.admission.webhooks.views import Views, WebhookView
from orchtw.errors import StatusError

AT_ONCE: Final = 128
"""Limit of concurrent calls about one write: each holds the object's JSON."""


class ValidatingWebhook:
    """Plugin ValidatingAdmissionWebhook: calls the validating webhooks that match a write."""

    def __init__(self, host: AdmissionHost, given: Given | None) -> None:
        self._webhooks = Webhooks(host, given, VALIDATING)
        self._consultation = Consultation(host, mutating=False)
        self.handles = self._webhooks.handles
        self.in_force = self._webhooks.in_force

    async def validate(self, attributes: Attributes) -> None:
        """Call all matching webhooks; when all have answered, raises the refusal that came first."""
        selection = await self._webhooks.selected(attributes)
        if selection is None:
            return
        began = perf_counter()
        try:
            await self._ask_those(selection.wanted(), attributes)
        finally:
            if attributes.request is not None:
                attributes.request.webhooks_s += perf_counter() - began

    async def _ask_those(self, matches: Sequence[Match], attributes: Attributes) -> None:
        if len(matches) == 1:
            view = await Views(attributes).of(matches[0].resource)
            await self._ask(matches[0].hook, view, attributes, 0)
        elif matches:
            await self._ask_all(matches, attributes)

    async def _ask_all(self, matches: Sequence[Match], attributes: Attributes) -> None:
        views = Views(attributes)
        shown: list[WebhookView] = []
        for match in matches:
            view = await views.of(match.resource)
            await view.texts()  # encoded once, before several calls need them
            shown.append(view)
        refusals: list[Exception] = []
        room = DeferredSemaphore(AT_ONCE)

        async def one(hook: Hook, view: WebhookView, number: int) -> None:
            async with room:
                try:
                    await self._ask(hook, view, attributes, number)
                except StatusError as refusal:
                    refusals.append(refusal)

        running = [
            Deferred.fromCoroutine(one(match.hook, view, number))
            for number, (match, view) in enumerate(zip(matches, shown, strict=True))
        ]
        for success, result in await DeferredList(running, consumeErrors=True):
            if not success:
                unexpected: Any = result
                unexpected.raiseException()
        if refusals:
            raise refusals[0]

    async def _ask(self, hook: Hook, view: WebhookView, attributes: Attributes, number: int) -> None:
        consultation = self._consultation
        await consultation.settled(hook, attributes, number, consultation.allowed(hook, view, attributes))
