"""Stage that serves the files of the console, to everybody: they hold no data (reference CONSOLE-1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Final

import msgspec

from orchtw.endpoints.conditional import names_tag
from orchtw.errors import MethodNotAllowed
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part
from orchtw.request import Request, Response

PATH: Final = "/console"
INDEX: Final = f"{PATH}/"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS: Final = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),
)
"""Headers of every page: nothing is loaded from elsewhere, nothing frames it, no form leaves it."""


class ConsoleFile(msgspec.Struct, frozen=True):
    """A file of the console as it is sent."""

    content_type: str
    body: bytes
    etag: str


def pages() -> Mapping[str, ConsoleFile]:
    """Return the files of the console by path."""
    found = {}
    for file in resources.files("orchtw.console").joinpath("static").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        body = file.read_bytes()
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        path = INDEX if file.name == "index.html" else INDEX + file.name
        found[path] = ConsoleFile(_TYPES[suffix], body, etag)
    return found


class ConsoleStage:
    """Stage before authentication: a browser has no token until its user has given it to the page."""

    def __init__(self) -> None:
        self._pages = pages()

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return a file of the console; other paths go on. Raises MethodNotAllowed (405)."""
        page = self._pages.get(request.path)
        if page is None and request.path != PATH:
            return await proceed(request)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        if page is None:
            return Response(code=301, headers=[("Location", INDEX), *HEADERS])
        headers = [("ETag", page.etag), *HEADERS]
        if names_tag(request.headers.get("if-none-match", ""), page.etag):
            return Response(code=304, headers=headers)
        return Response(content_type=page.content_type, body=page.body, headers=headers)

    def plan(self, request: Request) -> Part:
        """Have nothing repeated: these requests are not planned."""
        return NOTHING
