"""Events of requests that are equal but for their object's name: what they have in common is made once."""

from __future__ import annotations

from sys import getsizeof

from orchtw.audit.auditor import Auditor, lead
from orchtw.audit.event import shown, stamp
from orchtw.audit.known import reference
from orchtw.audit.policy import PolicyOutcome
from orchtw.request import Request

_END = '"}'


class EqualRequests:
    """Reads by one user of one collection's objects, by names that JSON shows as they are, answered with 200.

    `request` is one of them, which has been answered. The sink is a prompt one.
    """

    def __init__(self, auditor: Auditor, request: Request, outcome: PolicyOutcome) -> None:
        assert request.info is not None
        self._auditor = auditor
        self._outcome = outcome
        self._lead = lead(outcome)
        name, path = request.info.name, request.path
        before, after = shown(path.removesuffix(name)), shown(f"?{request.query}" if request.query else "")
        self._uri = f'"requestURI":{before[:-1]}'
        self._asked = f'{after[1:]},"verb":"{request.info.verb}","user":{auditor.known.user(request.authenticated)}'
        self._sender, self._object, self._more = auditor.known.sender(request), *_around_name(request)
        self._decided = "" if request.decision is None else auditor.decided(request.decision)
        self.size = sum(map(getsizeof, (self._uri, self._asked, self._sender, self._object, self._more)))
        """Bytes of the texts; a user may have any number of groups."""

    def tell(self, audit_id: str, name: str, took_s: float) -> None:
        """Send the events of a request that has just been answered, as `Auditor.all_at_once`."""
        auditor = self._auditor
        now = auditor.seconds()
        auditor.send_both(
            self._outcome,
            f'{self._lead}"{audit_id}","stage":"',
            f"{self._uri}{name}{self._asked}",
            f"{self._sender}{self._object}{name}{self._more}",
            code=200,
            received=stamp(now - took_s),
            ended=stamp(now),
            annotations=self._decided,
        )


def _around_name(request: Request) -> tuple[str, str]:
    """Return `objectRef` behind a comma, up to the name and from its end."""
    found = reference(request)
    assert found is not None
    members = list(found.items())
    at = list(found).index("name")
    before, after = shown({**dict(members[:at]), "name": ""}), shown(dict(members[at + 1 :]))
    return f',"objectRef":{before.removesuffix(_END)}', f'",{after[1:]}'
