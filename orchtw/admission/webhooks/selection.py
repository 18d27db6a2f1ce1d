"""Selection of the webhooks that match one write, by its namespace and labels (reference HOOK-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.plans import Choice, Match, WebhookPlan
from orchtw.errors import NotFound
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespaces import NamespaceState

NAMESPACES: Final = "namespaces"


class Selection:
    """Webhooks of a plan that match a write, as its object is now."""

    __slots__ = ("_attributes", "_choice", "_missing", "_own_labels")

    def __init__(
        self, attributes: Attributes, choice: Choice, *, missing: bool = False, own_labels: bool = False
    ) -> None:
        self._attributes = attributes
        self._choice = choice
        self._missing = missing
        self._own_labels = own_labels

    def wanted(self, after: int = -1) -> Sequence[Match]:
        """Return the matches after position `after`, in order.

        Raises NotFound (404) if one of them selects by the labels of a namespace that does not exist.
        """
        found = self._choice.of(self._attributes, after)
        if self._own_labels:
            labels = (self._attributes.obj or {}).get("metadata", {}).get("labels")
            return [match for match in found if match.hook.namespaces.matches(labels)]
        if self._missing and any(not match.hook.namespaces.empty for match in found):
            raise NotFound.of(NAMESPACES, "", self._attributes.namespace)
        return found


async def selection(plan: WebhookPlan, attributes: Attributes, namespaces: Lister[NamespaceState]) -> Selection:
    """Select by the labels of the namespace of a write, or of the Namespace that is written."""
    about_namespace = attributes.resource.qualified == NAMESPACES
    if not plan.asks_namespaces or not (attributes.namespace or about_namespace):
        return Selection(attributes, plan.whole)
    if about_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return Selection(attributes, plan.whole, own_labels=True)
    name = attributes.namespace
    found = await attributes.find(namespaces, "", name)
    if found is None:
        return Selection(attributes, plan.whole, missing=True)
    return Selection(attributes, plan.within(name, found.labels))
