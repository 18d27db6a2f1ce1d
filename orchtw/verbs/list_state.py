"""State for a list or deletecollection, selected in slices however large it is (reference READ-4)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from orchtw.errors import Expired
from orchtw.registry.offload import INLINE_BYTES
from orchtw.responses.slices import in_turns
from orchtw.rules import continue_token
from orchtw.rules.list_options import ListOptions
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.selecting import selected
from orchtw.storage.cache.union import Candidates
from orchtw.storage.store import KeyValue
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection

BUILD_STRIDE: Final = 4  # values decoded between two looks
PAGE_ITEMS: Final = 1000  # of the store's history


class State(msgspec.Struct, frozen=True):
    """The selected objects at one revision, in key order, from where the list goes on.

    With a limit there may be one more than that, and then `beyond` further ones that have not been looked at.
    """

    entries: Sequence[Entry]
    revision: int
    beyond: int = 0


async def state_of(context: Reading, call: VerbCall, options: ListOptions, selection: Selection) -> State:
    """Return the selected objects of the requested state. Raises InternalError (500) if some cannot be read."""
    stored = call.target.stored
    stored.cache.check_unlocked(selection.namespace)
    if options.consistency in ("exact", "continue"):
        return await _past(context, call, options, selection)
    if (wait := stored.cache.freshness.due(options.revision)) is not None:
        await wait
    return await _now(context, call, options, selection)


async def _now(
    context: Reading, call: VerbCall, options: ListOptions, selection: Selection, start: str = ""
) -> State:
    """Return the selected objects of the current state, from key `start` on."""
    cache = call.target.stored.cache
    if (coming := cache.indexes.coming(selection)) is not None:
        await coming
    revision = context.cacher.revision
    entries, index = cache.indexed(selection)
    if 0 < options.limit < len(entries):
        cache.keep(revision, selection, entries)
    entries = entries.between(start) if start else entries
    return await _chosen(context, call, entries, selection, options.limit, revision, index)


async def _chosen(
    context: Reading,
    call: VerbCall,
    entries: Candidates,
    selection: Selection,
    limit: int,
    revision: int,
    index: str = "",
) -> State:
    """Return the selected ones of `entries`, which an index or the namespace has narrowed down."""
    stored = call.target.stored
    found: Sequence[Entry] = entries
    seen = len(entries)
    if not selection.whole:
        steps = selected(entries, selection, stored.cache.indexes, limit)
        found, seen = await in_turns(context.cacher.turns, steps)
    returned = min(len(found), limit) if limit else len(found)
    context.lists.cached(stored.prefix, index, min(seen, returned) if selection.whole else seen, returned)
    return State(found, revision)


async def _past(context: Reading, call: VerbCall, options: ListOptions, selection: Selection) -> State:
    """Return the selected objects of an exact revision, or of a continue token from its position on."""
    if options.position is None:
        return await _exactly(context, call, options, selection, options.revision or 0, "")
    scope = scope_of(call)
    context.tokens.check(options.position, call.target.stored.prefix + scope)
    start = scope + options.position.start
    if options.position.revision == continue_token.LATEST:
        if (wait := call.target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        return await _now(context, call, options, selection, start)
    try:
        return await _exactly(context, call, options, selection, options.position.revision, start)
    except Expired:
        last = start.removeprefix(scope).removesuffix("\0")
        prefix = call.target.stored.prefix + scope
        raise Expired.token(context.tokens.encode(continue_token.LATEST, last, prefix)) from None


async def _exactly(
    context: Reading, call: VerbCall, options: ListOptions, selection: Selection, revision: int, start: str
) -> State:
    """Return the state at a revision: from the cache as far as its log reaches, else from the store's history."""
    if revision > context.cacher.revision:
        await context.cacher.freshness.exactly(revision)
    cache = call.target.stored.cache
    entries = cache.found(revision, selection)
    if entries is None:
        try:
            past = cache.past(revision, selection)
        except Expired:
            return await _of_history(context, call, options, selection, revision, start)
        entries = await in_turns(context.cacher.turns, past.steps())
        if 0 < options.limit < len(entries):
            cache.keep(revision, selection, entries)
    entries = entries.between(start) if start else entries
    return await _chosen(context, call, entries, selection, options.limit, revision)


async def _of_history(
    context: Reading, call: VerbCall, options: ListOptions, selection: Selection, revision: int, start: str
) -> State:
    """Return the same state from the store, page by page."""
    stored, limit = call.target.stored, options.limit
    prefix = stored.prefix + scope_of(call)
    size = min(limit + 1, PAGE_ITEMS) if limit else PAGE_ITEMS
    begin = stored.prefix + start if start else ""
    found: list[Entry] = []
    fetched = 0
    while True:
        page = await context.store.list(prefix, revision=revision, limit=size, start=begin)
        fetched += len(page.items)
        for large, items in groupby(page.items, _is_large):
            if large:
                found += [each for item in items for each in await _build_large(context, call, item, selection)]
            else:
                found += await in_turns(context.cacher.turns, _build(call, list(items), selection))
        if limit and len(found) > limit:
            context.lists.stored(stored.prefix, fetched, limit)
            return State(found[: limit + 1], revision, page.remaining + len(found) - limit - 1)
        if not page.more:
            context.lists.stored(stored.prefix, fetched, len(found))
            return State(found, revision)
        begin = page.items[-1].key + "\0"


def _is_large(item: KeyValue) -> bool:
    return len(item.value) > INLINE_BYTES


def _build(call: VerbCall, items: Sequence[KeyValue], selection: Selection) -> Generator[None, None, list[Entry]]:
    """Return the selected entries of stored values, in steps."""
    found: list[Entry] = []
    for start in range(0, len(items), BUILD_STRIDE):
        for item in items[start : start + BUILD_STRIDE]:
            found += _built(call, item, selection)
        yield
    return found


async def _build_large(context: Reading, call: VerbCall, item: KeyValue, selection: Selection) -> list[Entry]:
    """Return the entry of one large value, with its JSON, made in the thread."""

    def work() -> list[Entry]:
        found = _built(call, item, selection)
        for entry in found if call.target.forms is None else ():
            call.target.json_tail(entry)
        return found

    return await context.offload.run(len(item.value), work)


def _built(call: VerbCall, item: KeyValue, selection: Selection) -> list[Entry]:
    """Return a stored value's entry, or nothing if it is not selected or unreadable."""
    stored = call.target.stored
    try:
        entry = stored.build(item.key[len(stored.prefix) :], item.value, item.revision)
    except Exception:  # noqa: BLE001 - left out as the cache does, which has logged it
        return []
    return [entry] if selection.matches(entry) else []


def scope_of(call: VerbCall) -> str:
    """Return the prefix of all listed keys: continue tokens name keys without it."""
    namespace = call.info.namespace if call.target.resource.namespaced else ""
    return f"{namespace}/" if namespace else ""
