"""Pods that use the claims of a namespace, for watched namespaces only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchtw.client.interface import Client, Item, Listing, Resource
from orchtw.responses.slices import Steps, in_turns
from orchtw.rules.storage_protection import claims_of
from orchtw.watch.turns import ReactorTurns

NOTHING: frozenset[str] = frozenset()


class ClaimUsers:
    """Sink of a reflector of pods.

    Pods are only decoded in watched namespaces, those with a terminating claim: elsewhere writes of pods cost next to
    nothing. `freed` is called with a namespace in which a pod has released claims.
    """

    def __init__(self, client: Client, pods: Resource, turns: ReactorTurns, freed: Callable[[str], None]) -> None:
        self._client = client
        self._pods = pods
        self._turns = turns
        self._freed = freed
        self._claims: dict[str, dict[str, frozenset[str]]] = {}
        """Claims by namespace and pod; an entry may be outdated while the pods are listed."""
        self._complete: set[str] = set()

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        """Forget all claims before a new list, as `ItemSink.replaced`."""
        known = list(self._claims)
        self._claims.clear()
        self._complete.clear()
        for namespace in known:
            self._freed(namespace)
            yield

    def changed(self, item: Item) -> None:
        """Take in a changed pod."""
        if (known := self._claims.get(item.namespace)) is not None:
            before = known.get(item.name, NOTHING)
            known[item.name] = frozenset(claims_of(item.load()))
            if before - known[item.name]:
                self._freed(item.namespace)

    def removed(self, item: Item) -> None:
        """Take in a removed pod."""
        if (known := self._claims.get(item.namespace)) is not None:
            if item.namespace in self._complete:
                known.pop(item.name, None)
            else:
                known[item.name] = NOTHING
            self._freed(item.namespace)

    async def used(self, namespace: str, claim: str) -> bool:
        """Report whether a pod uses the claim; the namespace is watched from now on."""
        while namespace not in self._complete:
            await self._watch(namespace)
        return any(claim in claims for claims in self._claims.get(namespace, {}).values())

    def forget(self, namespace: str) -> None:
        """Watch the namespace no longer."""
        self._claims.pop(namespace, None)
        self._complete.discard(namespace)

    async def _watch(self, namespace: str) -> None:
        """Watch a namespace; events that come while the list is read are newer than the list."""
        known = self._claims.setdefault(namespace, {})
        await in_turns(self._turns, _read(await self._client.list(self._pods, namespace), known))
        if self._claims.get(namespace) is known:
            self._complete.add(namespace)


def _read(listing: Listing, known: dict[str, frozenset[str]]) -> Steps[None]:
    for item in listing.items:
        if item.name not in known:
            known[item.name] = frozenset(claims_of(item.load()))
        yield
