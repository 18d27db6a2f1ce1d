"""Views of one write for policies, in the versions that they know."""

from __future__ import annotations

from orchtw.admission.policies.known import Pairing
from orchtw.admission.policies.parameters import Misconfigured
from orchtw.admission.webhooks.views import Views, WebhookView
from orchtw.errors import InternalError


async def view_of(pairing: Pairing, views: Views) -> WebhookView:
    """Return the write as a policy sees it. Raises Misconfigured for one that cannot be matched or converted for."""
    if pairing.policy.broken:
        raise Misconfigured(f"failed to configure policy: {pairing.policy.broken}")
    try:
        return await views.of(pairing.resource)
    except InternalError as problem:
        raise Misconfigured(f"failed to configure policy: {problem.message}") from None
