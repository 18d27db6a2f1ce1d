"""Sub-resources that reach through to a node agent: log, exec, attach, portforward, proxy (reference KIND-22)."""

from __future__ import annotations

from orchtw.admission.attributes import kind_of
from orchtw.errors import BadRequest, ServiceUnavailable
from orchtw.objects import Object
from orchtw.request import Response
from orchtw.rules.causes import go_quote
from orchtw.rules.options import Params
from orchtw.rules.request_info import flag
from orchtw.schema.catalogue import joined
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.nodes import ListSchema, Scalar
from orchtw.verbs.call import Call
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent

_PARTS_OF_PROXY = 3
"""Resource, name and sub-resource: what follows is the path that is asked for at the other end."""


async def connect(context: Writing, call: Call) -> Response:
    """Ask admission about the options of the connection, then say that there is none.

    Raises what plugins raise, and as `log` does.
    """
    kind = kind_of(call.target.resource, call.info.subresource)
    codec = context.codecs.kind(joined(kind.group, kind.version), kind.kind)
    params, parts = dict(call.request.params), call.info.parts
    if call.info.subresource == "proxy":
        params["path"] = ["/".join(parts[_PARTS_OF_PROXY:])]
    await context.writes.permit(call.submission("CONNECT", options_of(codec, params)), codec)
    return await log(call)


async def log(call: Call) -> Response:
    """No node agent can be reached from here, and the refusal says so.

    Raises NotFound (404), BadRequest (400, a pod that no node runs), ServiceUnavailable (503).
    """
    obj = call.target.stored.load(await find_most_recent(call))
    if call.target.resource.qualified == "pods" and not obj["spec"].get("nodeName"):
        raise BadRequest(f"pod {call.info.name} does not have a host assigned")
    what = f"{call.target.resource.plural}/{call.info.subresource}"
    raise ServiceUnavailable(f"error trying to reach {what}: no node agent")


def options_of(codec: KindCodec, params: Params) -> Object:
    """The options of a connection, such as PodExecOptions, of the query's parameters. Raises BadRequest (400)."""
    given: Object = {}
    for name, field in codec.schema.keys.items():
        values = params.get(name)
        if not values:
            continue
        if isinstance(field.node, ListSchema):
            given[name] = list(map(_integer, values)) if field.node.element is Scalar.INT32 else values
        else:
            given[name] = flag(params, name) if field.node is Scalar.BOOL else values[0]
    return codec.normalise(given)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax") from None
