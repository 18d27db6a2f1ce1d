"""GET of one object (reference READ-3)."""

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.registry.target import Target
from orchtw.request import Response
from orchtw.rules.resource_version import get_revision
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading
from orchtw.verbs.equal_gets import Body
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


async def get(context: Reading, call: VerbCall) -> Response:
    """Return the current object: 200. Raises NotFound (404), or Timeout (504) for a version that does not come."""
    wanted = get_revision(call.request.params)
    if (wait := call.target.stored.cache.freshness.due(wanted)) is not None:
        await wait
    return await context.representations.entry(call.target, find(call), call.accept, params=call.request.params)


def at_once(context: Reading, call: VerbCall) -> Body | None:
    """Return what answers gets like this one from the encodings of the cache; None: there is more to do for them."""
    target, wanted = call.target, get_revision(call.request.params)
    if target.forms is not None or call.accept.transform is not None:
        return None
    fresh, find_entry = target.stored.cache.freshness.fresh, target.stored.get
    namespace = call.info.namespace if target.resource.namespaced else ""
    encoded = context.representations.at_hand

    def body(name: str) -> bytes | None:
        entry = find_entry(namespace, name) if fresh(wanted) else None
        return None if entry is None else encoded(target, entry, call.accept.format)

    return None if call.accept.pretty else body


async def find_most_recent(call: VerbCall) -> Entry:
    """Return the current entry that a call names. Raises NotFound (404) and Timeout (504)."""
    if (wait := call.target.stored.cache.freshness.due(MOST_RECENT)) is not None:
        await wait
    entry = find(call)
    if call.target.forms is not None:
        await call.target.forms.ensure((entry,))
    return entry


def find(call: VerbCall) -> Entry:
    """Return the cached entry that a call names. Raises NotFound (404)."""
    resource = call.target.resource
    namespace = call.info.namespace if resource.namespaced else ""
    entry = call.target.stored.get(namespace, call.info.name)
    if entry is None:
        raise NotFound.of(resource.plural, resource.group, call.info.name)
    return entry


async def find_in(target: Target, namespace: str, name: str) -> Object:
    """Return a private dict of a current object of another kind. Raises NotFound (404) and Timeout (504)."""
    if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
        await wait
    entry = target.stored.get(namespace, name)
    if entry is None:
        raise NotFound.of(target.resource.plural, target.resource.group, name)
    return target.stored.load(entry)
