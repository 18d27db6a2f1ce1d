"""`/debug/api_priority_and_fairness/…`: levels, queues and waiting requests as text (reference FLOW-13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from orchtw.endpoints.paths import TEXT
from orchtw.flowcontrol import dumps
from orchtw.flowcontrol.live import Live
from orchtw.registry.offload import Offload
from orchtw.request import Request, Response

PREFIX: Final = "/debug/api_priority_and_fairness/"
DETAILS: Final = "includeRequestDetails"
_ROW_BYTES: Final = 500


class FlowControlDumps:
    """Endpoint of the three dumps, which the index does not list."""

    methods = frozenset({"GET", "HEAD"})

    def __init__(self, live: Live, offload: Offload) -> None:
        self._live = live
        self._offload = offload
        self._rows: Mapping[str, Callable[[Request], Sequence[dumps.Row]]] = {
            f"{PREFIX}dump_priority_levels": lambda request: dumps.priority_levels(live),
            f"{PREFIX}dump_queues": lambda request: dumps.queues(live),
            f"{PREFIX}dump_requests": lambda request: dumps.requests(live, details=bool(request.param(DETAILS))),
        }

    def paths(self) -> Iterable[str]:
        """Return no paths: these are not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the three paths of the dumps."""
        return ((path, path) for path in self._rows)

    async def handle(self, request: Request, path: str) -> Response:
        """Return the dump as a table; a long one is formatted in a thread."""
        self._live.settled()
        rows = self._rows[path](request)
        body = await self._offload.run(len(rows) * _ROW_BYTES, partial(dumps.table, rows))
        return Response(content_type=TEXT, body=body)
