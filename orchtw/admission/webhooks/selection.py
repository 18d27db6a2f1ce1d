"""Which webhooks one write is for, by its namespace and its labels (reference HOOK-7)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, Protocol

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.plans import Choice, Match, WebhookPlan
from orchtw.errors import NotFound

NAMESPACES: Final = "namespaces"


class NamespaceLabelLookup(Protocol):
    """The namespaces there are."""

    def labels_of(self, name: str) -> Mapping[str, str] | None:
        """The labels of a namespace, one mapping as long as they stay; None: there is no such namespace."""

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a namespace counts as missing, or None."""


class Selection:
    """The webhooks of a plan that want to see a write, as it is now."""

    __slots__ = ("_attributes", "_choice", "_missing", "_own_labels")

    def __init__(
        self, attributes: Attributes, choice: Choice, *, missing: bool = False, own_labels: bool = False
    ) -> None:
        self._attributes = attributes
        self._choice = choice
        self._missing = missing
        self._own_labels = own_labels

    def wanted(self, after: int = -1) -> Sequence[Match]:
        """Those behind a position, in their order.

        Raises NotFound (404) for one that asks for the labels of a namespace that is not there.
        """
        found = self._choice.of(self._attributes, after)
        if self._own_labels:
            labels = (self._attributes.obj or {}).get("metadata", {}).get("labels")
            return [match for match in found if match.hook.namespaces.matches(labels)]
        if self._missing and any(not match.hook.namespaces.empty for match in found):
            raise NotFound.of(NAMESPACES, "", self._attributes.namespace)
        return found


async def selection(plan: WebhookPlan, attributes: Attributes, namespaces: NamespaceLabelLookup) -> Selection:
    """Look at the namespace of a write, or at the namespace that it is about."""
    about_namespace = attributes.resource.qualified == NAMESPACES
    if not plan.asks_namespaces or not (attributes.namespace or about_namespace):
        return Selection(attributes, plan.whole)
    if about_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return Selection(attributes, plan.whole, own_labels=True)
    name = attributes.namespace
    labels = namespaces.labels_of(name)
    if labels is None and (due := namespaces.due()) is not None:
        await attributes.until_known(due)
        labels = namespaces.labels_of(name)
    if labels is None:
        return Selection(attributes, plan.whole, missing=True)
    return Selection(attributes, plan.within(name, labels))
