"""Import: creates the objects of an export on another server, in an order that works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from orchtw.exports.client import Pace, object_name
from orchtw.exports.writing import CREATED, EXISTS, FOUND, WITHHELD, ExportWriter, is_withheld
from orchtw.wire.objects import Object

ESTABLISHED_S: Final = 20.0
"""Timeout, in seconds, for a new definition to be served."""

_LOOK_S: Final = 0.05
_FIRST: Final = (
    *("namespaces", "customresourcedefinitions", "priorityclasses", "runtimeclasses", "storageclasses"),
    *("serviceaccounts", "secrets", "configmaps"),
)
_LAST: Final = (
    *("pods", "events", "resourcequotas", "apiservices"),
    *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
)
"""Plurals in the order of creation, before and after all others: later ones refer to earlier ones, or would refuse
them."""


class Imported(msgspec.Struct):
    """Numbers of objects: created, already present, refused, and left out; `complaints` are about the last two."""

    created: int = 0
    there: int = 0
    failed: int = 0
    left_out: int = 0
    complaints: list[str] = msgspec.field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.created} objects created, {self.there} already present, {self.failed} refused"
        return f"{text}, {self.left_out} left out" if self.left_out else text


async def import_objects(
    lines: Sequence[Object], writer: ExportWriter, pace: Pace, complain: Callable[[str], None]
) -> Imported:
    """Create the objects of lines, owners before what they own; each refusal goes to `complain`. Raises ConfigError.
    """
    result = Imported()

    def refuse(line: Object, why: str) -> None:
        result.complaints.append(f"{object_name(line)}: {why}")
        complain(result.complaints[-1])

    for line in in_order(lines):
        obj = line["object"]
        if is_withheld(obj):
            if await writer.find(line, obj):
                result.there += 1
            else:
                result.left_out += 1
                refuse(line, WITHHELD)
            continue
        answer = await writer.create(line, obj)
        if answer.code == EXISTS:
            result.there += 1
            continue
        if answer.code == CREATED:
            result.created += 1
            refusal = await _complete(line, obj, writer, pace)
        else:
            refusal = answer.message
        if refusal:
            result.failed += answer.code != CREATED
            refuse(line, refusal)
    return result


async def _complete(line: Object, obj: Object, writer: ExportWriter, pace: Pace) -> str:
    """Bring a created object to its state: its status, and its deletion, if finalizers hold that up.

    Returns the first refusal, or an empty string.
    """
    if line["resource"] == "customresourcedefinitions":
        return await _served(line, writer, pace)
    answer = await writer.set_status(line, obj.get("status"))
    if answer is not None and answer.code != FOUND:
        return f"its status: {answer.message}"
    if obj["metadata"].get("deletionTimestamp"):
        await writer.delete(line)
    return ""


async def _served(line: Object, writer: ExportWriter, pace: Pace) -> str:
    """Wait until the resource of a definition is served."""
    until = pace.seconds() + ESTABLISHED_S
    while pace.seconds() < until:
        found = await writer.read(line)
        conditions = found.value.get("status", {}).get("conditions") or () if found.code == FOUND else ()
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return ""
        await pace.sleep(_LOOK_S)
    return f"its resource is not served after {ESTABLISHED_S:.0f} s"


def in_order(lines: Sequence[Object]) -> list[Object]:
    """Return lines in the order of creation: by their resources, and owners before what they own."""
    waiting = sorted(lines, key=_rank)
    missing = {line["object"]["metadata"].get("uid", "") for line in lines}
    out: list[Object] = []
    while waiting:
        ready = [line for line in waiting if not missing & _owners(line)]
        if not ready:  # owners in a circle, which only a hand could have written
            ready = waiting
        out += ready
        placed = set(map(id, ready))
        missing -= {line["object"]["metadata"].get("uid", "") for line in ready}
        waiting = [line for line in waiting if id(line) not in placed]
    return out


def _rank(line: Object) -> int:
    plural = line["resource"]
    if plural in _FIRST:
        return _FIRST.index(plural)
    return len(_FIRST) + 1 + _LAST.index(plural) if plural in _LAST else len(_FIRST)


def _owners(line: Object) -> set[str]:
    metadata = line["object"]["metadata"]
    own = {metadata.get("uid", "")}
    return {each.get("uid", "") for each in metadata.get("ownerReferences") or ()} - own
