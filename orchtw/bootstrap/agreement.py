"""Agreement of this server with the others of its cluster, checked periodically (reference CTRL-52)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from twisted.logger import Logger

from orchtw.bootstrap.server_leases import Record, ServerLeases
from orchtw.metrics.series import GAUGE, Read, Values
from orchtw.rules.agreement import Difference, Fact, differences

UNKNOWN = "the other servers are not known yet"


class Agreement:
    """Compares `facts` with those of the live servers.

    If two servers differ in a fatal fact, the later one waits until the other has gone. `changed` is called when that
    begins and when it ends. A server that shares its store with no other always agrees.
    """

    _log = Logger()

    def __init__(self, leases: ServerLeases, facts: Sequence[Fact]) -> None:
        self._leases = leases
        self._facts = facts
        self._known = not leases.shared
        self._found: Mapping[str, tuple[Record, Sequence[Difference]]] = {}
        self._blocking: Sequence[str] = ()
        self.changed: Callable[[bool], None] = lambda agreed: None

    @property
    def agreed(self) -> bool:
        """Report whether this server may be ready, bootstrap the cluster and run controllers."""
        return self._known and not self._blocking

    @property
    def objection(self) -> str:
        """Reason why the server may not; empty: it may."""
        return "" if self.agreed else "; ".join(self._blocking) or UNKNOWN

    @property
    def remarks(self) -> Sequence[str]:
        """One sentence for each server that differs."""
        return [_sentence(record, found) for record, found in self._found.values() if found]

    def families(self) -> Iterator[Read]:
        """Yield the number of servers that differ, by fact."""
        yield Read(
            self._counts,
            "orchtw_server_disagreements",
            GAUGE,
            "Other servers whose configuration differs from this server's, by fact.",
            ("fact",),
        )

    def _counts(self) -> Iterator[tuple[Values, float]]:
        for fact in self._facts:
            count = sum(each.fact == fact.name for _, found in self._found.values() for each in found)
            yield (fact.name,), count

    async def look(self) -> None:
        """Compare with the live servers, and report a change. Raises the store's errors."""
        if not self._leases.shared:
            return
        records = await self._leases.records()
        before = self.agreed
        self._compare(records)
        if self.agreed != before:
            self.changed(self.agreed)
        await self._leases.accept(self.agreed)

    def _compare(self, records: Sequence[Record]) -> None:
        mine, others = self._leases.name, [each for each in records if each.name != self._leases.name]
        found = {each.name: (each, differences(self._facts, each.facts)) for each in others}
        since = next((each.since for each in records if each.name == mine), 0) or float("inf")
        earlier = [each for each in others if (each.since, each.name) < (since, mine)]
        # If none has been accepted yet, the first of all counts: two that start at once do not wait for each other.
        judges = [each for each in earlier if each.accepted] or earlier[:1]
        fatal = {each.name: [one for one in found[each.name][1] if one.fatal] for each in judges}
        blocking = [_sentence(each, fatal[each.name]) for each in judges if fatal[each.name]]
        self._say(found, blocking)
        self._known, self._found, self._blocking = True, found, blocking

    def _say(self, found: Mapping[str, tuple[Record, Sequence[Difference]]], blocking: Sequence[str]) -> None:
        """Log new differences, and those that are resolved."""
        if blocking and blocking != self._blocking:
            why = "; ".join(blocking)
            self._log.error("this server is not ready and runs no controllers: {why}", why=why)
        elif self._blocking and not blocking:
            self._log.info("this server agrees with all live servers again")
        for name, (record, differing) in found.items():
            if differing and not blocking and (name not in self._found or self._found[name][1] != differing):
                self._log.warn("{what}", what=_sentence(record, differing))


def _sentence(record: Record, found: Sequence[Difference]) -> str:
    """Describe the facts in which a server differs."""
    where = str(record.place)
    name = record.name.removeprefix(where).strip()
    return f"differs from server {where} ({name}) in {', '.join(each.fact for each in found)}"
