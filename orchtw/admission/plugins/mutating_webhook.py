"""MutatingAdmissionWebhook: webhooks that change objects, called in turn (reference HOOK-15, HOOK-17, HOOK-18)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from orchtw.admission.attributes import Attributes
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.consultation import Consultation
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.known import MUTATING, Webhooks
from orchtw.admission.webhooks.patch import Patched, operations_of, patched
from orchtw.admission.webhooks.plans import Match
from orchtw.admission.webhooks.refusals import not_patchable
from orchtw.admission.webhooks.selection import Selection
from orchtw.admission.webhooks.views import Views, WebhookView
from orchtw.wire.objects import Object


class _Rounds(msgspec.Struct):
    """State of the first round that the second one needs.

    `before` has the keys of webhooks with reinvocationPolicy IfNeeded that were called since the last change, `again`
    those that a later change concerns. `left` is the object as the webhooks left it.
    """

    before: set[str] = msgspec.field(default_factory=set)
    again: set[str] = msgspec.field(default_factory=set)
    left: Object | None = None

    def changed(self) -> None:
        """Note that the object has changed since the calls in `before`."""
        self.again |= self.before
        self.before.clear()


class MutatingWebhook:
    """Plugin MutatingAdmissionWebhook: calls the mutating webhooks that match a write, in order."""

    def __init__(self, host: AdmissionHost, given: Given | None) -> None:
        self._webhooks = Webhooks(host, given, MUTATING)
        self._consultation = Consultation(host, mutating=True)
        self.handles = self._webhooks.handles
        self.in_force = self._webhooks.in_force

    async def admit(self, attributes: Attributes) -> None:
        """Call the matching webhooks, which may change the object. Raises the first refusal."""
        selection = await self._webhooks.selected(attributes)
        if selection is not None:
            matches = selection.wanted()
            if matches:
                await self._pass(attributes, selection, matches)

    async def _pass(self, attributes: Attributes, selection: Selection, matches: Sequence[Match]) -> None:
        rounds = attributes.carried
        if rounds is None:
            rounds = attributes.carried = _Rounds()
        if attributes.round and attributes.obj is not rounds.left and attributes.obj != rounds.left:
            rounds.changed()
        views, number, waiting = Views(attributes), 0, list(matches)
        while waiting:
            match = waiting.pop(0)
            hook = match.hook
            if attributes.round and hook.key not in rounds.again:
                continue
            if await self._mutated(hook, await views.of(match.resource), views, attributes, number):
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
