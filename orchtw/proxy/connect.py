"""Sub-resources that connect a client with a pod or node: exec, attach, portforward, proxy (reference KIND-22)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import kind_of
from orchtw.errors import BadRequest
from orchtw.proxy.containers import chosen_container
from orchtw.proxy.forwarding import ForwardingPlace, ProxyTransport, forwarded, upgraded
from orchtw.proxy.options import options_of, stream_query
from orchtw.request import Response
from orchtw.rules.forwarding import wants_upgrade
from orchtw.rules.proxied_links import backend_path
from orchtw.schema.catalogue import joined
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent
from orchtw.wire.objects import Object

_PARTS_OF_PROXY: Final = 3
"""Number of parts for resource, name and sub-resource: the rest is the path at the other end."""

_AGENT_PATHS: Final = {"exec": "exec", "attach": "attach", "portforward": "portForward"}


async def connect(context: Writing, transport: ProxyTransport, call: VerbCall) -> Response:
    """Admit the options of the connection, then connect by the admitted ones.

    Raises the errors of plugins, NotFound (404), and as `_stream` and `forwarding` do.
    """
    kind = kind_of(call.target.resource, call.info.subresource)
    codec = context.codecs.kind(joined(kind.group, kind.version), kind.kind)
    params = dict(call.request.params)
    proxied = call.info.subresource == "proxy"
    if proxied:
        params["path"] = [_proxied_path(call)]
    options = options_of(codec, params)
    options = await context.writes.permit(call.submission("CONNECT", options), codec)
    if not proxied:
        return await _stream(transport, call, options)
    return await _proxy(transport, call, backend_path(options.get("path", "")))


def _proxied_path(call: VerbCall) -> str:
    """Return the path behind `proxy`, with its slashes at both ends."""
    path = "/".join(call.info.parts[_PARTS_OF_PROXY:])
    if path and not path.startswith("/"):
        path = "/" + path
    return path + "/" if call.info.path.endswith("/") and not path.endswith("/") else path


async def _stream(transport: ProxyTransport, call: VerbCall, options: Object) -> Response:
    """Connect with a container of the pod, or the pod's ports, through its node's agent.

    Raises BadRequest (400) for an invalid container, a pod without a node, and a missing upgrade.
    """
    pod = call.target.stored.load(await find_most_recent(call))
    subresource, meta = call.info.subresource, pod["metadata"]
    path = f"/{_AGENT_PATHS[subresource]}/{meta['namespace']}/{meta['name']}"
    if subresource != "portforward":
        path += f"/{chosen_container(pod, options.get('container', ''))}"
    node = pod["spec"].get("nodeName")
    if not node:
        raise BadRequest(f"pod {call.info.name} does not have a host assigned")
    agent = await transport.agents.of(node)
    if not wants_upgrade(call.request.headers):
        raise BadRequest("Upgrade request required")
    query = stream_query(subresource, options)
    return await upgraded(transport, call.request, ForwardingPlace(destination=agent, path=path, query=query))


async def _proxy(transport: ProxyTransport, call: VerbCall, path: str) -> Response:
    request = call.request
    place = ForwardingPlace(destination=await transport.backends.of(call), path=path, query=request.query)
    if wants_upgrade(request.headers):
        return await upgraded(transport, request, place)
    if not path and request.method in ("GET", "HEAD"):
        # Relative links of a page need a slash at the end of its URL.
        query = f"?{request.query}" if request.query else ""
        return Response(code=301, headers=[("Location", f"{request.path}/{query}")])
    return await forwarded(transport, request, place)
