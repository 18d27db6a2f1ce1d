"""A kind whose three versions have its fields in different places, and the webhook that converts it."""

from __future__ import annotations

from typing import Any

from orchtw.testing.webhook import WebhookRequest
from orchtw.wire.objects import Object

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}


def members(**properties: Object) -> Object:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


SPECS = {
    "v1alpha1": members(hostPort=TEXT, note=TEXT),
    "v1beta1": members(host=TEXT, port={**INTEGER, "minimum": 1}, note=TEXT),
    "v1": members(address=members(host=TEXT, port={**INTEGER, "default": 443}), note=TEXT),
}
"""Of each version: the same host and port in three ways."""


SCALES = {
    name: {"scale": {"specReplicasPath": path, "statusReplicasPath": ".status.replicas"}}
    for name, path in (("v1beta1", ".spec.port"), ("v1", ".spec.address.port"))
}
"""Ports stand for replicas."""

COLUMNS = {
    name: [{"name": "Host", "type": "string", "jsonPath": path}]
    for name, path in (("v1beta1", ".spec.host"), ("v1", ".spec.address.host"))
}


def definition(group: str, conversion: Object | None, storage: str = "v1", **specs: Object) -> Object:
    """Routes in the versions of `specs` (default: all three), converted as `conversion` says."""
    versions = [
        {
            "name": name, "served": True, "storage": name == storage,
            "subresources": {"status": {}, **SCALES.get(name, {})},
            "additionalPrinterColumns": COLUMNS.get(name, []),
            "schema": {"openAPIV3Schema": members(spec=spec, status=members(phase=TEXT))},
        }
        for name, spec in (specs or SPECS).items()
    ]  # fmt: skip
    return {
        "apiVersion": "apiextensions.orch.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"routes.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "routes", "kind": "Route"},
            "versions": versions,
            "conversion": conversion or {"strategy": "None"},
        },
    }


def by_webhook(client_config: Object, *reviews: str) -> Object:
    """The conversion by a webhook that understands these reviews (default: v1)."""
    webhook = {"clientConfig": client_config, "conversionReviewVersions": list(reviews or ("v1",))}
    return {"strategy": "Webhook", "webhook": webhook}


def route(group: str, version: str, name: str, host: str = "h", port: int = 80, **meta: Any) -> Object:
    """A route in one of the versions."""
    meta = {"name": name, **meta}
    return {"apiVersion": f"{group}/{version}", "kind": "Route", "metadata": meta, "spec": spec(version, host, port)}


def spec(version: str, host: str, port: int | None) -> Object:
    """Host and port as a version has them."""
    if version == "v1alpha1":
        return {"hostPort": f"{host}:{port}"}
    parts: Object = {"host": host}
    if port is not None:
        parts["port"] = port
    return {"address": parts} if version == "v1" else parts


def converted(obj: Object, wanted: str) -> Object:
    """A route in the wanted apiVersion."""
    given: Object = obj.get("spec") or {}
    if "hostPort" in given:
        host, _, port = given["hostPort"].partition(":")
        found: tuple[str, int | None] = host, int(port)
    else:
        parts = given.get("address", given)
        found = parts.get("host", ""), parts.get("port")
    kept = {key: given[key] for key in ("note",) if key in given}
    return {**obj, "apiVersion": wanted, "spec": {**spec(wanted.rpartition("/")[2], *found), **kept}}


def answer(asked: WebhookRequest) -> Object:
    """The answer of a webhook that does what it should."""
    review = asked.json
    request = review["request"]
    objects = [converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
