"""Log lines, as text or as JSON (reference OPS-19)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import PurePath
from string import Formatter
from typing import Final, TextIO, cast

import orjson
from twisted.logger import FileLogObserver, ILogObserver, LogEvent, LogLevel, eventAsText, formatEvent

from orchtw.logs.values import VALUES, LogValues
from orchtw.logs.verbosity import DETAILS, Verbosity

_LETTERS: Final = {LogLevel.warn: "W", LogLevel.error: "E", LogLevel.critical: "F"}
_OWN_KEYS: Final = frozenset({"ts", "caller", "msg", "v", "err", "stack"})
# Limit of the search for the logging module: in between are the logger and its observers.
_FRAMES: Final = 24

Line = Callable[[LogEvent], str]


def text_line(event: LogEvent) -> str:
    """Format as `I1121 06:40:23.309069   4711 server.py:186] text`; further lines of an event begin with a tab."""
    moment = datetime.fromtimestamp(event["log_time"])
    letter = _LETTERS.get(event.get("log_level"), "I")
    text = eventAsText(event, includeTimestamp=False, includeSystem=False).replace("\n", "\n\t")
    return f"{letter}{moment:%m%d %H:%M:%S.%f} {os.getpid():>7} {_place(event)}] {text}\n"


def json_line(event: LogEvent) -> str:
    """Format as one JSON object: time in milliseconds, place, text, the values in it, and a failure's traceback."""
    values: LogValues | None = event.get(VALUES)
    line: dict[str, object] = {
        "ts": round(event["log_time"] * 1000, 4),
        "caller": _place(event),
        "msg": _clean(formatEvent(event)) if values is None else values.text,
    }
    failure = event.get("log_failure")
    if failure is not None:
        line["err"] = _clean(f"{failure.type.__name__}: {failure.getErrorMessage()}")
        line["stack"] = _clean(failure.getTraceback())
    elif event.get("log_level") in _LETTERS:
        line["err"] = line["msg"]
    else:
        line["v"] = DETAILS if event.get("log_level") is LogLevel.debug else 0
    if values is not None:
        return _dumped(line | {name: _value(value) for name, value in values.fields.items()})
    for name in _names(event.get("log_format")):
        if name not in _OWN_KEYS and name in event:
            line[name] = _value(event[name])
    return _dumped(line)


def _dumped(line: dict[str, object]) -> str:
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()


FORMATS: Final[dict[str, Line]] = {"text": text_line, "json": json_line}
"""Values of `--logging-format`."""


def observer(out: TextIO, line: Line, verbosity: Verbosity) -> ILogObserver:
    """Return an observer that writes the log to `out`, with details as far as the verbosity includes them."""

    def written(event: LogEvent) -> str | None:
        detail = event.get("log_level") is LogLevel.debug
        if detail and verbosity.of(event.get("log_namespace", "")) < DETAILS:
            return None
        return line(event)

    return cast(ILogObserver, FileLogObserver(out, written))


def _place(event: LogEvent) -> str:
    """Return file and line of the logging code, or its name if it is not among the callers any more."""
    namespace = str(event.get("log_namespace", "-"))
    frame = sys._getframe(2)
    for _ in range(_FRAMES):
        module = str(frame.f_globals.get("__name__", ""))
        if namespace == module or namespace.startswith(f"{module}."):
            return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{namespace}:1"


def _names(log_format: object) -> list[str]:
    """Return the names of the fields in the text."""
    if not isinstance(log_format, str):
        return []
    return [name for _, name, _, _ in Formatter().parse(log_format) if name and name.isidentifier()]


def _value(value: object) -> object:
    return value if isinstance(value, int | float) and abs(value) < 1 << 53 else _clean(str(value))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
