"""GET of a collection: consistency, selectors and chunks (seed 1 §4.4, §4.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from orchtw.errors import Expired, Timeout
from orchtw.registry.stored import Stored
from orchtw.request import Response
from orchtw.rules import paging
from orchtw.rules.options import ListOptions, list_options
from orchtw.storage.interface import KeyValue
from orchtw.verbs.call import Call
from orchtw.verbs.context import Context
from orchtw.verbs.freshness import not_older_than
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection


@attrs.frozen(slots=True)
class State:
    """The selected objects at one revision, in key order, from where the list goes on."""

    entries: Sequence[Entry]
    revision: int


async def list_objects(context: Context, call: Call) -> Response:
    """200 and a list whose version is constant through all its chunks.

    Raises BadRequest (400), Expired (410, the version or token is too old), Invalid (422), Timeout (504).
    """
    options = options_of(context, call)
    selection = selection_of(call, options)
    state = await state_of(context, call, options, selection)
    entries = state.entries
    meta: dict[str, Any] = {"resourceVersion": str(state.revision)}
    if 0 < options.limit < len(entries):
        last = entries[options.limit - 1].key.removeprefix(_scope(call))
        meta["continue"] = context.tokens.encode(state.revision, last, call.target.stored.prefix + _scope(call))
        if not options.selective:
            meta["remainingItemCount"] = len(entries) - options.limit
        entries = entries[: options.limit]
    response = context.representations.list(call.target, entries, meta, call.accept, params=call.request.params)
    if call.accept.transform is None:
        token = call.request.param("continue")
        response.identity = (call.target, selection, call.accept, state.revision, options.limit, token)
    return response


def options_of(context: Context, call: Call) -> ListOptions:
    """The call's list options; without chunked lists `limit` and `continue` have no meaning."""
    params = call.request.params
    if not context.chunked_lists:
        params = {key: value for key, value in params.items() if key not in ("limit", "continue")}
    watch = call.info.verb == "watch"
    return list_options(params, call.target.resource.field_selectors, context.naming, watch=watch)


def selection_of(call: Call, options: ListOptions) -> Selection:
    """What the call selects, as one test on entries. A name in a legacy watch path selects that object."""
    resource = call.target.resource
    namespace = call.info.namespace if resource.namespaced else ""
    fields = options.fields
    if len(call.info.parts) > 1 and call.info.verb == "watch":
        fields = fields.with_term("metadata.name", call.info.name)
    return Selection(namespace, options.labels, fields, call.target.stored.field_names)


async def state_of(context: Context, call: Call, options: ListOptions, selection: Selection) -> State:
    """What is selected of the state that the options ask for (the tables of seed 1 §4.6)."""
    if options.consistency in ("exact", "continue"):
        past = await _past(context, call, options)
        chosen = past.entries if selection.everything else list(filter(selection.matches, past.entries))
        return State(chosen, past.revision)
    if options.consistency == "not older":
        await not_older_than(context, options.revision or 0)
    return State(call.target.stored.cache.select(selection), context.cacher.revision)


async def _past(context: Context, call: Call, options: ListOptions) -> State:
    """Everything below the listed prefix at an exact revision, or from where a continue token goes on."""
    if options.position is None:
        return await _exactly(context, call, options.revision or 0, "")
    context.tokens.check(options.position, call.target.stored.prefix + _scope(call))
    start = _scope(call) + options.position.start
    if options.position.revision == paging.LATEST:
        namespace = call.info.namespace if call.target.resource.namespaced else ""
        return State(call.target.stored.cache.page(start, namespace), context.cacher.revision)
    return await _continued(context, call, options.position.revision, start)


async def _continued(context: Context, call: Call, revision: int, start: str) -> State:
    """The rest of a chunked list; an expired token comes back with one that goes on at the latest version."""
    try:
        return await _exactly(context, call, revision, start)
    except Expired:
        last = start.removeprefix(_scope(call)).removesuffix("\0")
        prefix = call.target.stored.prefix + _scope(call)
        raise Expired.token(context.tokens.encode(paging.LATEST, last, prefix)) from None


async def _exactly(context: Context, call: Call, revision: int, start: str) -> State:
    """The state at a revision: out of the cache as far as its log reaches, else out of the store's history."""
    if revision > context.cacher.revision:
        raise Timeout.future_version(revision, context.cacher.revision)
    stored = call.target.stored
    namespace = call.info.namespace if call.target.resource.namespaced else ""
    try:
        return State(stored.cache.page(start, namespace, revision), revision)
    except Expired:
        prefix = stored.prefix + _scope(call)
        page = await context.store.list(prefix, revision=revision, start=stored.prefix + start if start else "")
        return State(list(_readable(stored, page.items)), revision)


def _readable(stored: Stored, items: Iterable[KeyValue]) -> Iterator[Entry]:
    """The entries of a past state without what cannot be decoded, as the cache is (see `ResourceCache.damaged`)."""
    for item in items:
        try:
            yield stored.build(item.key[len(stored.prefix) :], item.value, item.revision)
        except Exception:  # noqa: BLE001 - the cache has logged it, and the others must be shown
            continue


def _scope(call: Call) -> str:
    """The start of all keys below the listed prefix: continue tokens name keys without it."""
    namespace = call.info.namespace if call.target.resource.namespaced else ""
    return f"{namespace}/" if namespace else ""
