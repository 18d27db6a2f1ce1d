"""GET of one object (reference READ-3)."""

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.registry.target import Target
from orchtw.request import Response
from orchtw.rules.options import get_revision
from orchtw.storage.freshness import MOST_RECENT
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Reading
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


async def get(context: Reading, call: VerbCall) -> Response:
    """The object as it is now: 200, or NotFound (404), or Timeout (504) for a version that does not come."""
    wanted = get_revision(call.request.params)
    if (wait := call.target.stored.cache.freshness.due(wanted)) is not None:
        await wait
    return await context.representations.entry(call.target, find(call), call.accept, params=call.request.params)


async def find_most_recent(call: VerbCall) -> Entry:
    """The entry that a call names as it is now; raises NotFound (404), and Timeout (504)."""
    if (wait := call.target.stored.cache.freshness.due(MOST_RECENT)) is not None:
        await wait
    entry = find(call)
    if call.target.forms is not None:
        await call.target.forms.ensure((entry,))
    return entry


def find(call: VerbCall) -> Entry:
    """The cached entry that a call names; raises NotFound (404)."""
    resource = call.target.resource
    namespace = call.info.namespace if resource.namespaced else ""
    entry = call.target.stored.get(namespace, call.info.name)
    if entry is None:
        raise NotFound.of(resource.plural, resource.group, call.info.name)
    return entry


async def find_in(target: Target, namespace: str, name: str) -> Object:
    """A private dict of an object of another kind as it is now; raises NotFound (404), and Timeout (504)."""
    if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
        await wait
    entry = target.stored.get(namespace, name)
    if entry is None:
        raise NotFound.of(target.resource.plural, target.resource.group, name)
    return target.stored.load(entry)
