"""A definition as the registry sees it once it is established, and what it takes to serve it."""

from __future__ import annotations

from typing import Any

from orchtw.objects import Object
from orchtw.registry.custom.kinds import kinds_of
from orchtw.registry.custom.strategy import CustomStrategy
from orchtw.registry.custom.versioning import SameFields
from orchtw.schema.custom.codec import CustomCodec
from orchtw.testing.in_process import InProcessServer

GROUP = "shop.example.com"
STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def struct(**properties: Any) -> Object:
    """An object schema with these properties."""
    return {"type": "object", "properties": properties}


SCHEMA = struct(
    spec=struct(
        replicas=INTEGER,
        size={"type": "integer", "default": 3},
        colour=STRING,
        weight=NUMBER,
        lit={"type": "boolean"},
        parts={
            "type": "array",
            "items": {**struct(name=STRING, kind={"type": "string", "default": "new"}, count=INTEGER),
                      "required": ["name"]},
            "x-orch-list-type": "map",
            "x-orch-list-map-keys": ["name", "kind"],
        },
        box={"type": "object", "x-orch-preserve-unknown-fields": True},
        labels={"type": "object", "additionalProperties": STRING},
    ),
    status=struct(
        phase=STRING,
        replicas=INTEGER,
        selector=STRING,
        since=STRING,
        conditions={"type": "array", "items": struct(type=STRING, status=STRING)},
    ),
    extra=STRING,
)  # fmt: skip
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def version(name: str = "v1", **more: Any) -> Object:
    """A version with everything on; the storage version unless `storage` says otherwise."""
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}, "scale": SCALE},
        **more,
    }


def definition(*versions: Object, **spec: Any) -> Object:
    """The definition of lamps in these versions (default: v1)."""
    names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList", "shortNames": ["lp"]}
    given = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": list(versions) or [version()]}
    return {
        "metadata": {"name": f"lamps.{GROUP}"},
        "spec": {**given, **spec},
        "status": {"acceptedNames": spec.get("names", names)},
    }


async def serve(server: InProcessServer, *versions: Object, **spec: Any) -> None:
    """Have a server serve lamps."""
    resources = server.instance.resources
    codecs = resources.codecs
    kinds = kinds_of(definition(*versions, **spec), codecs.schemas)
    await resources.targets.add(
        kinds, CustomStrategy, lambda resource, schema: codecs.made(resource, schema, CustomCodec), SameFields
    )


def lamp(name: str = "a", version: str = "v1", **more: Any) -> Object:
    """A lamp as a client sends it."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Lamp", "metadata": {"name": name}, **more}
