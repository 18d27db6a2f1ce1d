"""ValidatingAdmissionWebhook: the plugin of webhooks that may refuse a write (reference HOOK-15)."""

from __future__ import annotations

from time import perf_counter

from orchtw.admission.attributes import Attributes
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.known import VALIDATING, Webhooks
from orchtw.admission.webhooks.validating import ValidatingDispatcher


class ValidatingWebhook:
    """Plugin ValidatingAdmissionWebhook: calls the validating webhooks that match a write."""

    def __init__(self, host: AdmissionHost, given: Given | None) -> None:
        self._webhooks = Webhooks(host, given, VALIDATING)
        self._dispatcher = ValidatingDispatcher(host)
        self.handles = self._webhooks.handles
        self.in_force = self._webhooks.in_force
        self.idle = self._webhooks.idle

    async def validate(self, attributes: Attributes) -> None:
        """Call all matching webhooks; when all have answered, raises the refusal that came first."""
        selection = await self._webhooks.selected(attributes)
        if selection is None:
            return
        began = perf_counter()
        try:
            await self._dispatcher.call(attributes, selection.wanted())
        finally:
            if attributes.request is not None:
                attributes.request.webhooks_s += perf_counter() - began
