"""Examples with objects of custom kinds."""

from __future__ import annotations

from typing import Any

import attrs

from orchtw.wire.objects import Object
from tests.validation.case import EntryCase
from tests.validation.definitions import DEFINITION, DEFINITIONS, OPEN, SCALE, SCHEMA, STATUS
from tests.validation.examples import NONE, Base, Changes, Entry, Example, Refused
from tests.validation.paths import changed
from tests.verbs.served import ServedCase

OBJECT = "(custom resource)"
SCALED = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}


class CustomCase(ServedCase):
    """A server with custom objects: `base` is one of the definition that came last."""

    base: Base

    def setUp(self) -> None:
        """Without another definition, objects have no members."""
        super().setUp()
        self._defined = 0
        self.define(NONE)

    def define(self, changes: Changes) -> None:
        """Serve a definition of its own that differs like this."""
        self._defined += 1
        names = {"plural": f"widgets{self._defined}", "kind": f"Widget{self._defined}"}
        own = {"metadata.name": f"{names['plural']}.example.com", "spec.names": names}
        self.definition = self.done("POST", DEFINITIONS, changed(DEFINITION, {**own, **changes}))
        self._settle()
        obj: Object = {"apiVersion": "example.com/v1", "kind": names["kind"], "metadata": {"name": "a"}}
        self.base = Base(path=f"/apis/example.com/v1/namespaces/default/{names['plural']}", obj=obj)

    def redefine(self, changes: Changes) -> None:
        """Change the definition before the write."""
        url = f"{DEFINITIONS}/{self.definition['metadata']['name']}"
        self.definition = self.done("PUT", url, changed(self.done("GET", url), changes))
        self._settle()

    def _settle(self) -> None:
        for _ in range(20):
            self.clock.advance(0.01)
            self.clock.advance(0)


@attrs.frozen(slots=True, kw_only=True)
class Defined(Example):
    """An example with objects whose definition differs like this from the usual one."""

    definition: Changes
    example: Example

    def run(self, case: EntryCase, entry: Entry) -> None:
        assert isinstance(case, CustomCase)
        before = case.base
        case.define(self.definition)
        try:
            self.example.run(case, entry)
        finally:
            case.base = before


def of_x(schema: Any, *required: str, **others: Any) -> Changes:
    """A definition of objects whose spec has a member `x` with this schema, and others with theirs."""
    spec = {"type": "object", "required": list(required), "properties": {"x": schema, **others}}
    return {SCHEMA: {"type": "object", "properties": {"spec": spec}}}


def refused_x(schema: Any, bad: Any, good: Any, field: str = "spec.x", detail: str = "", on: str = "") -> Defined:
    """A bad `spec.x` is refused at a field, a good one is not."""
    refused = Refused(change={"spec.x": bad}, accepts={"spec.x": good}, field=field, detail=detail, on=on)
    return Defined(definition=of_x(schema), example=refused)


def scaled(example: Example) -> Defined:
    """An example with objects that have a Scale."""
    return Defined(definition={SCALE: SCALED, SCHEMA: {"type": "object", **OPEN}}, example=example)


def with_status(example: Example) -> Defined:
    """An example with objects whose status has a path of its own."""
    return Defined(definition={STATUS: {}, SCHEMA: {"type": "object", **OPEN}}, example=example)
