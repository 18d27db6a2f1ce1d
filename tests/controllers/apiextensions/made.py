"""A server on a Clock that runs the definitions' controllers, and small definitions."""

from __future__ import annotations

from typing import Any, ClassVar

import orjson

from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

GROUP = "ex.io"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
FOOS = f"/apis/{GROUP}/v1/namespaces/default/foos"


def version(name: str = "v1", /, *, storage: bool = True, **spec: Any) -> Object:
    """A served version whose objects have a size, and what else is given of their spec."""
    size = {"type": "integer", "default": 3}
    members = {"spec": {"type": "object", "properties": {"size": size, **spec}}}
    schema = {"type": "object", "properties": members}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def definition(plural: str = "foos", kind: str = "Foo", *versions: Object, **more: Any) -> Object:
    """A definition of a namespaced kind; `more` are further names."""
    return {
        "apiVersion": "apiextensions.orch.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **more},
            "versions": list(versions or (version(),)),
        },
    }


def foo(name: str, **meta: Any) -> Object:
    """An object of the kind that `definition` defines."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Foo", "metadata": {"name": name, **meta}, "spec": {}}


class LookedAfterCase(ServedCase):
    """Helpers for creating definitions and reading their state."""

    period_s: ClassVar[float] = 0.01

    def wait(self, seconds: float = 0.2) -> None:
        """Let that time pass, and whatever happens in it happen."""
        for _ in range(round(seconds / self.period_s)):
            self.clock.advance(self.period_s)
            for _ in range(3):
                self.clock.advance(0)

    def install(self, *definitions: Object) -> None:
        """Create definitions, one after the other, and let the controllers see them."""
        for each in definitions or (definition(),):
            self.done("POST", DEFINITIONS, each)
        self.wait()

    def read(self, name: str = "foos") -> Object:
        """Return a definition as it is stored."""
        return self.done("GET", f"{DEFINITIONS}/{name}.{GROUP}")

    def condition(self, kind: str, name: str = "foos") -> tuple[str, str, str] | None:
        """Status, reason and message of a condition."""
        for each in self.read(name)["status"].get("conditions") or ():
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return None

    def put(self, changes: Object, name: str = "foos", subresource: str = "") -> Object:
        """Merge changes into a definition, and let the controllers see it."""
        url = f"{DEFINITIONS}/{name}.{GROUP}{subresource}"
        headers = {"content-type": "application/merge-patch+json"}
        changed = self.done("PATCH", url, orjson.dumps(changes), headers)
        self.wait()
        return changed

    def delete(self, name: str = "foos") -> None:
        """Delete a definition, without waiting for its end."""
        self.done("DELETE", f"{DEFINITIONS}/{name}.{GROUP}")


