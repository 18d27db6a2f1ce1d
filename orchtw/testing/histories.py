"""Linearizability checker for recorded client histories.

```python
history = History()
operation = history.write("a", "first", 0, now())
...  # the answer comes
operation.end(now(), revision)
self.assertEqual(history.problems(), [])
```
For each key it checks that the operations are linearizable, and that all watchers saw exactly the writes that
happened, in order. Revisions give the order of the writes, so none has to be searched for: it must only be consistent
with the operations and their times.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

NEVER: Final = float("inf")


class Operation(msgspec.Struct):
    """Write or read of a key by a client, from its request to its response.

    A write puts `value` if the key's last write was at revision `expected` (0: it does not exist). `revision` is that
    of its commit, 0: it was rejected because `expected` did not match. A read has no `value` until it ends; its
    `revision` is then that of the write it saw, 0: the key did not exist. An operation without a response may have
    taken effect at any time from `began` on, or not at all.
    """

    write: bool
    began: float
    expected: int = 0
    value: str = ""
    revision: int = 0
    ended: float = NEVER

    def end(self, now: float, revision: int, value: str = "") -> None:
        """Record the response; `value` is what a read saw."""
        self.ended, self.revision = now, revision
        if not self.write:
            self.value = value

    @property
    def answered(self) -> bool:
        """Report whether the client got a response."""
        return self.ended < NEVER


class Register(msgspec.Struct):
    """History of one key: operations, the revisions seen by each watcher, and the values at these revisions."""

    operations: list[Operation] = msgspec.field(default_factory=list)
    watched: dict[str, array[int]] = msgspec.field(default_factory=dict)
    shown: dict[int, str] = msgspec.field(default_factory=dict)
    contradictions: list[str] = msgspec.field(default_factory=list)

    def saw(self, watcher: str, revision: int, value: str) -> None:
        """Record an event that a watcher received."""
        self._told(self.shown, revision, value)
        self.watched.setdefault(watcher, array("Q")).append(revision)

    def problems(self) -> list[str]:
        """Return the contradictions found; empty if the history is consistent."""
        states = self._states()
        located = self._located(states)
        return [
            *self.contradictions,
            *self._unwritten(located, states),
            *self._misplaced(located, states),
            *self._untimely(located),
            *self._refused_in_vain(located, states),
            *self._unlike(list(states)),
        ]

    def _told(self, states: dict[int, str], revision: int, value: str) -> None:
        if states.setdefault(revision, value) != value:
            self.contradictions.append(f"revision {revision} is {states[revision]!r} and {value!r}")

    def _states(self) -> dict[int, str]:
        """Return the key's values by revision, in order, as far as a client or watcher has seen them."""
        states = dict(self.shown)
        for each in self.operations:
            if each.answered and each.revision:
                self._told(states, each.revision, each.value)
        return dict(sorted(states.items()))

    def _located(self, states: dict[int, str]) -> dict[int, Operation]:
        """Return the writes that happened, by revision; those without a response are identified by their value."""
        located = {each.revision: each for each in self.operations if each.write and each.revision}
        lost = {each.value: each for each in self.operations if each.write and not each.answered}
        located |= {
            revision: lost[value] for revision, value in states.items() if revision not in located and value in lost
        }
        return located

    def _unwritten(self, located: dict[int, Operation], states: dict[int, str]) -> Iterator[str]:
        """Yield values that were never written, or that were written more than once."""
        for revision, value in states.items():
            if revision not in located:
                yield f"revision {revision} is {value!r}, which nobody wrote"
        for value, times in Counter(states.values()).items():
            if times > 1:
                yield f"{value!r} was written {times} times"

    def _misplaced(self, located: dict[int, Operation], states: dict[int, str]) -> Iterator[str]:
        """Yield writes that were committed on another revision than the expected one."""
        before = 0
        for revision in states:
            write = located.get(revision)
            if write is not None and write.expected != before:
                yield f"the write at {revision} was for {write.expected}, but {before} was stored"
            before = revision

    def _untimely(self, located: dict[int, Operation]) -> Iterator[str]:
        """Yield operations that are older than an earlier response, and reads that ended before their write began."""
        reads = [(each, each.revision) for each in self.operations if not each.write and each.answered]
        writes = [(each, revision) for revision, each in located.items()]
        ends = sorted((each.ended, revision) for each, revision in (*reads, *writes))
        newest = place = 0
        for each, revision in sorted((*reads, *writes), key=lambda pair: pair[0].began):
            while place < len(ends) and ends[place][0] < each.began:
                newest = max(newest, ends[place][1])
                place += 1
            if each.write and revision <= newest:
                yield f"the write at {revision} began after {newest} had been reported"
            elif not each.write and revision < newest:
                yield f"a read saw {revision} after {newest} had been reported"
        for each, revision in reads:
            if revision in located and each.ended < located[revision].began:
                yield f"a read saw {revision} before it was written"

    def _refused_in_vain(self, located: dict[int, Operation], states: dict[int, str]) -> Iterator[str]:
        """Yield rejected writes during all of which the key was at the expected revision."""
        told: dict[int, float] = {0: -NEVER}
        for each in self.operations:
            if each.answered and each.revision:
                told[each.revision] = min(told.get(each.revision, NEVER), each.ended)
        after = dict(zip((0, *states), states, strict=False))
        for each in self.operations:
            if not each.write or not each.answered or each.revision:
                continue
            follower = located.get(after.get(each.expected, 0))
            gone = NEVER if follower is None else follower.began
            if told.get(each.expected, NEVER) < each.began and each.ended < gone:
                yield f"the write of {each.value!r} was refused, though {each.expected} was stored"

    def _unlike(self, wanted: list[int]) -> Iterator[str]:
        """Yield watchers that missed events, or received them twice or out of order."""
        for name, events in self.watched.items():
            seen = events.tolist()
            if seen == wanted:
                continue
            twice = [revision for revision, times in Counter(seen).items() if times > 1]
            missed = sorted(set(wanted).difference(seen))
            if twice:
                yield f"{name} received {twice[0]} twice"
            elif seen != sorted(seen):
                yield f"{name} received events in another order"
            if missed:
                yield f"{name} missed {len(missed)} of {len(wanted)} events, the first at {missed[0]}"


class History(msgspec.Struct):
    """Histories of all keys."""

    registers: dict[str, Register] = msgspec.field(default_factory=dict)

    def of(self, key: str) -> Register:
        """Return the register of a key."""
        return self.registers.setdefault(key, Register())

    def write(self, key: str, value: str, expected: int, now: float) -> Operation:
        """Record and return a write that is being sent. Its value must be unique."""
        return self._begun(key, Operation(True, now, expected, value))

    def read(self, key: str, now: float) -> Operation:
        """Record and return a read that is being sent."""
        return self._begun(key, Operation(False, now))

    def saw(self, watcher: str, key: str, revision: int, value: str) -> None:
        """Record an event that a watcher received."""
        self.of(key).saw(watcher, revision, value)

    def watched_by(self, watchers: Iterable[str]) -> None:
        """Record watchers of all keys, including those that have received nothing."""
        for name in watchers:
            for register in self.registers.values():
                register.watched.setdefault(name, array("Q"))

    def problems(self) -> list[str]:
        """Return the contradictions found, each with its key; empty if the histories are consistent."""
        return [f"{key}: {text}" for key, register in self.registers.items() for text in register.problems()]

    @property
    def acknowledged(self) -> int:
        """Return the number of acknowledged writes."""
        every = (each for register in self.registers.values() for each in register.operations)
        return sum(each.write and each.answered and each.revision > 0 for each in every)

    @property
    def deliveries(self) -> int:
        """Return the number of events that watchers received."""
        return sum(len(seen) for register in self.registers.values() for seen in register.watched.values())

    def _begun(self, key: str, operation: Operation) -> Operation:
        self.of(key).operations.append(operation)
        return operation
