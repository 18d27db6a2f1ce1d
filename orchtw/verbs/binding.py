"""POST of a Binding: a scheduler puts a pod on a node (supplement B10)."""

from __future__ import annotations

from orchtw.errors import BadRequest, Conflict, NotFound
from orchtw.objects import Object
from orchtw.registry.metadata import rfc3339
from orchtw.registry.target import Target
from orchtw.registry.write_path import Write
from orchtw.request import Request, Response, UserInfo
from orchtw.rules.options import create_options
from orchtw.verbs.accept import Acceptance
from orchtw.verbs.bodies import read
from orchtw.verbs.call import Call
from orchtw.verbs.context import Writing


async def bind_pod(context: Writing, call: Call) -> Response:
    """POST on pods/binding: 201 and a Status. Raises NotFound (404), Conflict (409, the pod has a node)."""
    binding = await read(context.offload, call.request, context.kinds.binding, context.negotiator)
    await _bind(context, call.request, call.target, call.info.namespace, call.info.name, call.user, binding)
    return context.representations.obj(_created(), context.representations.untransformed(call.accept), 201)


async def create_binding(context: Writing, pods: Target, acceptance: Acceptance, request: Request) -> Response:
    """POST on bindings: as `bind_pod`, the pod named by the binding's own metadata."""
    assert request.info is not None and request.user is not None
    if not request.info.namespace:
        raise NotFound.generic()
    binding = await read(context.offload, request, context.kinds.binding, context.negotiator)
    name = binding["metadata"].get("name", "")
    if not name:
        raise BadRequest("name is required: a binding is named as its pod")
    await _bind(context, request, pods, request.info.namespace, name, request.user, binding)
    return context.representations.obj(_created(), acceptance.plain(request), 201)


async def _bind(
    context: Writing, request: Request, pods: Target, namespace: str, name: str, user: UserInfo, binding: Object
) -> None:
    node = binding["target"].get("name", "")
    if not node:
        raise BadRequest("target.name is required: the node that is to run the pod")
    options = create_options(request.params, context.naming)
    now = rfc3339(int(context.writes.stamp.now()))
    write = Write(
        target=pods, namespace=namespace, name=name, user=user, subresource="binding", dry_run=options.dry_run
    )

    def assign(live: Object | None) -> Object:
        """The pod with its node, the binding's annotations and condition PodScheduled."""
        if live is None:
            raise NotFound.of("pods", "", name)
        present = live["spec"].get("nodeName")
        if present:
            why = f'pod {name} is already assigned to node "{present}"'
            raise Conflict.of("pods/binding", "", name, why)
        meta = dict(live["metadata"])
        meta.pop("resourceVersion", None)
        if added := binding["metadata"].get("annotations"):
            meta["annotations"] = dict(sorted({**(meta.get("annotations") or {}), **added}.items()))
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


def _created() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
