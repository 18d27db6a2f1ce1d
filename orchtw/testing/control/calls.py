"""Calls of the server's endpoints for tests: each as its request and the reading of its response, without any I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote

import attrs
import msgspec

from orchtw.testing.control.answers import ApiError, RawAnswer, refusal
from orchtw.testing.control.http import ServerRequest, path_of
from orchtw.testing.control.records import ObjectDifference, RecordedWrite

T = TypeVar("T")

Watches = Literal["expire", "follow"]
"""Fate of watches when the state changes: a 410, or DELETED and ADDED events."""

STATE: Final = "/debug/state"
FAULTS: Final = "/debug/faults"
HISTORY: Final = "/debug/history"
AT: Final = f"{HISTORY}/at"
DIFF: Final = f"{HISTORY}/diff"
SIMULATION: Final = "/debug/simulation"

_FAULT_NAMES: Final = {
    "retry_after_s": "retryAfterSeconds",
    "in_stream": "inStream",
    "after_events": "afterEvents",
}


class Call(msgspec.Struct, Generic[T], frozen=True):
    """Request, and the conversion of a response that is not a refusal."""

    request: ServerRequest
    read: Callable[[RawAnswer], T]

    def result(self, answer: RawAnswer) -> T:
        """Return the result of a response. Raises ApiError for a refusal."""
        __tracebackhide__ = True
        return self.read(answer.checked(str(self.request)))


class StateSnapshot(msgspec.Struct, frozen=True):
    """State of the server that `restore` can bring back, until it is released or the server ends."""

    id: str
    resource_version: str
    objects: int


@attrs.frozen(slots=True)
class AddedFault:
    """Fault rule in the server. `rule` is its JSON: what it selects, and how often it has `matched` and `struck`."""

    id: str
    rule: Mapping[str, Any]

    @property
    def struck(self) -> int:
        """Return how many requests it had struck when the server was asked; `faults.get` asks again."""
        return int(self.rule.get("struck", 0))


def reset(watches: Watches) -> Call[int]:
    """Return the call that brings back the state after the start; its result is the revision."""
    return Call(_post(STATE, {"action": "reset", "watches": watches}), _revision)


def snapshot() -> Call[StateSnapshot]:
    """Return the call that keeps the present state."""

    def read(answer: RawAnswer) -> StateSnapshot:
        found = answer.json
        return StateSnapshot(found["snapshot"], found["resourceVersion"], found["objects"])

    return Call(_post(STATE, {"action": "snapshot"}), read)


def restore(state: StateSnapshot | str, watches: Watches) -> Call[int]:
    """Return the call that brings back a state; its result is the revision."""
    return Call(_post(STATE, {"action": "restore", "snapshot": id_of(state), "watches": watches}), _revision)


def release(state: StateSnapshot | str) -> Call[None]:
    """Return the call that lets go of a state."""
    return Call(_post(STATE, {"action": "release", "snapshot": id_of(state)}), _nothing)


def advance(seconds: float) -> Call[datetime]:
    """Return the call that advances the simulated time; its result is the new time."""
    return Call(_post(SIMULATION, {"advance": seconds}), lambda answer: datetime.fromisoformat(answer.json["now"]))


def id_of(named: StateSnapshot | AddedFault | str) -> str:
    """Return the id of a state or a fault rule, which may be given in place of it."""
    return named if isinstance(named, str) else named.id


def revision() -> Call[int]:
    """Return the call for the revision of the latest write, of the record: faults may strike other requests."""
    return Call(
        history({"limit": 1}).request, lambda answer: max(map(_revision_of, answer.body.splitlines()), default=0)
    )


def add_fault(fields: Mapping[str, Any]) -> Call[AddedFault]:
    """Return the call that adds a fault rule, of fields in Python's spelling."""
    return Call(_post(FAULTS, fault_rule(fields)), lambda answer: _fault(answer.json))


def add_chaos(seed: int, fields: Mapping[str, Any]) -> Call[Sequence[AddedFault]]:
    """Return the call that adds the rules of the preset `chaos`."""
    return Call(_post(FAULTS, {"preset": "chaos", "seed": seed, **fault_rule(fields)}), _faults)


def list_faults() -> Call[Sequence[AddedFault]]:
    """Return the call that lists the fault rules."""
    return Call(ServerRequest(method="GET", path=FAULTS), _faults)


def get_fault(fault: AddedFault | str) -> Call[AddedFault]:
    """Return the call for a fault rule as it is now."""
    request = ServerRequest(method="GET", path=f"{FAULTS}/{quote(id_of(fault), safe='')}")
    return Call(request, lambda answer: _fault(answer.json))


def clear_faults() -> Call[None]:
    """Return the call that removes all fault rules."""
    return Call(ServerRequest(method="DELETE", path=FAULTS), _nothing)


def remove_fault(fault: AddedFault | str) -> Call[None]:
    """Return the call that removes a fault rule."""
    return Call(ServerRequest(method="DELETE", path=f"{FAULTS}/{quote(id_of(fault), safe='')}"), _nothing)


def history(filters: Mapping[str, Any], *, follow: bool = False) -> Call[list[RecordedWrite]]:
    """Return the call for recorded writes. With `follow` its response goes on, in lines for `recorded`."""
    path = path_of(HISTORY, **filters, follow="1" if follow else "")
    return Call(
        ServerRequest(method="GET", path=path),
        lambda answer: [recorded(line) for line in answer.body.splitlines() if line],
    )


def diff(before: int, after: int | None, filters: Mapping[str, Any]) -> Call[list[ObjectDifference]]:
    """Return the call for the differences between two revisions, the later by default the latest."""
    path = path_of(DIFF, **{"from": before, "to": after, **filters})
    return Call(
        ServerRequest(method="GET", path=path),
        lambda answer: [ObjectDifference.of(_record(line)) for line in answer.body.splitlines() if line],
    )


def document_at(revision: int, path: str, labels: str, fields: str) -> Call[Any]:
    """Return the call for an object or a list, by its API path, as of a revision."""
    asked = path_of(AT, revision=revision, path=path, labelSelector=labels, fieldSelector=fields)
    return Call(ServerRequest(method="GET", path=asked), lambda answer: answer.json)


def document(path: str, labels: str = "", fields: str = "") -> Call[Any]:
    """Return the call for the JSON of a path, such as an object, a list or a discovery document."""
    asked = path_of(path, labelSelector=labels, fieldSelector=fields)
    return Call(ServerRequest(method="GET", path=asked), lambda answer: answer.json)


def recorded(line: bytes) -> RecordedWrite:
    """Return the write of a line. Raises ApiError for the line of an error, such as 410 for a reader too slow."""
    return RecordedWrite.of(_record(line))


def fault_rule(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a fault rule; tuples and sets are lists there."""
    return {
        _FAULT_NAMES.get(name, name): list(value) if isinstance(value, tuple | set | frozenset) else value
        for name, value in fields.items()
        if value is not None
    }


def _record(line: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line)
    if record["type"] == "ERROR":
        raise watch_error(record["object"])
    return record


def watch_error(status: Mapping[str, Any]) -> ApiError:
    """Return the error in the last event of a watch, or the last line of the record."""
    return refusal("stream", status.get("code", 0), json.dumps(status).encode())


def _revision_of(line: bytes) -> int:
    return recorded(line).revision


def _post(path: str, body: Mapping[str, Any]) -> ServerRequest:
    return ServerRequest(method="POST", path=path, body=body)


def _revision(answer: RawAnswer) -> int:
    return int(answer.json["resourceVersion"])


def _nothing(answer: RawAnswer) -> None:
    return None


def _fault(rule: Mapping[str, Any]) -> AddedFault:
    return AddedFault(rule["id"], rule)


def _faults(answer: RawAnswer) -> Sequence[AddedFault]:
    found = answer.json
    return [_fault(rule) for rule in found.get("rules", (found,))]


def missing(error: ApiError) -> bool:
    """Report whether a refusal says that there is no such object or resource."""
    return error.code == 404
