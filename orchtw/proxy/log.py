"""GET of a container's log from its node's agent (reference PROXY-7)."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred

from orchtw.errors import BadRequest, InternalError, StatusError
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, ResponseHead
from orchtw.proxy.backend_body import BackendBody
from orchtw.proxy.containers import chosen_container
from orchtw.proxy.forwarding import ForwardingPlace, ProxyTransport, dialled
from orchtw.proxy.log_options import check_log_options, log_query
from orchtw.proxy.options import options_of
from orchtw.request import Response
from orchtw.values.causes import go_quote
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent

REFUSAL_BYTES: Final = 50_000
"""Limit of an agent's error text, which becomes a message."""

_TEXTS: Final = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}
"""Reason and text for an agent's error by code; without a text, its own is shown."""


class AgentRefused(StatusError):
    """Error response of an agent, with its own code."""

    def __init__(self, code: int, reason: str, message: str, name: str) -> None:
        super().__init__(f"{message} ( pods/log {name})", {"name": name, "kind": "pods/log"})
        self.code, self.reason = code, reason  # type: ignore[misc]


async def log(context: Writing, transport: ProxyTransport, call: VerbCall) -> Response:
    """Return the log as plain text, streamed if it is followed; 204 for a pod that is not on a node.

    Raises Invalid (422), NotFound (404), BadRequest (400), 500 when the agent cannot be reached, and the error for
    the agent's own refusal.
    """
    codec = context.codecs.kind("v1", "PodLogOptions")
    options = options_of(codec, call.request.params)
    check_log_options(options, call.info.name)
    pod = call.target.stored.load(await find_most_recent(call))
    container = chosen_container(pod, options.get("container", ""))
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(code=204)
    agent = await transport.agents.of(node, verified=not options.get("insecureSkipTLSVerifyBackend"))
    meta = pod["metadata"]
    path = f"/containerLogs/{meta['namespace']}/{meta['name']}/{container}"
    place = ForwardingPlace(destination=agent, path=path, query=log_query(options))
    exchange, head = await _asked(context, transport, place)
    if 200 <= head.code <= 206:
        return Response(content_type="text/plain", stream=BackendBody(exchange), patient=True)
    if 300 <= head.code < 400:
        exchange.abort()
        raise _failure(place, "redirects forbidden")
    raise _refusal(head, await _Text(exchange).read(), call.info.name)


async def _asked(
    context: Writing, transport: ProxyTransport, place: ForwardingPlace
) -> tuple[ClientExchange, ResponseHead]:
    exchange = await dialled(transport, place.destination, lambda why: _failure(place, why))
    headers = [
        ("Host", place.destination.authority),
        ("User-Agent", context.naming.api_server),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    try:
        return exchange, await exchange.ask("GET", place.target, headers)
    except Broken as problem:
        raise _failure(place, str(problem)) from None


def _failure(place: ForwardingPlace, why: str) -> StatusError:
    return StatusError(f"Get {go_quote(place.url)}: {why}")


def _refusal(head: ResponseHead, text: str, name: str) -> StatusError:
    """Return the error for an agent's refusal, in the words of the release."""
    if head.code == 500:
        return InternalError.of(text)
    if head.code == 400:
        return BadRequest(text)
    reason, message = _TEXTS.get(head.code, ("", ""))
    if not reason and head.code > 500:
        reason = "InternalError"
        message = f"an error on the server ({go_quote(text)}) has prevented the request from succeeding"
    elif not reason:
        message = f"the server responded with the status code {head.code} but did not return more information"
    return AgentRefused(head.code, reason, message or text, name)


class _Text:
    """Collector of a refusal's text, up to REFUSAL_BYTES (a `BodySink`)."""

    def __init__(self, exchange: ClientExchange) -> None:
        self._exchange = exchange
        self._text = b""
        self._whole: Deferred[str] = Deferred(lambda _: exchange.abort())

    async def read(self) -> str:
        """Return the whole text."""
        self._exchange.read_into(self)
        return await self._whole

    def received(self, data: bytes) -> None:
        """Collect a part of the text."""
        self._text += data[: REFUSAL_BYTES - len(self._text)]
        if len(self._text) == REFUSAL_BYTES:
            self._exchange.abort()
            self.ended(CallOutcome.ABORTED)

    def ended(self, _outcome: CallOutcome) -> None:
        """Finish: the response has ended."""
        if not self._whole.called:
            self._whole.callback(self._text.decode("utf-8", "replace"))
