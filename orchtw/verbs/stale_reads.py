"""Reads of resourceVersion 0 from the state of a cache that lags behind or stands still, for fault rules.

These verbs stand around the honest ones only where faults are enabled, and pass on every call that no rule has
chosen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from orchtw.errors import NotFound
from orchtw.faults.kinds import STALE
from orchtw.faults.rule import FaultRule
from orchtw.faults.rules import Strike
from orchtw.registry.target import Target
from orchtw.request import Response
from orchtw.responses.slices import in_turns
from orchtw.serving.watch_stream import WatchStream
from orchtw.storage.cache.ordered import Entries
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.storage.cache.selecting import namespace_of, range_of, selected
from orchtw.storage.cache.union import Candidates
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading
from orchtw.verbs.handler import Verb
from orchtw.verbs.list import options_of, selection_of
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection

StaleVerb = Callable[[VerbCall, Strike], Awaitable[Response]]


class FrozenState(msgspec.Struct, eq=False, weakref=True):
    """State of one cache at a moment; empty once it holds too much memory (see `Pins`)."""

    entries: Entries | None
    revision: int

    def expire(self) -> None:
        """Drop the state: the oldest one that the history reaches takes its place."""
        self.entries = None


FrozenStates = Mapping[ResourceCache, FrozenState]
"""States of caches at the moment at which a rule was added."""


def freeze(targets: Iterable[Target], rule: FaultRule) -> FrozenStates:
    """Keep the present states of the caches of those targets that a rule may concern.

    A rule whose states lag behind, rather than stand still, keeps none. A state costs the memory of the objects that
    change later, and is bounded with other readers' states.
    """
    found: dict[ResourceCache, FrozenState] = {}
    for target in targets if rule.frozen else ():
        cache = target.stored.cache
        if cache not in found and rule.selection.selects_resource(target.resource.group, target.resource.plural):
            found[cache] = state = FrozenState(cache.snapshot(), cache.revision)
            cache.pins.add(state)
    return found


class StaleReads:
    """Verbs that read past states where a rule has chosen that; `seconds` is the caches' clock."""

    def __init__(self, reading: Reading, seconds: Callable[[], float]) -> None:
        self._reading = reading
        self._seconds = seconds

    def over(self, verbs: Mapping[str, Verb]) -> Mapping[str, Verb]:
        """Return the verbs, with stale ones around those that read."""
        stale: Mapping[str, StaleVerb] = {
            "get": self._get, "list": self._list, "watch": partial(self._watch, verbs["watch"])
        }  # fmt: skip
        return {**verbs, **{name: partial(_either, verbs[name], verb) for name, verb in stale.items()}}

    async def _get(self, call: VerbCall, strike: Strike) -> Response:
        """Return the object as it was: 200. Raises NotFound (404) if it was not there."""
        resource, namespace, name = call.target.resource, call.info.namespace, call.info.name
        selection = Selection(namespace if resource.namespaced else "")
        entries, _ = await self._state(call.target.stored.cache, selection, strike.live.rule, strike.live.moment)
        key = call.target.stored.tail(namespace, name)
        there: Sequence[Entry] = entries.between(key, f"{key}\0")
        strike.strike()
        if not there:
            raise NotFound.of(resource.plural, resource.group, name)
        return await self._reading.representations.entry(
            call.target, there[0], call.accept, params=call.request.params
        )

    async def _list(self, call: VerbCall, strike: Strike) -> Response:
        """Return the list as it was: 200. Raises BadRequest (400), Invalid (422), InternalError (500)."""
        reading, cache = self._reading, call.target.stored.cache
        selection = selection_of(call, options_of(reading, call))
        cache.check_unlocked(selection.namespace)
        entries, revision = await self._state(cache, selection, strike.live.rule, strike.live.moment)
        found: Sequence[Entry] = entries
        if not selection.whole:
            found, _ = await in_turns(reading.cacher.turns, selected(entries, selection, cache.indexes))
        strike.strike()
        meta = {"resourceVersion": str(revision)}
        return await reading.representations.list(call.target, found, meta, call.accept, params=call.request.params)

    async def _watch(self, honest: Verb, call: VerbCall, strike: Strike) -> Response:
        """Begin with the state as it was, then go on with all that came after it; otherwise as the honest verb."""
        response = await honest(call)
        stream, cache = response.stream, call.target.stored.cache
        if isinstance(stream, WatchStream):
            selection = selection_of(call, options_of(self._reading, call))
            entries, revision = await self._state(cache, selection, strike.live.rule, strike.live.moment)
            stream.member.begin_at(entries, revision)
            cache.pins.add(stream.member)
            strike.strike()
        return response

    async def _state(
        self, cache: ResourceCache, selection: Selection, rule: FaultRule, moment: object
    ) -> tuple[Candidates, int]:
        """Return the entries that include the selected ones, and the revision, of the state that a rule shows."""
        frozen = moment.get(cache) if isinstance(moment, dict) else None
        if isinstance(frozen, FrozenState) and frozen.entries is not None:
            return frozen.entries.between(*range_of(namespace_of(selection), "")), frozen.revision
        revision = max(self._wanted(cache, rule), cache.log.reach(self._seconds()))
        entries = await in_turns(self._reading.cacher.turns, cache.past(revision, selection).steps())
        return entries, revision

    def _wanted(self, cache: ResourceCache, rule: FaultRule) -> int:
        """Return the revision of the state that a rule asks for; it may be older than the history."""
        if rule.revisions is not None:
            return cache.revision - rule.revisions
        if rule.seconds is None:  # the state of its beginning has expired, or the cache is younger than the rule
            return 0
        revision = cache.log.revision_at(self._seconds() - rule.seconds)
        return cache.revision if revision is None else revision


async def _either(honest: Verb, stale: StaleVerb, call: VerbCall) -> Response:
    """Call the stale verb if a rule has chosen that for the request, else the honest one."""
    for strike in call.request.faults:
        if isinstance(strike, Strike) and strike.kind == STALE:
            return await stale(call, strike)
    return await honest(call)
