"""Text for a failed test: the last writes with their users, and the faults that struck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.testing.control import calls
from orchtw.testing.control.blocking import BlockingNetwork, finish
from orchtw.testing.control.calls import AddedFault, Call
from orchtw.testing.control.http import HttpClient
from orchtw.testing.control.quiet import is_own
from orchtw.testing.control.records import RecordedWrite, writes_text

COUNT = 20
"""Writes that a report shows."""

TITLE = "orchtw: last writes"

LOOKED_AT = 10 * COUNT
"""Latest writes among which the report's are found."""

TIMEOUT_S = 10.0
"""Timeout of each response: a server that hangs must not hold up the report."""

_NOISE = ("leases", "events")
_OWN_OBJECTS = (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt"))
"""Objects that the server creates in every namespace."""

_COUNTS: Final = ("id", "matched", "struck", "lastStruck", "created")


def read_report(url: str, ca_pem: str, token: str, since: int, namespace: str) -> str:
    """Ask a server for the writes since a revision and its faults, and return their text. Raises ApiError, OSError.

    It blocks, also where the test's own calls are coroutines: the report is made while a runner waits for it.
    """
    client = HttpClient(BlockingNetwork(), url, ca_pem, token)

    async def ask() -> str:
        writes: Call[list[RecordedWrite]] = calls.history(
            {"since": since, "limit": LOOKED_AT, "namespace": namespace}
        )
        faults = calls.list_faults()
        found = writes.result(await client.answer(writes.request, TIMEOUT_S))
        return report(found, faults.result(await client.answer(faults.request, TIMEOUT_S)))

    try:
        return finish(ask())
    finally:
        client.close()


def report(writes: Sequence[RecordedWrite], faults: Sequence[AddedFault] = ()) -> str:
    """Return the text of the last writes and of the faults that struck.

    Leases, Events and the objects that the server creates in each namespace are left out.
    """
    text = writes_text([each for each in writes if not _is_noise(each)][-COUNT:])
    struck = [_fault_text(each) for each in faults if each.struck]
    return "\n".join((text, "faults that struck:", *struck)) if struck else text


def unreadable(error: Exception) -> str:
    """Return the text for a record that could not be read, as of a server that the test has killed."""
    return f"the server's record of writes could not be read: {error}"


def _is_noise(write: RecordedWrite) -> bool:
    own = (write.resource, write.name) in _OWN_OBJECTS and is_own(write.user)
    return own or write.resource in _NOISE


def _fault_text(fault: AddedFault) -> str:
    fields = " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in fault.rule.items()
        if name not in _COUNTS
    )
    return f"    {fault.id}: {fault.struck} of {fault.rule.get('matched', fault.struck)} requests: {fields}"
