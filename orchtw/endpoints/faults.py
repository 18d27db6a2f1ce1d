"""`/debug/faults`: the rules of faults on demand, listed, added and removed by administrators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from orchtw.errors import MethodNotAllowed, NotFound, RequestEntityTooLarge, UnsupportedMediaType
from orchtw.faults.decoding import rules_of
from orchtw.faults.rules import FaultRules, LiveFault
from orchtw.request import Request, Response

PATH: Final = "/debug/faults"
MOST_BODY_BYTES: Final = 64 << 10
"""Most bytes of a rule: a selection by lists of names is a few kilobytes."""

_JSON: Final = "application/json"


class FaultEndpoint:
    """Endpoint of the rules. `seeds` returns a seed for a rule that has a probability and names none.

    The index does not list it, as other paths below `/debug`.
    """

    methods = frozenset({"GET", "HEAD", "POST", "DELETE"})

    def __init__(self, rules: FaultRules, seeds: Callable[[], int]) -> None:
        self._rules = rules
        self._seeds = seeds

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the paths of all rules; those of single ones are below."""
        return ((PATH, PATH), (f"{PATH}/", PATH))

    async def handle(self, request: Request, path: str) -> Response:
        """List, add or remove rules; below the path, show or remove one.

        Raises BadRequest (400, a rule that cannot be taken), NotFound (404), MethodNotAllowed (405),
        RequestEntityTooLarge (413), UnsupportedMediaType (415).
        """
        if path != PATH:
            return self._one(request.method, path.removeprefix(f"{PATH}/"))
        if request.method == "POST":
            return self._add(request)
        if request.method == "DELETE":
            return _answer({"removed": self._rules.clear()})
        return _answer({"rules": [shown(live) for live in self._rules]})

    def _add(self, request: Request) -> Response:
        """Add a rule and return it, or those of a preset: 201."""
        content_type = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
        if content_type != _JSON:
            raise UnsupportedMediaType.of((_JSON,))
        if len(request.body) > MOST_BODY_BYTES:
            raise RequestEntityTooLarge.limit(MOST_BODY_BYTES)
        rules = rules_of(request.body, self._seeds)
        added = [shown(live) for live in self._rules.add(rules)]
        return _answer(added[0] if len(added) == 1 else {"rules": added}, 201)

    def _one(self, method: str, rule_id: str) -> Response:
        if method == "POST":
            raise MethodNotAllowed
        live = self._rules.remove(rule_id) if method == "DELETE" else self._rules.find(rule_id)
        if live is None:
            raise NotFound.generic("there is no fault rule with this id")
        return _answer(shown(live))


def shown(live: LiveFault) -> dict[str, Any]:
    """Return a rule in force as JSON: its id, its fields, and how often it has matched and struck."""
    return {
        "id": live.id,
        **live.rule.to_json(),
        "matched": live.count.matched,
        "struck": live.count.struck,
        "lastStruck": None if live.struck_s is None else _time(live.struck_s),
        "created": _time(live.created_s),
    }


def _time(seconds: float) -> str:
    """Return a time as RFC 3339 with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _answer(document: dict[str, Any], code: int = 200) -> Response:
    return Response(code=code, content_type=_JSON, body=orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
