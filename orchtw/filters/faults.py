"""Faults on demand: requests that rules have chosen fail, wait, or lose their connections."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.errors import Timeout
from orchtw.faults.kinds import AFTER, BOOKMARKS, CUT, EXPIRED, HANGING, LATE, RESET
from orchtw.faults.rule import FaultSubject
from orchtw.faults.rules import FaultRules, LiveFault, Strike
from orchtw.faults.statuses import error_of
from orchtw.faults.struck import MOST_CHARACTERS, NO_RECORD, FaultRecord, StruckFault, answer_of, in_stream
from orchtw.faults.tester import TESTER
from orchtw.filters.chain import Proceed
from orchtw.filters.fault_subjects import FaultSubjects
from orchtw.filters.plan import Part
from orchtw.metrics.series import Family, Number
from orchtw.request import Ending, Request, RequestInfo, Response, utf8_text
from orchtw.serving.faulty_watch import FaultyWatch, WatchStrikes
from orchtw.serving.reset import ConnectionReset
from orchtw.serving.watch_stream import WatchStream

MOST_WAITING: Final = 1000
"""Most requests that faults hold up at a time; further ones are not made to wait."""

_IN_STREAM: Final = (CUT, BOOKMARKS)
_REFUSED: Final = 400
"""Codes from here on answer a request that has stored nothing."""


class _Account:
    """Faults that have struck one request, until its answer is known and they are recorded; later ones at once."""

    def __init__(self, request: Request, name: str, record: FaultRecord) -> None:
        self._request = request
        self._name = name
        self._record = record
        self._since = record.position
        self._struck: list[Strike] | None = []

    def add(self, strike: Strike) -> None:
        """Take in a fault that has come about."""
        if self._struck is not None:
            self._struck.append(strike)
        else:
            self._put(strike, in_stream(strike), self._record.position)

    def close(self, outcome: int | BaseException) -> None:
        """Record the faults: the answer is known."""
        struck, self._struck = self._struck or (), None
        for strike in struck:
            answer = "connection reset" if isinstance(outcome, ConnectionReset) else answer_of(outcome)
            self._put(strike, answer, self._since)

    def _put(self, strike: Strike, answer: str, since: int) -> None:
        request, info, most = self._request, self._request.info, MOST_CHARACTERS
        assert info is not None and request.user is not None
        self._record.struck(
            StruckFault(
                rule=strike.rule,
                answer=answer,
                user=request.user.name[:most],
                user_agent=utf8_text(request.headers.get("user-agent", ""))[:most],
                audit_id=request.audit_id,
                verb=info.verb,
                group=info.group,
                version=info.version,
                resource=info.resource,
                subresource=info.subresource[:most],
                namespace=info.namespace[:most],
                name=(info.name or self._name)[:most],
            ),
            since,
        )


class FaultStage:
    """Stage that carries out the faults which `rules` choose for resource requests.

    It stands behind authorization: an unauthorized user still gets 403 and cannot use rules up, the user of the rules
    is the impersonated one, and the audit knows the request. It stands before everything that touches objects, so
    that a request which fails here has changed nothing. A request that waits holds its seat of priority and fairness,
    as a slow one would.

    `struck` counts the faults that came about by kind, `annotation` is the audit annotation with their rules, and
    `record` takes in those after which nothing was stored.
    """

    def __init__(
        self,
        rules: FaultRules,
        subjects: FaultSubjects,
        clock: IReactorTime,
        struck: Family[Number],
        annotation: str,
        record: FaultRecord = NO_RECORD,
    ) -> None:
        self._rules = rules
        self._subjects = subjects
        self._clock = clock
        self._struck = struck
        self._annotation = annotation
        self._record = record
        self._held: dict[Deferred[None], None] = {}

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, unless a fault strikes.

        Raises the StatusError of a rule, Timeout (504) after a hang, and ConnectionReset.
        """
        concerning = self._concerning(request)
        return self._meet(request, concerning, proceed) if concerning else proceed(request)

    def plan(self, request: Request) -> Part | None:
        """Hold while the rules are the same ones; rules that may strike an object of the collection forbid a plan.

        Plans answer for all names of a collection, so they are left out of the comparison.
        """
        if self._concerning(request, by_name=False):
            return None
        rules, generation = self._rules, self._rules.generation
        return Part(stands=(lambda: rules.generation is generation,))

    def end(self) -> None:
        """Remove all rules and hold nothing up any more: the server is shutting down."""
        self._rules.clear()
        for held in tuple(self._held):
            held.callback(None)

    def _concerning(self, request: Request, *, by_name: bool = True) -> Sequence[LiveFault]:
        info, user, rules = request.info, request.user, self._rules
        assert info is not None and user is not None
        if not len(rules) or request.given_up:
            return ()
        any_state = request.param("resourceVersion") == "0" and not request.param("continue")
        found = rules.concerning(user.name, info, any_state=any_state, by_name=by_name)
        if user.name == TESTER and found:
            return tuple(live for live in found if TESTER in live.rule.selection.users)
        return found

    async def _meet(self, request: Request, concerning: Sequence[LiveFault], proceed: Proceed) -> Response:
        info = request.info
        assert info is not None
        subject = FaultSubject(name=info.name)
        if any(live.rule.selection.asks_object(info) for live in concerning):
            subject = await self._subjects.of(request, info)
            concerning = self._concerning(request)  # again: reading a large body takes its time
        # No await from here to the choice: requests are counted in the order in which they come.
        strikes = self._rules.choose(concerning, subject)
        request.faults = strikes
        account = _Account(request, subject.name, self._record)
        for strike in strikes:
            strike.when_struck(self._teller(request, account))
        # Faults that did not come about, because the request ended before, go back to their rules.
        try:
            for strike in strikes:
                await self._before(request, info, subject, strike)
            response = self._after(request, strikes, await proceed(request))
        except BaseException as error:
            _release(strikes)
            account.close(error)
            raise
        account.close(response.code)
        return response

    def _teller(self, request: Request, account: _Account) -> Callable[[Strike], None]:
        """Return what counts and records a fault of a request that comes about."""
        annotations, annotation, struck = request.annotations, self._annotation, self._struck

        def tell(strike: Strike) -> None:
            before = annotations.get(annotation)
            annotations[annotation] = f"{before},{strike.rule}" if before else strike.rule
            struck.of(strike.kind).value += 1
            account.add(strike)

        return tell

    async def _before(self, request: Request, info: RequestInfo, subject: FaultSubject, strike: Strike) -> None:
        """Carry out a fault that comes before the request is served. Raises as `handle`."""
        rule = strike.live.rule
        if strike.kind in (LATE, HANGING):
            if await self._wait(request, strike) and strike.kind == HANGING:
                raise Timeout.request()
        elif rule.ends_request:
            strike.strike()
            if strike.kind == RESET:
                raise ConnectionReset
            raise error_of(rule, info, subject.name, request.param("resourceVersion"))

    async def _wait(self, request: Request, strike: Strike) -> bool:
        """Hold the request up; False if too many are held up already.

        Its client or its deadline may end it meanwhile: nothing of it has been done.
        """
        seconds = strike.live.rule.seconds
        if seconds is None or len(self._held) >= MOST_WAITING:
            return False
        strike.strike()
        held: Deferred[None] = Deferred()
        timer = self._clock.callLater(seconds, held.callback, None)
        self._held[held] = None
        request.queued = True
        try:
            await held
        finally:
            request.queued = False
            del self._held[held]
            if timer.active():
                timer.cancel()
        return True

    def _after(self, request: Request, strikes: Sequence[Strike], response: Response) -> Response:
        """Carry out the faults of an answer. Raises ConnectionReset in place of one whose write is stored."""
        for strike in strikes:
            if strike.kind == RESET and strike.live.rule.when == AFTER and response.code < _REFUSED:
                strike.strike()
                response.drop(Ending.ABORTED)
                raise ConnectionReset
        streaming = {strike.kind: strike for strike in strikes if _is_streaming(strike)}
        if streaming and type(response.stream) is WatchStream:
            faults = WatchStrikes(
                cut=streaming.get(CUT), expired=streaming.get(EXPIRED), bookmarks=streaming.get(BOOKMARKS)
            )
            response.stream = FaultyWatch(response.stream, faults, self._clock)
            _release([strike for strike in strikes if not _is_streaming(strike)])
        else:
            _release(strikes)
        return response


def _is_streaming(strike: Strike) -> bool:
    return strike.kind in _IN_STREAM or strike.live.rule.in_stream


def _release(strikes: Sequence[Strike]) -> None:
    for strike in strikes:
        strike.release()
