"""PATCH by server-side apply (reference APPLY-18)."""

from __future__ import annotations

from functools import partial

from orchtw.apply.configuration import read_configuration
from orchtw.errors import NotFound
from orchtw.registry.write import WriteView, Written
from orchtw.request import Request, Response
from orchtw.rules.negotiation import patch_type
from orchtw.rules.write_options import WriteOptions, patch_options
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.patch import patch, store
from orchtw.verbs.request_bodies import directive_of
from orchtw.wire.objects import Object


async def patch_or_apply(context: Writing, call: VerbCall) -> Response:
    """Patch or apply an object, as the body's type says."""
    kind = patch_type(call.request.headers.get("content-type", ""), strategic=call.target.codec.protobuf)
    return await (apply if kind == "apply" else patch)(context, call)


async def apply(context: Writing, call: VerbCall) -> Response:
    """Apply a configuration: 200 and the merged object, or 201 if it is new.

    Raises BadRequest (400, not an object of the kind), Conflict (409, a cause per field that others own), NotFound
    (404, a sub-resource of a missing object), Invalid (422, the merged object is not valid).
    """
    options = patch_options(call.request.params, context.naming, apply=True)
    document = await read_document(context, call.request)
    written = await write_applied(context, call, document, options)
    code = 201 if written.created else 200
    params = call.request.params
    return await context.representations.written(call.target, written.entry, call.accept, code, params=params)


async def write_applied(
    context: Writing, call: VerbCall, document: Object, options: WriteOptions, view: WriteView | None = None
) -> Written:
    """Merge a manager's configuration into the call's object, which may be new; `view` is that of `Write`.

    Raises as `apply` does.
    """
    call.target.strategy.fold_write_only(document)
    fields = context.writes.field_manager(call.target, call.info.subresource)
    now = context.writes.timestamp()
    resource = call.target.resource

    def merge(live: Object | None) -> Object:
        """Return the live object merged with the configuration; the live one itself if nothing is to be stored."""
        if live is None and call.info.subresource:
            raise NotFound.of(resource.plural, resource.group, call.info.name)
        version = "" if live is None else live["metadata"].get("resourceVersion", "")
        wanted = fields.on_apply(live, document, options.field_manager, now, force=options.force)
        if not wanted.changed and version:
            meta = {**wanted.obj["metadata"]}
            del meta["resourceVersion"]
            return {**wanted.obj, "metadata": meta}
        return wanted.obj

    write = call.write(options, from_live=True, shares=view is None, applies=True, view=view)
    return await store(context, write, merge)


async def read_document(context: Writing, request: Request) -> Object:
    """Return the applied configuration; a large one is parsed off the reactor. Raises as `read_configuration`
    does.
    """
    return await context.offload.run(len(request.body), partial(_read, request))


def _read(request: Request) -> Object:
    document, findings = read_configuration(request.body, directive_of(request))
    request.warnings += findings
    return document
