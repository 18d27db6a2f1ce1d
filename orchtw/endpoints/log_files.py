"""`/logs/`: the files of the machine's log directory (reference OPS-20)."""

from __future__ import annotations

import html
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from orchtw.endpoints.paths import TEXT
from orchtw.request import Request, Response

PREFIX: Final = "/logs"
FOLDER: Final = Path("/var/log")
MOST_ENTRIES: Final = 5000
_PIECE: Final = 65536
_NOT_FOUND = b"404 page not found\n"
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")


class LogFiles:
    """Endpoint of the files below `folder`. Links out of it and special files are not found (404)."""

    methods = frozenset({"GET"})

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    def paths(self) -> Iterable[str]:
        """Return the directory itself; paths below it are routed as a tree (`Paths`)."""
        return (PREFIX,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the path with a trailing slash."""
        return ((f"{PREFIX}/", PREFIX),)

    async def handle(self, request: Request, path: str) -> Response:
        """Return a file's bytes or a directory's listing, or 404."""
        try:
            return self._answer(unquote(request.path.removeprefix(PREFIX)).strip("/"))
        except (OSError, ValueError):
            return Response(code=404, content_type=TEXT, body=_NOT_FOUND, headers=[_NO_SNIFF])

    def _answer(self, name: str) -> Response:
        """Open the file or list the directory. Raises OSError or ValueError for anything else."""
        root = self._folder.resolve()
        found = (root / name).resolve()
        if not found.is_relative_to(root):
            raise ValueError(name)
        # O_NONBLOCK: opening a pipe must not block.
        opened = os.open(found, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        mode = os.fstat(opened).st_mode
        if stat.S_ISREG(mode):
            response = Response(content_type=TEXT, parts=_pieces(opened), headers=[_NO_SNIFF])
            response.on_end(lambda _ending: os.close(opened))
            return response
        os.close(opened)
        if not stat.S_ISDIR(mode):
            raise ValueError(name)
        return Response(content_type="text/html; charset=utf-8", body=_listing(found))


def _pieces(opened: int) -> Iterator[bytes]:
    """Yield the content of the file, up to its size at the start."""
    left = os.fstat(opened).st_size
    while left > 0 and (piece := os.read(opened, min(_PIECE, left))):
        left -= len(piece)
        yield piece


def _listing(folder: Path) -> bytes:
    with os.scandir(folder) as entries:
        found = islice(entries, MOST_ENTRIES)
        names = sorted(each.name + "/" * each.is_dir(follow_symlinks=False) for each in found)
    links = (
        f'<a href="{html.escape(quote(name, errors="surrogateescape"))}">{html.escape(name)}</a>\n' for name in names
    )
    return f"<pre>\n{''.join(links)}</pre>\n".encode("utf-8", "replace")
