"""Rules in force: which of them concern a request, and which strike it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import msgspec

from orchtw.errors import BadRequest
from orchtw.faults.counting import FaultCount
from orchtw.faults.kinds import STALE
from orchtw.faults.rule import FaultRule, FaultSubject
from orchtw.request import RequestInfo

MOST_RULES: Final = 100
"""Most rules in force: each request is compared with all of them, in a third of a microsecond for each."""

Seconds = Callable[[], float]


class LiveFault(msgspec.Struct, kw_only=True, eq=False):
    """Rule in force, under its `id`, with its count.

    `created_s` and `struck_s` (None: never) are seconds since the epoch. `moment` is what the server has kept of the
    time at which the rule was added, for stale reads.
    """

    id: str
    rule: FaultRule
    count: FaultCount
    created_s: float
    moment: object = None
    struck_s: float | None = None


class Strike:
    """Fault that a rule has chosen for one request, until it has come about or can no longer do so."""

    __slots__ = ("_open", "_seconds", "_tell", "live")

    def __init__(self, live: LiveFault, seconds: Seconds) -> None:
        self.live = live
        self._seconds = seconds
        self._open = True
        self._tell: Callable[[Strike], None] | None = None

    @property
    def rule(self) -> str:
        """Return the id of the rule."""
        return self.live.id

    @property
    def kind(self) -> str:
        """Return the kind of the fault."""
        return self.live.rule.kind

    def when_struck(self, tell: Callable[[Strike], None]) -> None:
        """Have `tell` called when the fault comes about."""
        self._tell = tell

    def strike(self) -> None:
        """Count the fault: it comes about now. Further calls do nothing."""
        if self._open:
            self._open = False
            self.live.count.strike()
            self.live.struck_s = self._seconds()
            if self._tell is not None:
                self._tell(self)

    def release(self) -> None:
        """Give the fault back to its rule, unless it has come about."""
        if self._open:
            self._open = False
            self.live.count.give_back()


class FaultRules:
    """Rules in force, in the order in which they were added, which is that in which requests meet them.

    `seconds` is the time since the epoch. `spared` are the users of the server itself: only rules that name them
    concern them. `begin` returns what a new rule keeps as its `moment`. `generation` is another object after each
    change of the rules.
    """

    def __init__(
        self, seconds: Seconds, spared: Collection[str] = (), begin: Callable[[FaultRule], Any] = lambda rule: None
    ) -> None:
        self.generation = object()
        self._seconds = seconds
        self._spared = frozenset(spared)
        self._begin = begin
        self._rules: dict[str, LiveFault] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[LiveFault]:
        return iter(tuple(self._rules.values()))

    def find(self, rule_id: str) -> LiveFault | None:
        """Return the rule with that id, or None."""
        return self._rules.get(rule_id)

    def add(self, rules: Sequence[FaultRule]) -> list[LiveFault]:
        """Add rules behind the others, all or none. Raises BadRequest (400) if there are too many."""
        if len(self._rules) + len(rules) > MOST_RULES:
            raise BadRequest(f"at most {MOST_RULES} fault rules can be in force; remove some first")
        return [self._add(rule) for rule in rules]

    def _add(self, rule: FaultRule) -> LiveFault:
        self._number += 1
        live = LiveFault(
            id=f"{rule.kind}-{self._number}",
            rule=rule,
            count=FaultCount(rule),
            created_s=self._seconds(),
            moment=self._begin(rule),
        )
        self._rules[live.id] = live
        self.generation = object()
        return live

    def remove(self, rule_id: str) -> LiveFault | None:
        """Remove a rule and return it; None if there is no such rule. Faults already chosen still strike."""
        removed = self._rules.pop(rule_id, None)
        if removed is not None:
            self.generation = object()
        return removed

    def clear(self) -> int:
        """Remove all rules; return their number."""
        count = len(self._rules)
        self._rules.clear()
        self.generation = object()
        return count

    def concerning(
        self, user: str, info: RequestInfo, *, any_state: bool, by_name: bool = True
    ) -> list[LiveFault]:
        """Return the rules that may strike a resource request, to judge by its head.

        `any_state`: it reads resourceVersion 0, so that a stale state would do. Without `by_name` the rules for all
        objects of its collection are returned.
        """
        if not self._rules or not info.is_resource:
            return []
        return [
            live
            for live in self._rules.values()
            if not live.count.exhausted
            and live.rule.selection.selects_request(user, info, by_name=by_name)
            and (user not in self._spared or user in live.rule.selection.users)
            and (live.rule.kind != STALE or (any_state and not info.subresource))
        ]

    def choose(self, concerning: Sequence[LiveFault], subject: FaultSubject) -> list[Strike]:
        """Return the faults that strike a request about `subject`, by those of its rules that select it.

        Of each kind there is one at most, and none follows one that ends the request: later rules do not count the
        request then.
        """
        strikes: list[Strike] = []
        for live in concerning:
            rule = live.rule
            if any(strike.kind == rule.kind for strike in strikes) or not rule.selection.selects_object(subject):
                continue
            if live.count.choose():
                strikes.append(Strike(live, self._seconds))
                if rule.ends_request:
                    break
        return strikes
