"""Scale sub-resource: replicas of any kind in one form (reference KIND-25, CRD-23)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.errors import BadRequest, NotFound
from orchtw.registry.scaling import ScaleMapping
from orchtw.registry.write import Write
from orchtw.request import Response
from orchtw.rules.negotiation import check_transform, patch_type
from orchtw.rules.options import include_object
from orchtw.rules.write_options import patch_options, update_options
from orchtw.schema.codec.body import fit_value
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.strict_fields import WARN
from orchtw.schema.declarations import Column
from orchtw.schema.tables.cells_workloads import scale as scale_cells
from orchtw.schema.tables.convertor import TableLayout
from orchtw.schema.tables.partial_object_metadata import partial_metadata
from orchtw.verbs.apply import read_document, write_applied
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent
from orchtw.verbs.patch import read_changes
from orchtw.verbs.request_bodies import read
from orchtw.wire.objects import Object

COLUMNS = (
    Column(name="Name", type="string", format="name", priority=0, cell="metadata.name"),
    Column(name="Desired", type="integer", format="", priority=0, cell="spec.replicas"),
    Column(name="Available", type="integer", format="", priority=0, cell="status.replicas"),
    Column(name="Age", type="string", format="", priority=0, cell="metadata.creationTimestamp"),
)
"""Columns of a Scale's Table (reference TABLE-8)."""


async def get_scale(context: Writing, call: VerbCall) -> Response:
    """Return the Scale of an object: 200. Raises NotFound (404)."""
    return _answer(context, call, call.target.load(await find_most_recent(call)))


async def update_scale(context: Writing, call: VerbCall) -> Response:
    """Update a Scale: 200. Raises NotFound (404), Conflict (409, a stale version), Invalid (422)."""
    options = update_options(call.request.params, context.naming)
    scale = await read(context.offload, call.request, context.kinds.scale, context.negotiator)
    mapping = _mapping(call)
    mapping.refuse(scale)
    write = call.write(options, from_live=True, view=ScaleView(context.kinds.scale, mapping))
    return await _write(context, call, lambda _: scale, write)


async def patch_scale(context: Writing, call: VerbCall) -> Response:
    """Patch a Scale: 200. Raises as `update_scale` does, and UnsupportedMediaType (415)."""
    sent = call.request.headers.get("content-type", "")
    if patch_type(sent, strategic=call.target.codec.protobuf) == "apply":
        return await _apply(context, call)
    options = patch_options(call.request.params, context.naming, apply=False)
    changes = await read_changes(context, call.request, context.kinds.scale)
    write = call.write(options, from_live=True, view=ScaleView(context.kinds.scale, _mapping(call)))
    return await _write(context, call, changes.of, write)


async def _apply(context: Writing, call: VerbCall) -> Response:
    """Apply a Scale as an apply of the object's replicas (reference APPLY-16)."""
    options = patch_options(call.request.params, context.naming, apply=True)
    codec = context.kinds.scale
    document = await read_document(context, call.request)
    found = document.get("apiVersion") or ""
    if found != codec.api_version:
        raise BadRequest(
            "Incorrect version specified in apply patch. "
            f"Specified patch version: {found}, expected: {codec.api_version}"
        )
    if (kind := document.get("kind") or "") != codec.kind:
        raise BadRequest(f"the kind in the apply patch ({kind}) is not the expected kind ({codec.kind})")
    wanted, findings = fit_value(codec, document, WARN)
    if (document.get("metadata") or {}).get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    if findings:
        raise codec.refusal(", ".join(findings))
    meta = wanted["metadata"]
    named = {key: meta[key] for key in ("name", "namespace", "resourceVersion") if meta.get(key)}
    resource = call.target.resource
    applied: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": named}
    mapping = _mapping(call)
    if "replicas" in (document.get("spec") or {}):
        mapping.refuse({**wanted, "metadata": {"namespace": call.info.namespace, **named}})
        applied = mapping.take(applied, wanted["spec"].get("replicas", 0))
    mapping.before(call.target.load(await find_most_recent(call)))  # refuses before anything is stored
    written = await write_applied(context, call, applied, options, ScaleView(codec, mapping))
    return _answer(context, call, call.target.load(written.entry))


async def _write(context: Writing, call: VerbCall, change: Callable[[Object], Object], write: Write) -> Response:
    """Store the replicas of the Scale that `change` makes of the present one."""

    mapping = _mapping(call)

    def replicas_only(live: Object | None) -> Object:
        if live is None:
            resource = call.target.resource
            raise NotFound.of(resource.plural, resource.group, write.name)
        wanted = change(_scale(context.kinds.scale, live, *mapping.before(live)))
        mapping.refuse(wanted)
        asked = {key: wanted["metadata"].get(key, "") for key in ("name", "namespace", "uid", "resourceVersion")}
        scaled = mapping.take(live, wanted["spec"].get("replicas", 0))
        return {**scaled, "metadata": {**live["metadata"], **asked}}

    written = await context.writes.update(write, replicas_only)
    return _answer(context, call, call.target.load(written.entry))


class ScaleView:
    """View of an object as its Scale: admission sees it, and may change the replicas. See
    `registry.write.WriteView`.
    """

    def __init__(self, codec: KindCodec, mapping: ScaleMapping) -> None:
        self._codec = codec
        self._mapping = mapping

    def show(self, obj: Object) -> Object:
        """Return the Scale of `obj`."""
        return _scale(self._codec, obj, *self._mapping.before(obj))

    def absorb(self, obj: Object, shown: Object) -> Object:
        """Return the object with the replicas of a Scale."""
        scale = self._codec.normalise(shown)
        self._mapping.refuse(scale)
        return self._mapping.take(obj, scale["spec"].get("replicas", 0))


def _mapping(call: VerbCall) -> ScaleMapping:
    return call.target.strategy.scale


def _scale(codec: KindCodec, obj: Object, replicas: int, present: int, selector: str) -> Object:
    """Return the Scale of an object in canonical form."""
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return codec.normalise(
        {
            "metadata": {key: meta[key] for key in kept if key in meta},
            "spec": {"replicas": replicas},
            "status": {"replicas": present, "selector": selector},
        }
    )


def _answer(context: Writing, call: VerbCall, obj: Object) -> Response:
    scale = _scale(context.kinds.scale, obj, *_mapping(call).show(obj))
    return context.representations.obj(_shown(context, call, scale), call.accept)


def _shown(context: Writing, call: VerbCall, scale: Object) -> Object:
    """Return the Scale, or its Table or metadata. Raises NotAcceptable (406) for a list's metadata."""
    form, version = call.accept.transform, call.accept.transform_version
    check_transform(call.accept, context.kinds.scale.kind, is_list=False)
    if form == "Table":
        layout = TableLayout(COLUMNS, scale_cells, context.naming)
        include = include_object(call.request.params)
        row = layout.row(scale, context.writes.now(), include=include, version=version)
        meta = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
        return layout.table(meta, [row], version=version)
    return partial_metadata(scale, version) if form else scale
