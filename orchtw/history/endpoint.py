"""`/debug/history`: recorded writes, states at past revisions, and differences between two of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from orchtw.errors import BadRequest
from orchtw.history.past import PastStates
from orchtw.history.query import OBJECT_FILTERS, Filters, Params, RecordQuery, check_known, number
from orchtw.history.reading import RecordLines
from orchtw.history.recorder import Recorder
from orchtw.history.states import Begun, StateAnswers
from orchtw.history.stream import TextParts, TextStream
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Store

PATH: Final = "/debug/history"
AT: Final = f"{PATH}/at"
DIFF: Final = f"{PATH}/diff"
LINES: Final = "application/x-ndjson"
_NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")


class HistoryEndpoint:
    """Endpoint of the record. The server's index does not list its paths, as with other debugging endpoints."""

    methods = frozenset({"GET"})

    def __init__(
        self, recorder: Recorder, cacher: Cacher, store: Store, targets: Targets, offload: Offload
    ) -> None:
        self._recorder = recorder
        self._offload = offload
        self._states = PastStates(recorder, cacher, store)
        self._answers = StateAnswers(self._states, targets, offload)

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the paths of records, states and differences."""
        return ((path, path) for path in (PATH, AT, DIFF))

    async def handle(self, request: Request, path: str) -> Response:
        """Return a stream of lines, or of one JSON document.

        Raises BadRequest (400) for wrong parameters, TooManyRequests (429) beyond the number of readers, and what
        `StateAnswers` raises before the first part.
        """
        params = request.params
        if path == PATH:
            query = RecordQuery.of(params, self._recorder.seconds())
            return self._streamed(RecordLines(self._recorder, query, self._offload), self._recorder.readers.enter())
        leave = self._recorder.state_readers.enter()
        try:
            parts = Begun(await (self._at(params) if path == AT else self._diff(params)))
            await parts.begin()
        except BaseException:
            leave()
            raise
        return self._streamed(parts, leave, lines="path" not in params)

    async def _at(self, params: Params) -> AsyncIterator[bytes]:
        if "path" in params:
            check_known(params, ("revision", "path", "labelSelector", "fieldSelector"))
            return self._answers.of_path(params, await self._revision(params, "revision"))
        check_known(params, ("revision", *OBJECT_FILTERS))
        filters = Filters.of(params, OBJECT_FILTERS)
        return self._answers.all_objects(filters, await self._revision(params, "revision"))

    async def _diff(self, params: Params) -> AsyncIterator[bytes]:
        check_known(params, ("from", "to", *OBJECT_FILTERS))
        if "from" not in params:
            raise BadRequest("from: the revision to compare with is missing")
        after, upto = await self._revision(params, "from"), await self._revision(params, "to")
        if after > upto:
            raise BadRequest(f"from: {after} must not be later than to, which is {upto}")
        return self._answers.differences(Filters.of(params, OBJECT_FILTERS), after, upto)

    async def _revision(self, params: Params, name: str) -> int:
        """Return a parameter's revision, by default the latest. Raises BadRequest (400) and Timeout (504)."""
        return await self._states.resolve(number(params, name) or 0)

    def _streamed(self, parts: TextParts, leave: Callable[[], None], *, lines: bool = True) -> Response:
        return Response(
            content_type=LINES if lines else "application/json",
            stream=TextStream(parts, self._recorder.turns, leave, lines=lines),
            headers=[_NO_SNIFF],
            patient=True,  # people read it, who may stop for a while
        )
