"""POST of a Binding: a scheduler puts a pod on a node (reference KIND-24)."""

from __future__ import annotations

from functools import partial

from orchtw.errors import BadRequest, Cause, Conflict, Invalid, NotFound
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import Request, Response
from orchtw.responses.accept import Acceptance
from orchtw.rules.write_options import create_options
from orchtw.values.causes import not_supported, required
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.request_bodies import read
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Submission
from orchtw.writes.identity import check_namespace


async def bind_pod(context: Writing, call: VerbCall) -> Response:
    """Handle POST on pods/binding: 201 and a Status.

    Raises BadRequest (400, another pod's name), Invalid (422), NotFound (404), Conflict (409, the pod has a node or
    is being deleted).
    """
    options = create_options(call.request.params, context.naming)
    binding = await read(context.offload, call.request, context.kinds.binding, context.negotiator)
    await _bind(context, call.target, call.submission("CREATE", binding, options))
    return context.representations.obj(_created(), context.representations.untransformed(call.accept), 201)


async def create_binding(context: Writing, pods: Target, acceptance: Acceptance, request: Request) -> Response:
    """Handle POST on bindings: as `bind_pod`, for the pod named in the binding's metadata."""
    info, user = request.info, request.user
    assert info is not None and user is not None
    if not info.namespace:
        raise NotFound.generic()
    options = create_options(request.params, context.naming)
    binding = await read(context.offload, request, context.kinds.binding, context.negotiator)
    name = binding["metadata"].get("name", "")
    if not name:
        raise BadRequest("name is required: a binding is named as its pod")
    resource = context.codecs.catalogue.find(info.group, info.version, info.resource)
    assert resource is not None
    asked = Submission(
        operation="CREATE",
        resource=resource,
        namespace=info.namespace,
        name=name,
        user=user,
        obj=binding,
        options=options,
        request=request,
    )
    await _bind(context, pods, asked)
    return context.representations.obj(_created(), acceptance.plain(request), 201)


async def _bind(context: Writing, pods: Target, asked: Submission) -> None:
    """Bind the pod; admission sees the creation of the Binding, and not the pod's update."""
    check_namespace(asked.obj, asked.namespace)
    binding, name = await context.writes.permit(asked, context.kinds.binding, partial(_check, asked)), asked.name
    node = binding["target"]["name"]
    now = context.writes.timestamp()
    write = Write(
        target=pods,
        namespace=asked.namespace,
        name=name,
        user=asked.user,
        subresource="binding",
        dry_run=asked.options is not None and asked.options.dry_run,
        admitted=True,
    )

    def assign(live: Object | None) -> Object:
        """Return the pod with its node, condition PodScheduled, and the binding's annotations and maybe labels."""
        if live is None:
            raise NotFound.of("pods", "", name)
        if live["metadata"].get("deletionTimestamp"):
            why = f"pod {name} is being deleted, cannot be assigned to a host"
            raise Conflict.of("pods/binding", "", name, why)
        present = live["spec"].get("nodeName")
        if present:
            why = f'pod {name} is already assigned to node "{present}"'
            raise Conflict.of("pods/binding", "", name, why)
        if live["spec"].get("schedulingGates"):
            raise Conflict.of("pods/binding", "", name, f"pod {name} has non-empty .spec.schedulingGates")
        meta = dict(live["metadata"])
        meta.pop("resourceVersion", None)
        if added := binding["metadata"].get("annotations"):
            meta["annotations"] = dict(sorted({**(meta.get("annotations") or {}), **added}.items()))
        if context.binds_labels and (given := binding["metadata"].get("labels")):
            meta["labels"] = dict(sorted({**(meta.get("labels") or {}), **given}.items()))
        status = dict(live.get("status") or {})
        others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        return context.kinds.pod.normalise(
            {
                **live,
                "metadata": meta,
                "spec": {**live["spec"], "nodeName": node},
                "status": {**status, "conditions": [*others, scheduled]},
            }
        )

    await context.writes.update(write, assign)


def _check(asked: Submission, binding: Object) -> None:
    """Check a Binding. Raises BadRequest (400) for another pod's, and Invalid (422) for a target other than a
    node.
    """
    name = asked.name
    if binding["metadata"].get("name", name) != name:
        raise BadRequest("name in URL does not match name in Binding object")
    check_namespace(binding, asked.namespace)
    if causes := _target_causes(binding.get("target") or {}):
        raise Invalid.of("Binding", "", name, causes)


def _target_causes(target: Object) -> list[Cause]:
    """Return the causes that reject the target of a Binding, which must be a node."""
    causes = []
    if (kind := target.get("kind")) and kind != "Node":
        causes.append(not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        causes.append(required("target.name"))
    return causes


def _created() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
