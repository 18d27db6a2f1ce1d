"""Conversion settings of a definition (reference CRD-24). Causes name the fields as v1beta1 did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import Cause
from orchtw.rules.webhook_clients import client_causes, knows_review, review_causes
from orchtw.schema.validation.problems import within
from orchtw.values.causes import forbidden, invalid, not_supported, required

_STRATEGIES: Final = ("None", "Webhook")


def conversion_causes(
    conversion: Mapping[str, Any] | None, old: Mapping[str, Any] | None, preserving: bool, field: str
) -> list[Cause]:
    """Return the causes that reject spec.conversion; `preserving`: unknown fields are kept."""
    if conversion is None:
        return []
    causes: list[Cause] = []
    strategy, place = conversion.get("strategy", ""), f"{field}.strategy"
    if strategy != "None" and preserving:
        causes.append(invalid(place, strategy, "must be None if spec.preserveUnknownFields is true"))
    if not strategy:
        causes.append(required(place))
    elif strategy not in _STRATEGIES:
        causes.append(not_supported(place, strategy, _STRATEGIES))
    webhook = conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    client_field, reviews_field = f"{field}.webhookClientConfig", f"{field}.conversionReviewVersions"
    if strategy == "Webhook":
        causes += _client_causes(client, client_field)
        causes += review_causes(reviews, _must_know(old), reviews_field) if reviews else [required(reviews_field)]
        return causes
    given = [client_field] * (client is not None) + [reviews_field] * bool(reviews)
    return causes + [forbidden(place, "should not be set when strategy is not set to Webhook") for place in given]


def _must_know(old: Mapping[str, Any] | None) -> bool:
    """Report whether the review versions must include a known one: not if the old ones did not."""
    reviews = ((old or {}).get("webhook") or {}).get("conversionReviewVersions")
    return not reviews or knows_review(reviews)


def _client_causes(client: Mapping[str, Any] | None, field: str) -> list[Cause]:
    if client is None:
        return [required(field, "required when strategy is set to Webhook")]
    return within(field, client_causes(client))
