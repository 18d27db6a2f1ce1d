"""Assertions about who writes: `quiet` and `writes`."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable
from typing import Any, Final

from orchtw.testing.control import calls
from orchtw.testing.control.failures import NotQuiet
from orchtw.testing.control.http import HttpClient
from orchtw.testing.control.reader import Send
from orchtw.testing.control.records import RecordedWrite

MOST: Final = 20
"""Writes after which there is no doubt."""

_OWN: Final = re.compile(
    r"|system:apiserver|system:(kube|orch)-controller-manager|system:serviceaccount:(kube|orch)-system:[^:]+"
)
"""Users of the server itself: its endpoints and leases, controllers, and objects that expire."""


def checked_user(user: str | None) -> str:
    """Return the name of a user, empty for any. Raises TypeError for anything else, such as a revision."""
    if user is None:
        return ""
    if not isinstance(user, str):
        raise TypeError(f"user must be a name, not {user!r}; a revision is given as since=")
    return user


def counted(writes: Iterable[RecordedWrite], user: str, ignore: str | Collection[str]) -> list[RecordedWrite]:
    """Return the writes that count: not those to the resources in `ignore`, plurals with or without their group.

    Without a `user` that was asked for, the server's own do not count either; faults never do.
    """
    ignored = (ignore,) if isinstance(ignore, str) else ignore
    return [
        each
        for each in writes
        if each.type != "FAULT"
        and each.resource not in ignored
        and f"{each.resource}.{each.group}" not in ignored
        and (user or not is_own(each.user))
    ]


def is_own(user: str) -> bool:
    """Report whether a user is the server itself or one of its controllers."""
    return _OWN.fullmatch(user) is not None


async def quiet(
    client: HttpClient, send: Send, for_s: float, filters: dict[str, Any], ignore: str | Collection[str]
) -> None:
    """Wait for `for_s` seconds. Raises NotQuiet if anything is written meanwhile that the filters select.

    Without a user among the filters, the server's own writes do not count.
    """
    __tracebackhide__ = True
    until, found = time.monotonic() + for_s, list[RecordedWrite]()
    request = calls.history({**filters, "since": await send(calls.revision())}, follow=True).request
    async with client.lines(request) as lines:
        while len(found) < MOST:
            try:
                line = await lines.next(until - time.monotonic())
            except TimeoutError:
                break
            if line is None:
                await send(calls.revision())  # raises ServerDied where that is the reason
                raise ConnectionError("the server ended the record of writes")
            found += counted([calls.recorded(line)], filters.get("user", ""), ignore)
    if found:
        more = " or more" if len(found) == MOST else ""
        who = filters.get("user") or "anybody"
        raise NotQuiet(f"{len(found)}{more} writes by {who} within {for_s:g} s that were to be quiet:", found)
