"""CustomResourceDefinition as v1beta1 had it: one schema for all versions (reference CRD-5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

_PER_VERSION: Final = {"validation": "schema", "subresources": "subresources"}


def definition_v1beta1_to_v1(definition: Object, naming: Naming) -> Object:
    """Copy what was set for all versions to each version that does not set it itself."""
    spec = dict(definition.get("spec") or {})
    version = spec.pop("version", "")
    columns = spec.pop("additionalPrinterColumns", None)
    shared = {new: spec.pop(old) for old, new in _PER_VERSION.items() if spec.get(old) is not None}
    if columns:
        shared["additionalPrinterColumns"] = columns
    versions = spec.get("versions") or ([{"name": version, "served": True, "storage": True}] if version else [])
    spec["versions"] = [_version({**shared, **each}) for each in versions]
    if (conversion := spec.get("conversion")) is not None:
        spec["conversion"] = _conversion(conversion)
    return {**definition, "spec": spec}


def _version(version: Mapping[str, Any]) -> Object:
    found = dict(version)
    if columns := found.get("additionalPrinterColumns"):
        found["additionalPrinterColumns"] = [_column(column) for column in columns]
    return found


def _column(column: Mapping[str, Any]) -> Object:
    found = dict(column)
    found["jsonPath"] = found.pop("JSONPath", "")
    return found


def _conversion(conversion: Mapping[str, Any]) -> Object:
    """Gather the webhook's settings; there is a webhook if either of its parts is set."""
    found = dict(conversion)
    client, reviews = found.pop("webhookClientConfig", None), found.pop("conversionReviewVersions", None)
    if client is not None or reviews:
        webhook = {"conversionReviewVersions": reviews or []}
        found["webhook"] = webhook if client is None else {**webhook, "clientConfig": client}
    return found
