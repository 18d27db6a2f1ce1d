"""`/debug/faults`: fault rules over HTTP."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.faults import MOST_BODY_BYTES, PATH, FaultEndpoint
from orchtw.endpoints.paths import Paths
from orchtw.errors import BadRequest, MethodNotAllowed, NotFound, RequestEntityTooLarge, UnsupportedMediaType
from orchtw.faults.rules import MOST_RULES, FaultRules
from orchtw.request import Peer, Request, Response

CONFLICT = {"status": 409, "verb": "update", "resource": "configmaps", "times": 2}


class FaultEndpointTests(SynchronousTestCase):
    """Rules over HTTP (`FaultEndpoint`)."""

    def setUp(self) -> None:
        self.rules = FaultRules(lambda: 1.5)
        endpoint = FaultEndpoint(self.rules, lambda: 42)
        self.paths = Paths([], {PATH: endpoint})

    def asked(self, method: str, path: str, body: bytes, **headers: str) -> Deferred[Response]:
        """The answer to a request, or its refusal."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        request = Request(method=method, path=path, body=body, headers=named, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(self.paths(request))

    def ask(self, method: str, path: str = PATH, body: Any = None, code: int = 200, **headers: str) -> Any:
        """The JSON of an answer with this code."""
        sent = b"" if body is None else orjson.dumps(body)
        answer = self.successResultOf(self.asked(method, path, sent, **headers))
        self.assertEqual((answer.code, answer.content_type), (code, "application/json"))
        assert isinstance(answer.body, bytes)
        return orjson.loads(answer.body)

    def refused(
        self, error: type[Exception], method: str, path: str = PATH, body: bytes = b"", **headers: str
    ) -> str:
        """The text of a refusal."""
        return str(self.failureResultOf(self.asked(method, path, body, **headers), error).value)

    def test_add(self) -> None:
        """A rule that is added comes back with its id, its counts and its times."""
        shown = self.ask("POST", body=CONFLICT, code=201, content_type="application/json; charset=utf-8")
        self.assertEqual(shown, {
            "id": "conflict-1", "fault": "conflict", "status": 409, "times": 2, "verb": ["update"],
            "resource": ["configmaps"], "matched": 0, "struck": 0, "lastStruck": None,
            "created": "1970-01-01T00:00:01.500000Z",
        })  # fmt: skip
        self.assertEqual(self.ask("GET"), {"rules": [shown]})
        self.assertEqual(self.ask("GET", f"{PATH}/"), {"rules": [shown]})
        self.assertEqual(self.ask("GET", f"{PATH}/conflict-1"), shown)

    def test_remove(self) -> None:
        """One rule is removed by its id, all of them by the path itself; what is gone is a 404."""
        for _ in range(3):
            self.ask("POST", body=CONFLICT, code=201)
        self.assertEqual(self.ask("DELETE", f"{PATH}/conflict-2")["id"], "conflict-2")
        for method in ("GET", "DELETE"):
            self.assertIn("no fault rule with this id", self.refused(NotFound, method, f"{PATH}/conflict-2"))
        self.assertEqual(self.ask("DELETE"), {"removed": 2})
        self.assertEqual(self.ask("GET"), {"rules": []})

    def test_seed(self) -> None:
        """A seed that the rule does not name is chosen and shown."""
        shown = self.ask("POST", body={**CONFLICT, "probability": 0.5}, code=201)
        self.assertEqual((shown["probability"], shown["seed"]), (0.5, 42))

    def test_preset(self) -> None:
        """A preset adds several rules, which come back together."""
        shown = self.ask("POST", body={"preset": "chaos", "seed": 1, "user": "bob"}, code=201)
        self.assertEqual(self.ask("GET"), shown)
        self.assertEqual({tuple(rule["user"]) for rule in shown["rules"]}, {("bob",)})
        self.assertGreater(len(shown["rules"]), 3)

    def test_refused(self) -> None:
        """Rules that cannot be taken change nothing."""
        self.assertIn("unknown field", self.refused(BadRequest, "POST", body=b'{"faults":1}'))
        self.refused(UnsupportedMediaType, "POST", body=b"{}", content_type="application/yaml")
        self.refused(RequestEntityTooLarge, "POST", body=b" " * (MOST_BODY_BYTES + 1))
        self.refused(MethodNotAllowed, "PUT", body=b"{}")
        self.refused(MethodNotAllowed, "POST", f"{PATH}/late-1", b"{}")
        self.assertEqual(len(self.rules), 0)

    def test_most(self) -> None:
        """Beyond so many rules further ones are refused."""
        for _ in range(MOST_RULES):
            self.ask("POST", body=CONFLICT, code=201)
        self.assertIn("at most 100", self.refused(BadRequest, "POST", body=orjson.dumps(CONFLICT)))

    def test_index(self) -> None:
        """The server's index does not list the path."""
        self.assertNotIn(PATH, str(self.ask("GET", "/")))
