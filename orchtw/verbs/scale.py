"""The scale sub-resource: replicas of any workload through one kind (reference KIND-25)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.errors import BadRequest, Cause, Invalid, NotFound
from orchtw.objects import Object
from orchtw.registry.write import Write
from orchtw.request import Response
from orchtw.rules.negotiation import check_transform, patch_type
from orchtw.rules.options import include_object, patch_options, update_options
from orchtw.rules.selectors import selector_of_object
from orchtw.schema.catalogue import Column
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.tables.cells_workloads import scale as scale_cells
from orchtw.schema.tables.layout import TableLayout
from orchtw.schema.tables.partial import partial_metadata
from orchtw.verbs.apply import read_document, write_applied
from orchtw.verbs.call import Call
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent
from orchtw.verbs.patch import read_changes
from orchtw.verbs.request_bodies import read

_PLAIN_SELECTOR = "ReplicationController"
"""The one workload whose selector is a map of labels."""

COLUMNS = (
    Column(name="Name", type="string", format="name", priority=0, cell="metadata.name"),
    Column(name="Desired", type="integer", format="", priority=0, cell="spec.replicas"),
    Column(name="Available", type="integer", format="", priority=0, cell="status.replicas"),
    Column(name="Age", type="string", format="", priority=0, cell="metadata.creationTimestamp"),
)
"""Of a Scale's Table (reference TABLE-8)."""


async def get_scale(context: Writing, call: Call) -> Response:
    """200 and the Scale of a workload; NotFound (404)."""
    return _answer(context, call, call.target.load(await find_most_recent(call)))


async def update_scale(context: Writing, call: Call) -> Response:
    """200 and the new Scale. Raises NotFound (404), Conflict (409, a stale version), Invalid (422)."""
    options = update_options(call.request.params, context.naming)
    scale = await read(context.offload, call.request, context.kinds.scale, context.negotiator)
    _refuse(scale)
    return await _write(context, call, lambda _: scale, call.write(options, view=ScaleView(context.kinds.scale)))


async def patch_scale(context: Writing, call: Call) -> Response:
    """200 and the patched Scale. Raises as `update_scale` does, and UnsupportedMediaType (415)."""
    if patch_type(call.request.headers.get("content-type", "")) == "apply":
        return await _apply(context, call)
    options = patch_options(call.request.params, context.naming, apply=False)
    changes = await read_changes(context, call.request, context.kinds.scale)
    write = call.write(options, from_live=True, view=ScaleView(context.kinds.scale))
    return await _write(context, call, changes.of, write)


async def _apply(context: Writing, call: Call) -> Response:
    """The applied Scale as an apply of the workload's replicas (reference APPLY-16)."""
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
    wanted = codec.normalise(document)
    if (document.get("metadata") or {}).get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    if findings := codec.strict_findings(document):
        raise codec.refusal(", ".join(findings))
    meta = wanted["metadata"]
    named = {key: meta[key] for key in ("name", "namespace", "resourceVersion") if meta.get(key)}
    resource = call.target.resource
    workload: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": named}
    if "replicas" in (document.get("spec") or {}):
        _refuse({**wanted, "metadata": {"namespace": call.info.namespace, **named}})
        workload["spec"] = {"replicas": wanted["spec"].get("replicas", 0)}
    scale_of(context.kinds.scale, call.target.load(await find_most_recent(call)))  # refuses before anything is stored
    written = await write_applied(context, call, workload, options, ScaleView(context.kinds.scale))
    return _answer(context, call, call.target.load(written.entry))


async def _write(context: Writing, call: Call, change: Callable[[Object], Object], write: Write) -> Response:
    """Store the replicas of the Scale that `change` makes of the present one."""

    def replicas_only(live: Object | None) -> Object:
        if live is None:
            resource = call.target.resource
            raise NotFound.of(resource.plural, resource.group, write.name)
        wanted = change(scale_of(context.kinds.scale, live))
        _refuse(wanted)
        asked = {key: wanted["metadata"].get(key, "") for key in ("name", "namespace", "uid", "resourceVersion")}
        meta = {**live["metadata"], **asked}
        return {**live, "metadata": meta, "spec": {**live["spec"], "replicas": wanted["spec"].get("replicas", 0)}}

    written = await context.writes.update(write, replicas_only)
    return _answer(context, call, call.target.load(written.entry))


class ScaleView:
    """See `registry.write.View`: admission sees the Scale of a workload, and may change its replicas."""

    def __init__(self, codec: KindCodec) -> None:
        self._codec = codec

    def show(self, obj: Object) -> Object:
        """The Scale of `obj`."""
        return scale_of(self._codec, obj)

    def absorb(self, obj: Object, shown: Object) -> Object:
        """The workload with the replicas of a Scale."""
        scale = self._codec.normalise(shown)
        _refuse(scale)
        return {**obj, "spec": {**obj["spec"], "replicas": scale["spec"].get("replicas", 0)}}


def scale_of(codec: KindCodec, obj: Object) -> Object:
    """The Scale of a workload in canonical form. Raises BadRequest (400) if its selector means nothing."""
    meta, spec, status = obj["metadata"], obj["spec"], obj.get("status", {})
    selector = spec.get("selector")
    if selector is not None and obj["kind"] == _PLAIN_SELECTOR:
        selector = {"matchLabels": selector}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return codec.normalise(
        {
            "metadata": {key: meta[key] for key in kept if key in meta},
            "spec": {"replicas": spec.get("replicas", 0)},
            "status": {
                "replicas": status.get("replicas", 0),
                "selector": str(selector_of_object(selector)) if selector else "",
            },
        }
    )


def _refuse(scale: Object) -> None:
    causes = []
    if not scale["metadata"].get("namespace"):
        causes.append(Cause("FieldValueRequired", "Required value", "metadata.namespace"))
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        text = f"Invalid value: {replicas}: must be greater than or equal to 0"
        causes.append(Cause("FieldValueInvalid", text, "spec.replicas"))
    if causes:
        raise Invalid.of("Scale", "autoscaling", scale["metadata"].get("name", ""), causes)


def _answer(context: Writing, call: Call, obj: Object) -> Response:
    return context.representations.obj(_shown(context, call, scale_of(context.kinds.scale, obj)), call.accept)


def _shown(context: Writing, call: Call, scale: Object) -> Object:
    """The Scale, or the Table or metadata that stands for it; raises NotAcceptable (406) for a list's metadata."""
    form, version = call.accept.transform, call.accept.transform_version
    check_transform(call.accept, context.kinds.scale.kind, is_list=False)
    if form == "Table":
        layout = TableLayout(COLUMNS, scale_cells, context.naming)
        include = include_object(call.request.params)
        row = layout.row(scale, context.writes.now(), include=include, version=version)
        meta = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
        return layout.table(meta, [row], version=version)
    return partial_metadata(scale, context.naming, version) if form else scale
