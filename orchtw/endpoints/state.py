"""`/debug/state`: snapshots of the server's whole state, and restores (reference STORE-40)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import orjson

from orchtw.endpoints.paths import JSON
from orchtw.errors import BadRequest
from orchtw.request import Request, Response
from orchtw.values.times import rfc3339
from orchtw.wire.json_values import loads

PATH: Final = "/debug/state"
EXPIRE, FOLLOW = "expire", "follow"
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "snapshot": frozenset(),
    "restore": frozenset({"snapshot", "watches"}),
    "reset": frozenset({"watches"}),
    "release": frozenset({"snapshot"}),
}
"""Further fields of each action."""


class ShownSnapshot(Protocol):
    """A snapshot, as the endpoint shows it."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> int: ...

    @property
    def items(self) -> Mapping[str, object]: ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def taken(self) -> float: ...


class Restored(Protocol):
    """Outcome of a restore."""

    @property
    def revision(self) -> int: ...

    @property
    def changed(self) -> int: ...


class Control(Protocol):
    """Control of the state, see `orchtw.snapshots.state_control.StateControl`."""

    def kept(self) -> Sequence[ShownSnapshot]: ...

    async def snapshot(self) -> ShownSnapshot: ...

    async def restore(self, name: str, *, expires: bool) -> Restored: ...

    def release(self, name: str) -> None: ...


class State:
    """Endpoint of the state, for those who may do all; the index does not list it."""

    methods = frozenset({"GET", "HEAD", "POST"})

    def __init__(self, control: Control, start: str) -> None:
        self._control = control
        self._start = start

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the one path."""
        return ((PATH, PATH),)

    async def handle(self, request: Request, path: str) -> Response:
        """List the snapshots, or carry out an action. Raises BadRequest (400) and what the control raises."""
        if request.method != "POST":
            return _json([_shown(each) for each in self._control.kept()])
        asked = _read(request.body)
        action = asked["action"]
        if action == "snapshot":
            return _json(_shown(await self._control.snapshot()))
        if action == "release":
            self._control.release(asked["snapshot"])
            return _json({})
        name = self._start if action == "reset" else asked["snapshot"]
        done = await self._control.restore(name, expires=asked.get("watches", EXPIRE) == EXPIRE)
        return _json({"resourceVersion": str(done.revision), "changed": done.changed})


def _read(body: bytes) -> Mapping[str, str]:
    """Return the fields of an action. Raises BadRequest (400)."""
    try:
        asked: Any = loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict) or not all(isinstance(value, str) for value in asked.values()):
        raise BadRequest("the body must be a JSON object with string values")
    known = _FIELDS.get(asked.get("action", ""))
    if known is None:
        raise BadRequest(f"action: must be one of {', '.join(_FIELDS)}")
    if unknown := sorted(asked.keys() - known - {"action"}):
        raise BadRequest(f"{unknown[0]}: unknown field of action {asked['action']}")
    if "snapshot" in known and not asked.get("snapshot"):
        raise BadRequest("snapshot: required")
    if asked.get("watches", EXPIRE) not in (EXPIRE, FOLLOW):
        raise BadRequest(f"watches: must be {EXPIRE} or {FOLLOW}")
    return asked


def _shown(snapshot: ShownSnapshot) -> dict[str, object]:
    return {
        "snapshot": snapshot.name,
        "resourceVersion": str(snapshot.revision),
        "objects": len(snapshot.items),
        "bytes": snapshot.size_bytes,
        "taken": rfc3339(int(snapshot.taken)),
    }


def _json(content: object) -> Response:
    return Response(content_type=JSON, body=orjson.dumps(content) + b"\n")
