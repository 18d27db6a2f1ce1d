"""GET of a collection: consistency, selectors and chunks (reference READ-4, READ-12, READ-18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.errors import BadRequest
from orchtw.registry.stored import Stored
from orchtw.request import Response
from orchtw.rules.list_options import ListOptions, list_options
from orchtw.rules.shard_selectors import NAMESPACE, ShardSelector
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading
from orchtw.verbs.list_state import scope_of, state_of
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection


async def list_objects(context: Reading, call: VerbCall) -> Response:
    """List objects: 200 and a list whose version is the same in all its chunks.

    Raises BadRequest (400), Expired (410, the version or token is too old), Invalid (422), Timeout (504).
    """
    options = options_of(context, call)
    selection = selection_of(call, options)
    state = await state_of(context, call, options, selection)
    entries = state.entries
    meta: dict[str, Any] = {"resourceVersion": str(state.revision)}
    if options.shards is not None:
        meta["shardInfo"] = {"selector": str(options.shards)}
    if 0 < options.limit < len(entries):
        scope = scope_of(call)
        last = entries[options.limit - 1].key.removeprefix(scope)
        meta["continue"] = context.tokens.encode(state.revision, last, call.target.stored.prefix + scope)
        if not options.selective:
            meta["remainingItemCount"] = len(entries) - options.limit + state.beyond
        entries = entries[: options.limit]
    response = await context.representations.list(call.target, entries, meta, call.accept, params=call.request.params)
    if call.accept.transform is None:
        response.identity = call.target, call.accept.format
    return response


def options_of(context: Reading, call: VerbCall) -> ListOptions:
    """Return the call's list options; without chunked lists `limit` and `continue` are ignored."""
    params = call.request.params
    if not context.chunked_lists:
        params = {key: value for key, value in params.items() if key not in ("limit", "continue")}
    watch, resource = call.info.verb == "watch", call.target.resource
    custom = not resource.protobuf
    return list_options(
        params,
        resource.field_selectors,
        context.naming,
        watch=watch,
        custom=custom,
        watch_list=context.watch_list,
        sharded=context.sharded,
    )


def selection_of(call: VerbCall, options: ListOptions) -> Selection:
    """Return the selection of the call, as one test on entries. A name in a legacy watch path selects that object.

    Raises BadRequest (400) if a field selector beside such a name is not about it (reference REQ-6).
    """
    resource = call.target.resource
    namespace = call.info.namespace if resource.namespaced else ""
    fields = options.fields
    if len(call.info.parts) > 1 and call.info.verb == "watch":
        if fields.terms and fields.exact("metadata.name") != call.info.name:
            raise BadRequest("fieldSelector metadata.name doesn't match requested name")
        fields = fields.with_term("metadata.name", call.info.name)
    stored = call.target.stored
    if options.shards is None:
        return Selection(namespace, options.labels, fields, stored.field_names)
    hashed = _reader(stored, options.shards)
    return Selection(namespace, options.labels, fields, stored.field_names, options.shards, hashed)


def _reader(stored: Stored, shards: ShardSelector) -> Callable[[Entry], str]:
    """Return a function that reads the field by which objects are sharded (reference READ-29)."""
    if shards.field == NAMESPACE:
        return lambda entry: entry.namespace
    return lambda entry: str(stored.metadata(entry, owned=False).get("uid", ""))
