"""Mutating webhooks, called in turn: each sees the changes of earlier ones (reference HOOK-15, HOOK-17, HOOK-18)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.reinvocation import Rounds
from orchtw.admission.webhooks.conditions import HookConditions
from orchtw.admission.webhooks.consultation import Consultation
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.patch import Patched, operations_of, patched
from orchtw.admission.webhooks.plans import Match
from orchtw.admission.webhooks.refusals import not_patchable
from orchtw.admission.webhooks.selection import Selection
from orchtw.admission.webhooks.views import Views, WebhookView


class MutatingDispatcher:
    """Caller of the mutating webhooks that match a write, with a second round for those that ask for it."""

    def __init__(self, host: AdmissionHost) -> None:
        self._conditions = HookConditions(host, mutating=True)
        self._consultation = Consultation(host, mutating=True)

    async def call(self, attributes: Attributes, selection: Selection, matches: Sequence[Match]) -> None:
        """Call the webhooks of `matches` one after the other. Raises the first refusal."""
        rounds = Rounds.of(attributes)
        views, number, waiting = Views(attributes), 0, list(matches)
        while waiting:
            match = waiting.pop(0)
            hook = match.hook
            if attributes.round and hook.key not in rounds.again:
                continue
            view = await views.of(match.resource)
            if hook.conditions and not await self._conditions.met(hook, view, attributes):
                continue
            if await self._mutated(hook, view, views, attributes, number):
                rounds.changed()
                attributes.request_reinvocation()
                waiting = list(selection.wanted(after=match.position))
            if hook.again:
                rounds.before.add(hook.key)
            number += 1
        rounds.left = attributes.obj

    async def _mutated(self, hook: Hook, view: WebhookView, views: Views, asked: Attributes, number: int) -> bool:
        """Call a webhook, and report whether it has changed the object."""
        mutated = False
        consultation = self._consultation
        try:
            done = await consultation.settled(hook, asked, number, self._patched(hook, view, views, asked))
            if done is not None and done.text:
                consultation.notes.patched(asked, hook, number, done.text)
                mutated = done.changed
        finally:
            consultation.notes.called(asked, hook, number, mutated=mutated)
        return mutated

    async def _patched(self, hook: Hook, view: WebhookView, views: Views, asked: Attributes) -> Patched | None:
        """Call a webhook and return the result of its patch; None if there is no patch."""
        answer = await self._consultation.allowed(hook, view, asked)
        if not answer.patch:
            return None
        surface, size = asked.surface, asked.size_bytes + len(answer.patch)
        operations = await surface.run(len(answer.patch), lambda: operations_of(answer.patch))
        before = view.attributes.obj
        if not operations:
            return None
        if before is None:
            raise not_patchable(hook.name)
        text, _ = await view.texts()
        read = surface.reader(view.attributes.resource, view.attributes.subresource)
        found = await surface.run(size, lambda: patched(before, text, operations, read))
        if found.warning:
            asked.warn(found.warning)
        if found.changed:
            await views.put(view, found.obj)
        return found
