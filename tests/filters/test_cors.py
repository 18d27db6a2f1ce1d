"""Handling of cross-origin requests (CORS)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.cors import CORS
from orchtw.request import Peer, Request, Response
from orchtw.rules.origins import AllowedOrigins

CONSOLE, STRANGER = "https://console", "https://evil"
ASKED = {"access-control-request-method": "PUT"}


class CORSTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.seen: list[Request] = []

    async def proceed(self, request: Request) -> Response:
        self.seen.append(request)
        return Response(code=401, headers=[("Audit-Id", "1")])

    def answer(self, method: str, **headers: str) -> Response:
        """Return the response to a request, where pages of the console are allowed."""
        named: dict[str, Any] = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method=method, path="/x", headers=named, peer=Peer(address="", port=0))
        handled = CORS(AllowedOrigins([f"^{CONSOLE}$"])).handle(request, self.proceed)
        response: Response = self.successResultOf(Deferred.fromCoroutine(handled))
        return response

    def test_preflight(self) -> None:
        """A preflight of an allowed origin is answered here: no stage sees it (reference REQ-28)."""
        response = self.answer("OPTIONS", origin=CONSOLE, access_control_request_method="PUT")
        self.assertEqual((response.code, self.seen), (204, []))
        self.assertIn(("Access-Control-Allow-Origin", CONSOLE), response.headers)

    def test_other_options(self) -> None:
        """Any other OPTIONS request is passed on."""
        self.answer("OPTIONS", origin=CONSOLE)
        self.answer("OPTIONS", origin=STRANGER, access_control_request_method="PUT")
        self.answer("OPTIONS", access_control_request_method="PUT")
        self.assertEqual(len(self.seen), 3)

    def test_allowed(self) -> None:
        """An allowed origin's answers get the headers that open them to its pages, beside their own."""
        headers = self.answer("GET", origin=CONSOLE).headers
        opened = ("Access-Control-Allow-Origin", CONSOLE)
        self.assertEqual(headers[:3], [("Audit-Id", "1"), ("Vary", "Origin"), opened])
        self.assertEqual(len({name for name, _ in headers}), len(headers))

    def test_others(self) -> None:
        """Others' answers say no more than that they depend on the origin."""
        for headers in ({"origin": STRANGER}, {"origin": ""}, {}):
            self.assertEqual(self.answer("GET", **headers).headers, [("Audit-Id", "1"), ("Vary", "Origin")])
