"""Sub-resources that reach through to a node agent: log, exec, attach, portforward, proxy (supplement B10)."""

from __future__ import annotations

from orchtw.errors import BadRequest, ServiceUnavailable
from orchtw.request import Response
from orchtw.verbs.call import Call
from orchtw.verbs.get import find


async def connect(call: Call) -> Response:
    """No node agent can be reached from here, and the refusal says so.

    Raises NotFound (404), BadRequest (400, a pod that no node runs), ServiceUnavailable (503).
    """
    obj = call.target.stored.load(find(call))
    if call.target.resource.plural == "pods" and not obj["spec"].get("nodeName"):
        raise BadRequest(f"pod {call.info.name} does not have a host assigned")
    what = f"{call.target.resource.plural}/{call.info.subresource}"
    raise ServiceUnavailable(f"error trying to reach {what}: no node agent")
