"""A definition as the registry sees it once it is established, and what it takes to serve it."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.task import deferLater

from orchtw.wire.objects import Object
from tests.in_process import InProcessServer

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
    """Have a server define and serve lamps."""
    made = {"apiVersion": "apiextensions.orch.io/v1", "kind": "CustomResourceDefinition"}
    made |= definition(*versions, **spec)
    answer = await server.request("POST", "/apis/apiextensions.orch.io/v1/customresourcedefinitions", made)
    if answer.code != 201:
        raise ValueError(answer.body)
    await served(server)


async def served(server: InProcessServer, version: str = "v1", *, there: bool = True) -> None:
    """Wait until lamps are served in a version, or no longer."""
    while (server.instance.resources.targets.find(GROUP, version, "lamps") is not None) is not there:
        await deferLater(reactor, 0.01)


def lamp(name: str = "a", version: str = "v1", **more: Any) -> Object:
    """A lamp as a client sends it."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Lamp", "metadata": {"name": name}, **more}
