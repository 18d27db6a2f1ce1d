"""A whole server whose requests meet the fault rules that a test adds."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar, TypeVar

from twisted.internet.defer import Deferred

from orchtw.testing.in_process import ClientAnswer
from orchtw.testing.in_process_watch import InProcessWatch
from orchtw.wire.objects import Object
from tests.filters.plan_case import PlanCase

RULES = "/debug/faults"
T = TypeVar("T")


class FaultCase(PlanCase):
    """The config maps `a` and `b` in namespace default, which bob may read; rules are the administrator's."""

    more: ClassVar[Mapping[str, Any]] = {"enable_faults": True}

    def rule(self, **fields: Any) -> str:
        """Add a rule; returns its id."""
        answer = self.send("POST", RULES, fields)
        self.assertEqual(answer.code, 201, answer.body)
        rule_id: str = answer.json["id"]
        return rule_id

    def shown(self, rule_id: str) -> Object:
        """A rule as it is shown."""
        found: Object = self.send("GET", f"{RULES}/{rule_id}").json
        return found

    def counts(self, rule_id: str) -> tuple[int, int]:
        """Counts of requests that a rule has matched, and has struck."""
        found = self.shown(rule_id)
        return found["matched"], found["struck"]

    def refused(
        self, code: int, reason: str, method: str, path: str, body: Any = None, **headers: str
    ) -> ClientAnswer:
        """The answer to a request, which is this Status."""
        answer = self.send(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        self.assertEqual((answer.code, answer.json["reason"]), (code, reason), answer.body)
        return answer

    def begin(self, method: str, path: str, body: Any = None) -> Deferred[ClientAnswer]:
        """Begin a request that may have to wait."""
        return self.begun(self.server.request(method, path, body))

    def begun(self, work: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Begin some work, and let some turns pass."""
        asked = Deferred.fromCoroutine(work)
        self.turns()
        return asked

    def turns(self) -> None:
        """Let some turns of the reactor pass."""
        for _ in range(20):
            self.clock.advance(0)

    def watch(self, url: str) -> InProcessWatch:
        """Begin a watch, closed with the test."""
        watch = self.run_async(self.server.watch(url))
        self.addCleanup(watch.close)
        return watch

    def next(self, watch: InProcessWatch) -> tuple[str, str]:
        """Type and name of the next event of a watch; of an error its code."""
        event = self.run_async(watch.next())
        obj = event["object"]
        return event["type"], obj["metadata"].get("name") or str(obj.get("code", ""))
