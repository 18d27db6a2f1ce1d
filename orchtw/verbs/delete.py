"""DELETE of one object (reference DEL-4)."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from orchtw.authz.decision import Decision
from orchtw.errors import Forbidden
from orchtw.request import Response
from orchtw.rules.delete_options import DeleteOptions, delete_options
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import read_optional
from orchtw.wire.objects import Object

UNSAFE_VERB: Final = "unsafe-delete-ignore-read-errors"

async def delete(context: Writing, call: VerbCall) -> Response:
    """Delete an object: 200 with a Status once it is gone, or with the object while something holds it.

    Kinds that say so answer with the object either way. Raises Forbidden (403, the kind protects it, or the user
    may not ignore read errors), NotFound (404), Conflict (409, a precondition), Invalid (422).
    """
    options = await read_options(context, call)
    _check_protected(call)
    if options.ignore_read_errors:
        await _permit_unsafe(context, call)
    deleted = await context.deletion.delete(call.write(options), options)
    if not deleted.gone or call.target.resource.delete_returns_object:
        code = 202 if not deleted.gone and options.orphan_dependents is False else 200
        params = call.request.params
        return await context.representations.written(call.target, deleted.entry, call.accept, code, params=params)
    obj = await context.offload.run(len(deleted.entry.raw), partial(call.target.stored.load, deleted.entry))
    status = _success(call.target.resource, obj["metadata"])
    return context.representations.obj(status, context.representations.untransformed(call.accept))


async def read_options(context: Writing, call: VerbCall) -> DeleteOptions:
    """Return the options from the body or else the query; warn if dependents would be left alone by default."""
    body = await read_optional(context.offload, call.request, context.kinds.delete_options, context.negotiator)
    unsafe = context.unsafe_deletes is not None
    options = delete_options(call.request.params, body, context.naming, unsafe=unsafe)
    traits = call.target.strategy.traits
    silent = not options.propagation and options.orphan_dependents is None
    if silent and traits.orphans_warning and call.target.resource.version in traits.orphans_in:
        call.request.warnings.append(traits.orphans_warning)
    return options


async def _permit_unsafe(context: Writing, call: VerbCall) -> None:
    """Raise Forbidden (403) unless the user may ignore read errors (reference DEL-21)."""
    assert context.unsafe_deletes is not None and call.request.user is not None
    info = call.info
    asked = msgspec.structs.replace(info, verb=UNSAFE_VERB)
    decision = context.unsafe_deletes.authorize(call.request.user, asked)
    if not isinstance(decision, Decision):
        decision = await decision
    if not decision.allowed:
        why = f"not permitted to do {go_quote(UNSAFE_VERB)}, reason: {decision.reason}"
        raise Forbidden.of(info.resource, info.group, info.name, why)


def _check_protected(call: VerbCall) -> None:
    resource, name = call.target.resource, call.info.name
    if why := call.target.strategy.traits.protected.get(name):
        raise Forbidden.of(resource.plural, resource.group, name, why)


def _success(resource: ResourceType, meta: Object) -> Object:
    details = {"name": meta["name"], "group": resource.group, "kind": resource.plural, "uid": meta.get("uid")}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
