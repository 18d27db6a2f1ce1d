"""Options of a connection: read from the query, and translated for a node agent (reference PROXY-3)."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from orchtw.errors import BadRequest
from orchtw.rules.options import Params, parse_integer
from orchtw.rules.request_info import flag
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.nodes import ListSchema, NodeForm, Scalar
from orchtw.values.causes import go_quote
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

_WIDTHS: Final = {Scalar.INT32: 32, Scalar.INT64: 64}
_STREAMS: Final = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))


def options_of(codec: KindCodec, params: Params) -> Object:
    """Return the options, such as PodExecOptions, of the query's parameters. Raises BadRequest (400)."""
    given: Object = {}
    for name, field in codec.schema.keys.items():
        values = params.get(name)
        if not values:
            continue
        if isinstance(field.node, ListSchema):
            given[name] = [_value(field.node.element, text) for text in values]
        elif field.node is Scalar.BOOL:
            given[name] = flag(params, name)
        elif field.node is not NodeForm.TIME or values[0] not in ("", "null"):
            given[name] = _value(field.node, values[0])
    return codec.normalise(given)


def _value(node: Any, text: str) -> Any:
    if node in _WIDTHS:
        return parse_integer(text, _WIDTHS[node])
    if node is NodeForm.TIME:
        _check_time(text)
    return text


def _check_time(text: str) -> None:
    try:
        parse_time(text)
    except ValueError:
        layout, shown = '"2006-01-02T15:04:05Z07:00"', go_quote(text)
        raise BadRequest(f'parsing time {shown} as {layout}: cannot parse {shown} as "2006"') from None


def stream_query(subresource: str, options: Object) -> str:
    """Return the query of a node agent's `/exec`, `/attach` or `/portForward`."""
    if subresource == "portforward":
        ports = options.get("ports")
        return urlencode([("port", ",".join(map(str, ports)))] if ports else [])
    asked = [(theirs, "1") for ours, theirs in _STREAMS if options.get(ours)]
    asked += [("command", word) for word in options.get("command") or ()]
    return urlencode(sorted(asked, key=lambda each: each[0]))
