"""MutatingAdmissionWebhook: the plugin of webhooks that change objects (reference HOOK-15)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.known import MUTATING, Webhooks
from orchtw.admission.webhooks.mutating import MutatingDispatcher


class MutatingWebhook:
    """Plugin MutatingAdmissionWebhook: calls the mutating webhooks that match a write, in order."""

    def __init__(self, host: AdmissionHost, given: Given | None) -> None:
        self._webhooks = Webhooks(host, given, MUTATING)
        self._dispatcher = MutatingDispatcher(host)
        self.handles = self._webhooks.handles
        self.in_force = self._webhooks.in_force
        self.idle = self._webhooks.idle

    async def admit(self, attributes: Attributes) -> None:
        """Call the matching webhooks, which may change the object. Raises the first refusal."""
        selection = await self._webhooks.selected(attributes)
        if selection is not None:
            matches = selection.wanted()
            if matches:
                await self._dispatcher.call(attributes, selection, matches)
