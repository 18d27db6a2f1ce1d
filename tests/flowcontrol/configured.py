"""Flow schemas and priority levels without a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from orchtw.flowcontrol.levels import LevelSettings
from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.matching import Schema
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import everything
from orchtw.wire.objects import Object


class Known:
    """Stand-in for the cache of one kind."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}


class Configured(Live):
    """`Live` with these objects."""

    def __init__(self, schemas: Iterable[Object], levels: Iterable[Object], total: int = 600) -> None:
        super().__init__(cast(Any, None), Naming.orch(), total)
        self._schemas, self._settings = cast(Any, Known()), cast(Any, Known())
        for obj in (*schemas, *levels):
            self.put(obj)

    def put(self, obj: Object) -> None:
        """The object is there."""
        name = obj["metadata"]["name"]
        if "matchingPrecedence" in obj["spec"]:
            cast(Any, self._schemas).known[name] = Schema.of(obj)
        else:
            cast(Any, self._settings).known[name] = LevelSettings.of(obj)
        self._changed()

    def remove(self, obj: Object) -> None:
        """Remove the level, as the cache would."""
        del cast(Any, self._settings).known[obj["metadata"]["name"]]
        self._changed()


def schema(
    name: str, precedence: int, to: str, *, user: str = "", by: str = "ByUser", rule: Object | None = None
) -> Object:
    """A schema for one user, or for everybody who is authenticated; for everything that they do, or some of it."""
    group = {"kind": "Group", "group": {"name": "system:authenticated"}}
    subjects = [{"kind": "User", "user": {"name": user}}] if user else [group]
    rules = [everything(subjects) if rule is None else {"subjects": subjects, **rule}]
    spec: Object = {
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": to},
        "rules": rules,
        **({"distinguisherMethod": {"type": by}} if by else {}),
    }
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def level(name: str, *, shares: int = 10, queues: int = 8, hand: int = 2, length: int = 10) -> Object:
    """A limited level; with queues, or without if there are 0."""
    response: Object = {"type": "Reject"}
    if queues:
        response = {
            "type": "Queue",
            "queuing": {"queues": queues, "handSize": hand, "queueLengthLimit": length},
        }
    limited = {"assuredConcurrencyShares": shares, "limitResponse": response}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"type": "Limited", "limited": limited}}
