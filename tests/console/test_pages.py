"""The files of the console, without a browser (reference CONSOLE-1)."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.console.pages import INDEX, ConsoleStage, pages
from orchtw.errors import MethodNotAllowed
from orchtw.request import Peer, Request, Response


async def other(request: Request) -> Response:
    """A stage behind the one that is tested."""
    return Response(code=204)


class ConsoleStageTests(SynchronousTestCase):
    """Requests for the console, and others."""

    def setUp(self) -> None:
        self.stage = ConsoleStage()

    def ask(self, path: str, method: str = "GET", **headers: str) -> Deferred[Response]:
        """The response to one request."""
        request = Request(method=method, path=path, headers=headers, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(self.stage.handle(request, other))

    def page(self, path: str) -> Any:
        """A page and its headers."""
        response = self.successResultOf(self.ask(path))
        self.assertEqual(response.code, 200)
        return response, dict(response.headers)

    def test_index(self) -> None:
        """The page is served with a strict policy, and revalidated by its ETag."""
        response, headers = self.page(INDEX)
        self.assertIn(b"<title>Console</title>", response.body)
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';"))
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        again = self.successResultOf(self.ask(INDEX, **{"if-none-match": headers["ETag"]}))
        self.assertEqual((again.code, again.body), (304, b""))
        for tags in (f'"other", {headers["ETag"]}', f'W/{headers["ETag"]}', "*"):
            self.assertEqual(self.successResultOf(self.ask(INDEX, **{"if-none-match": tags})).code, 304, tags)

    def test_redirect(self) -> None:
        """The path without a slash leads to the page, whose files are named relative to it."""
        response = self.successResultOf(self.ask("/console"))
        self.assertEqual((response.code, dict(response.headers)["Location"]), (301, INDEX))

    def test_others(self) -> None:
        """Other paths go on, also those that only begin like the console."""
        for path in ("/", "/consoles", "/console/../api", "/console/none.js", "/api/v1/console"):
            self.assertEqual(self.successResultOf(self.ask(path)).code, 204)

    def test_methods(self) -> None:
        """Only GET and HEAD are served."""
        self.failureResultOf(self.ask(INDEX, "POST"), MethodNotAllowed)
        self.assertEqual(self.successResultOf(self.ask(INDEX, "HEAD")).code, 200)

    def test_complete(self) -> None:
        """Every file that another one names is there, and nothing comes from elsewhere."""
        found = pages()
        for path, page in found.items():
            text = page.body.decode()
            for name in re.findall(r'(?:from|src|href)[ =]"([^"#$]+)"', text):
                self.assertIn(INDEX + name.removeprefix("./"), found, f"{path} names {name}")
            self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), r"https?://")

    def test_no_markup(self) -> None:
        """No script makes markup or code of text."""
        for path, page in pages().items():
            if path.endswith(".js"):
                self.assertNotRegex(page.body.decode(), r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(")
                self.assertNotRegex(page.body.decode(), r"localStorage|sessionStorage|cookie =")
