"""How objects are converted between versions (reference CRD-24). Causes name the fields as v1beta1 did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.rules.causes import forbidden, invalid, not_supported, required
from orchtw.rules.names import dns_1035_label
from orchtw.rules.webhook_clients import service_causes, url_causes

_STRATEGIES: Final = ("None", "Webhook")
_REVIEWS: Final = ("v1", "v1beta1")


def conversion_causes(
    conversion: Mapping[str, Any] | None, old: Mapping[str, Any] | None, preserving: bool, field: str
) -> list[Cause]:
    """Every reason why spec.conversion is invalid; `preserving`: unknown fields are kept."""
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
        return causes + _review_causes(reviews, _must_know(old), reviews_field)
    given = [client_field] * (client is not None) + [reviews_field] * bool(reviews)
    return causes + [forbidden(place, "should not be set when strategy is not set to Webhook") for place in given]


def _must_know(old: Mapping[str, Any] | None) -> bool:
    """Whether a version that the server knows must be among those of the reviews: not where none was before."""
    reviews = ((old or {}).get("webhook") or {}).get("conversionReviewVersions")
    return not reviews or any(version in _REVIEWS for version in reviews)


def _client_causes(client: Mapping[str, Any] | None, field: str) -> list[Cause]:
    if client is None:
        return [required(field, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(field, "exactly one of url or service is required")]
    if url is not None:
        return url_causes(url, f"{field}.url")
    return service_causes(service or {}, f"{field}.service")


def _review_causes(reviews: Sequence[str], must_know: bool, field: str) -> list[Cause]:
    if not reviews:
        return [required(field)]
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, version in enumerate(reviews):
        if len(causes) > MAX_CAUSES:
            break
        if version in seen:
            causes.append(invalid(f"{field}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        causes += [invalid(f"{field}[{index}]", version, text) for text in dns_1035_label(version)]
    if must_know and seen.isdisjoint(_REVIEWS):
        causes.append(invalid(field, list(reviews), f"must include at least one of {', '.join(_REVIEWS)}"))
    return causes
