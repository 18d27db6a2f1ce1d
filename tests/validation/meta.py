"""Base of the examples of metadata: objects, and raw requests."""

from __future__ import annotations

import re
from typing import Any

import attrs

from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.examples import (
    GONE,
    Changes,
    Entry,
    Example,
    Refused,
)
from tests.validation.paths import changed

NAMESPACED = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACED}/configmaps"
MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
ENTRY = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}}
POLICIES = "/apis/networking.orch.io/v1/namespaces/default/networkpolicies"
POLICY: Object = {
    "apiVersion": "networking.orch.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "a"},
    "spec": {"podSelector": {}},
}
CONDITION = {
    "type": "example.com/Ready",
    "status": "True",
    "reason": "Because",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}
SELECTOR = "spec.podSelector"
SURGE = "spec.strategy.rollingUpdate.maxSurge"
POD = "spec.template.spec"


@attrs.frozen(slots=True, kw_only=True)
class Asked(Example):
    """A request about a config map `a`, which is there, is answered so."""

    method: str
    query: str = ""
    body: Any = None
    headers: Any = None
    code: int = 422
    text: str = ""

    def run(self, case: case.EntryCase, entry: Entry) -> None:
        case.done("POST", MAPS, MAP)
        body = changed(MAP, {"metadata.name": "b"}) if self.method == "POST" else self.body
        path = MAPS if self.method == "POST" else f"{MAPS}/a"
        answer = case.send(self.method, path + self.query, body, self.headers)
        for name in ("a", "b", "ax"):
            case.send("DELETE", f"{MAPS}/{name}")
        assert answer.code == self.code, (answer.code, answer.body[:600])
        if self.code == 422:
            causes = [each for each in answer.json["details"]["causes"] if each["field"] == entry.path]
            assert [each["reason"] for each in causes] == [entry.reason], answer.json
            said = causes[0]["message"]
        else:
            said = answer.json.get("message", "")
        assert any(re.search(each, said) for each in ([self.text] if self.text else entry.details)), said


def long(size: int) -> str:
    """A text of that length."""
    return "x" * size


def managed(**change: Any) -> Changes:
    """A change that brings entries of managedFields."""
    return {"metadata.managedFields": [{**ENTRY, "manager": "m", **change}]}


def owned(**change: Any) -> Changes:
    """A change that names an owner."""
    return {"metadata.ownerReferences": [{**OWNER, **change}]}


def selected(**selector: Any) -> Changes:
    """A change that selects pods."""
    return {SELECTOR: selector}


def selected_by(**expression: Any) -> Changes:
    """The same by an expression."""
    return selected(matchExpressions=[{"key": "a", "operator": "Exists", **expression}])


def observed(**change: Any) -> Changes:
    """A change that observes something."""
    return {
        "status.conditions": [{key: value for key, value in {**CONDITION, **change}.items() if value is not GONE}]
    }


def refused_selector(change: Changes, accepts: Changes, place: str) -> Refused:
    """Selectors are refused at a place below the field."""
    return Refused(change=change, accepts=accepts, field=f"{SELECTOR}.{place}")


def refused_condition(accepts: Changes, **change: Any) -> Refused:
    """A condition is refused for one of its fields."""
    (key,) = change
    return Refused(on="status", change=observed(**change), accepts=accepts, field=f"status.conditions[0].{key}")


def mode(value: int) -> Changes:
    """A change that sets the mode of the files in a volume."""
    return {f"{POD}.volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": value}}]}


def driver(name: str) -> Changes:
    """A change that adds a volume of a CSI driver."""
    return {f"{POD}.volumes": [{"name": "v", "csi": {"driver": name}}]}


def options(method: str, first: int, **more: Any) -> dict[int, Asked | list[Asked]]:
    """The examples of fieldManager, dryRun and fieldValidation, whose entries follow each other."""
    return {
        first: Asked(method=method, query=f"?fieldManager={long(129)}", text="Too long", **more),
        first + 1: Asked(method=method, query="?fieldManager=a%07", text="invalid character", **more),
        first + 2: Asked(method=method, query="?dryRun=Some", **more),
        first + 3: [
            Asked(method=method, query="?fieldValidation=Loud", **more),
            *(
                Asked(method=method, query=f"?fieldValidation={value}", text="^", code=code, **more)
                for value in ("Strict", "Warn", "Ignore")
                for code in ((201,) if method == "POST" else (200,))
            ),
        ],
    }
