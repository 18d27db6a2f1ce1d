"""Interface to the server that is exported from or written to, and its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from orchtw.wire.objects import Object

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"

Params = Sequence[tuple[str, str]]
"""Query parameters, of which one may come several times."""


class ServerAnswer(msgspec.Struct, frozen=True):
    """A whole answer: its code, and its JSON value or None."""

    code: int
    value: Any

    @property
    def message(self) -> str:
        """Return the message of a Status on one line."""
        message = self.value.get("message") if isinstance(self.value, dict) else None
        return " ".join(str(message or f"the server answered with status {self.code}").split())


class ServerClient(Protocol):
    """Client of a server's API."""

    async def ask(
        self, method: str, path: str, params: Params = (), obj: Object | None = None, content: str = JSON
    ) -> ServerAnswer:
        """Return a whole answer, of any code; `obj` is sent as JSON of the content type."""


class RecordReader(Protocol):
    """Reader of a server's record of writes."""

    def records(self, params: Params) -> AsyncIterator[Object]:
        """Yield the records that the parameters select."""

    def states(self, params: Params) -> AsyncIterator[Object]:
        """Yield the objects of a past state."""


class Pace(Protocol):
    """Clock of the client, and its way to wait."""

    def seconds(self) -> float:
        """Return the time, from any beginning."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""


def object_name(named: Object) -> str:
    """Return kind, namespace and name of the object of a line: `configmap default/a`."""
    path = f"{named['namespace']}/{named['name']}" if named["namespace"] else named["name"]
    return f"{kind_name(named)} {path}"


def kind_name(named: Object) -> str:
    """Return a kind with its group: `configmap` or `deployment.apps`."""
    kind: str = named["kind"].lower() or named["resource"]  # faults strike aggregated APIs as well
    return f"{kind}.{named['group']}" if named["group"] else kind
