"""Annotations that change how a pod seems to run (reference SIM-22)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
import orjson

from orchtw.flags.flag import parse_boolean, parse_duration_s
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

T = TypeVar("T")

PREFIX: Final = "simulate.orch.io/"
MOVED: Final = "moved"
"""Annotation that the agent writes: a JSON object of moved files."""
MOST_RATE: Final = 1_000.0
"""Most log lines a second."""

_MOST: Final = Quantity.parse("1E")
_RATE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)/s")


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Wishes for one container; None: the default counts. Durations are simulated seconds.

    `exit_after_s` is infinite for a container that shall never end. `log_rate` is lines a second, `log_lines` are
    given ones. `image_error` is the message of an image that cannot be pulled, empty for one that can. `cpu` and
    `memory` are quantities that it uses, or empty.
    """

    start_delay_s: float | None = None
    ready_delay_s: float | None = None
    never_ready: bool = False
    exit_code: int | None = None
    exit_after_s: float | None = None
    crashes: int = 0
    oom: bool = False
    image_error: str = ""
    termination_delay_s: float | None = None
    log_lines: tuple[str, ...] | None = None
    log_rate: float = 0.0
    cpu: str = ""
    memory: str = ""
    ignore_missing: bool = False
    """Start the pod even if Secrets and ConfigMaps that it refers to are missing."""
    moved: tuple[tuple[str, str], ...] = ()
    """Files that remote commands have moved: where they were, and where they are."""


def behaviour(pod: Object, container: str, *, whole_pod: bool = True) -> tuple[Behaviour, tuple[str, ...]]:
    """Return the wishes for a container, and a sentence for each annotation whose value is invalid.

    `simulate.orch.io/<name>.<container>` comes before `simulate.orch.io/<name>`, which counts with `whole_pod`.
    """
    annotations: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    if not any(key.startswith(PREFIX) for key in annotations):
        return NOTHING, ()
    problems: list[str] = []

    def read(name: str, parse: Callable[[str], T], default: T) -> T:
        for key in (f"{PREFIX}{name}.{container}", *([f"{PREFIX}{name}"] if whole_pod else [])):
            if (text := annotations.get(key)) is not None:
                try:
                    return parse(text)
                except ValueError as error:
                    problems.append(f"annotation {key}: {text[:100]!r} {error}; the default is used")
                    return default
        return default

    lines, rate = read("logs", _logs, (None, 0.0))
    made = Behaviour(
        start_delay_s=read("start-delay", _duration, None),
        ready_delay_s=read("ready-delay", _duration, None),
        never_ready=read("never-ready", parse_boolean, False),
        exit_code=read("exit-code", _exit_code, None),
        exit_after_s=read("exit-after", _duration_or_never, None),
        crashes=read("crash", _count, 0),
        oom=read("oom", parse_boolean, False),
        image_error=read("image-pull-error", _message, ""),
        termination_delay_s=read("termination-delay", _duration, None),
        cpu=read("cpu", _quantity, ""),
        memory=read("memory", _quantity, ""),
        ignore_missing=read("ignore-missing", parse_boolean, False),
        moved=read(MOVED, _moved, ()),
        log_lines=lines,
        log_rate=rate,
    )
    return made, tuple(problems)


NOTHING: Final = Behaviour()


def _duration(text: str) -> float | None:
    return parse_duration_s(text)


def _duration_or_never(text: str) -> float | None:
    return float("inf") if text == "never" else parse_duration_s(text)


def _exit_code(text: str) -> int | None:
    return _number(text, 255)


def _quantity(text: str) -> str:
    found = Quantity.parse(text)
    if found.mantissa < 0 or found.compare(_MOST) > 0:
        raise ValueError("must be a quantity from 0 to 1E")
    return text


def _count(text: str) -> int:
    return _number(text, 1_000_000)


def _number(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > most:
        raise ValueError(f"must be an integer from 0 to {most}")
    return int(text)


def _message(text: str) -> str:
    """Return the message of an image that cannot be pulled; `true` stands for the usual one."""
    if text in ("", "false"):
        return ""
    return "manifest unknown" if text == "true" else text


def _moved(text: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a JSON object of texts."""
    found = orjson.loads(text)
    if not isinstance(found, dict) or not all(isinstance(place, str) for place in found.values()):
        raise ValueError("must be a JSON object of file names")
    return tuple(found.items())


def _logs(text: str) -> tuple[Any, float]:
    """Return lines of text, or the rate of `5/s`."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        return tuple(text.splitlines()), 0.0
    if float(match[1]) > MOST_RATE:
        raise ValueError(f"must be at most {MOST_RATE:.0f}/s")
    return None, float(match[1])
