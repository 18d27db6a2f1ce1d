"""Options of a log: checked, and translated for a node agent (reference PROXY-3)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from orchtw.errors import Cause, Invalid
from orchtw.values.causes import NOT_NEGATIVE, forbidden, invalid
from orchtw.wire.objects import Object

_FLAGS: Final = ("follow", "previous", "timestamps")
_NUMBERS: Final = ("sinceSeconds", "sinceTime", "tailLines", "limitBytes")
_POSITIVE: Final = "must be greater than 0"


def check_log_options(options: Object, name: str) -> None:
    """Raise Invalid (422) for contradictory or invalid options of a log; `name` is the pod's."""
    causes: list[Cause] = []
    if options.get("tailLines", 0) < 0:
        causes.append(invalid("tailLines", options["tailLines"], NOT_NEGATIVE))
    if options.get("limitBytes", 1) < 1:
        causes.append(invalid("limitBytes", options["limitBytes"], _POSITIVE))
    if "sinceSeconds" in options and "sinceTime" in options:
        causes.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif options.get("sinceSeconds", 1) < 1:
        causes.append(invalid("sinceSeconds", options["sinceSeconds"], _POSITIVE))
    if causes:
        raise Invalid.of("PodLogOptions", "", name, causes)


def log_query(options: Object) -> str:
    """Return the query of a node agent's `/containerLogs`."""
    asked = {name: "true" for name in _FLAGS if options.get(name)}
    asked |= {name: str(options[name]) for name in _NUMBERS if name in options}
    return urlencode(sorted(asked.items()))
