"""Validating webhooks, called concurrently about one write (reference HOOK-15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.conditions import HookConditions
from orchtw.admission.webhooks.consultation import Consultation
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.plans import Match
from orchtw.admission.webhooks.views import Views, WebhookView
from orchtw.errors import StatusError

AT_ONCE: Final = 128
"""Limit of concurrent calls about one write: each holds the object's JSON."""


class ValidatingDispatcher:
    """Caller of the validating webhooks that match a write."""

    def __init__(self, host: AdmissionHost) -> None:
        self._conditions = HookConditions(host, mutating=False)
        self._consultation = Consultation(host, mutating=False)

    async def call(self, attributes: Attributes, matches: Sequence[Match]) -> None:
        """Call the webhooks of `matches` at once; when all have answered, raises the refusal that came first."""
        matches = await self._meeting(matches, attributes)
        if len(matches) == 1:
            view = await Views(attributes).of(matches[0].resource)
            await self._ask(matches[0].hook, view, attributes, 0)
        elif matches:
            await self._ask_all(matches, attributes)

    async def _meeting(self, matches: Sequence[Match], attributes: Attributes) -> Sequence[Match]:
        """Return the webhooks whose match conditions hold. Raises Forbidden (403) for some that fail."""
        if not any(match.hook.conditions for match in matches):
            return matches
        views, found = Views(attributes), []
        for match in matches:
            hook = match.hook
            if not hook.conditions or await self._conditions.met(hook, await views.of(match.resource), attributes):
                found.append(match)
        return found

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
