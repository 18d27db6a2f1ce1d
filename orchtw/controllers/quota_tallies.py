"""Quota usage of one resource by namespace, kept up to date by its events (reference CTRL-33)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from random import Random

from twisted.internet.interfaces import IReactorTime

from orchtw.client.informer import Reflector
from orchtw.client.interface import Client, Item, Listing, Resource
from orchtw.quota.amounts import NOTHING, Amounts, only, times, total
from orchtw.quota.scopes import Requirement
from orchtw.quota.usage import Evaluator, Usage
from orchtw.responses.slices import Steps, in_turns
from orchtw.watch.turns import ReactorTurns

Told = Callable[[str, bool], None]
"""Called with a namespace whose usage may have changed, and a flag for a possible decrease."""


class Uses:
    """Quota usage of the objects of one resource in one namespace.

    Objects of one workload use the same, so equal uses are counted: a sum has only a few terms.
    """

    def __init__(self) -> None:
        self.complete = False
        self._by_name: dict[str, Usage] = {}
        self._alike: Counter[Usage] = Counter()
        self._gone: set[str] = set()  # while it is not complete

    @property
    def names(self) -> set[str]:
        """Return the names in the usage of all objects."""
        return set(self._by_name)

    def put(self, name: str, usage: Usage) -> bool:
        """Take in what an object uses; whether it was known before with another use."""
        old = self._by_name.get(name)
        if old is usage or old == usage:
            return False
        self._by_name[name] = usage
        self._alike[usage] += 1
        if old is not None:
            self._drop(old)
        self._gone.discard(name)
        return old is not None

    def remove(self, name: str) -> None:
        """Remove the use of an object that is gone."""
        old = self._by_name.pop(name, None)
        if old is not None:
            self._drop(old)
        if not self.complete:
            self._gone.add(name)

    def lacks(self, name: str) -> bool:
        """Report whether a listed object has neither been seen nor removed since."""
        return name not in self._by_name and name not in self._gone

    def finish(self) -> None:
        """Note that all existing objects have been added."""
        self.complete = True
        self._gone.clear()

    def used(self, hard: Collection[str], scopes: Sequence[Requirement], now: float) -> tuple[Amounts, float | None]:
        """Return the usage of `hard` by objects with all scopes, and when it shrinks by itself."""
        found: Amounts = NOTHING
        until: float | None = None
        for usage, count in self._alike.items():
            if all(each.matches(usage.traits) for each in scopes):
                found = total(found, times(only(usage.amounts(now), hard), count))
                if usage.until is not None and usage.until >= now and (until is None or usage.until < until):
                    until = usage.until
        return found, until

    def _drop(self, usage: Usage) -> None:
        self._alike[usage] -= 1
        if not self._alike[usage]:
            del self._alike[usage]


class Tally:
    """Usage of one resource in the requested namespaces; an `ItemSink`."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        evaluator: Evaluator,
        clock: IReactorTime,
        random: Random,
        turns: ReactorTurns,
        told: Told,
    ) -> None:
        self.resource = resource
        self.evaluator = evaluator
        self.reflector = Reflector(client, resource, self, clock, random, turns)
        self._client = client
        self._turns = turns
        self._told = told
        self._uses: dict[str, Uses] = {}

    async def uses(self, namespace: str) -> Uses:
        """Return the usage of a namespace, listed first if it is not known."""
        known = self._uses.get(namespace)
        if known is None:
            known = self._uses[namespace] = Uses()
        if not known.complete:
            await in_turns(self._turns, self._fill(known, await self._client.list(self.resource, namespace)))
        return known

    def _fill(self, known: Uses, listing: Listing) -> Steps[None]:
        """Take in a list, unless another one has been taken in meanwhile."""
        for item in listing.items:
            if known.complete:
                return
            if known.lacks(item.name):
                known.put(item.name, self._measured(item))
            yield
        known.finish()

    def forget(self, namespace: str) -> None:
        """Forget a namespace that is no longer of interest."""
        self._uses.pop(namespace, None)

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        """Take over a new list, as `ItemSink.replaced`. Namespaces requested meanwhile are listed separately."""
        present: dict[str, set[str]] = {namespace: set() for namespace in self._uses}
        for item in items:
            if item.namespace in present:
                present[item.namespace].add(item.name)
                self.changed(item)
            yield
        for namespace, names in present.items():
            uses = self._uses.get(namespace)
            if uses is not None:
                for name in uses.names - names:
                    uses.remove(name)
                self._told(namespace, True)

    def changed(self, item: Item) -> None:
        uses = self._uses.get(item.namespace)
        if uses is not None:
            self._told(item.namespace, uses.put(item.name, self._measured(item)))

    def removed(self, item: Item) -> None:
        uses = self._uses.get(item.namespace)
        if uses is not None:
            uses.remove(item.name)
            self._told(item.namespace, True)

    def _measured(self, item: Item) -> Usage:
        return self.evaluator.fixed or self.evaluator.usage(item.load())
