"""`/logs/`: the files of the machine's folder of logs (reference OPS-20)."""

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
    """Shows what is below `folder`: links out of it, and what is neither file nor folder, are not found."""

    methods = frozenset({"GET"})

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    def paths(self) -> Iterable[str]:
        """The folder itself; what is below is asked by `below`."""
        return (PREFIX,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """The folder with a slash."""
        return ((f"{PREFIX}/", PREFIX),)

    async def handle(self, request: Request, path: str) -> Response:
        """A file's bytes, or the list of a folder."""
        try:
            return self._answer(unquote(request.path.removeprefix(PREFIX)).strip("/"))
        except (OSError, ValueError):
            return Response(code=404, content_type=TEXT, body=_NOT_FOUND, headers=[_NO_SNIFF])

    def _answer(self, name: str) -> Response:
        """Raises OSError and ValueError for what cannot be shown."""
        root = self._folder.resolve()
        found = (root / name).resolve()
        if not found.is_relative_to(root):
            raise ValueError(name)
        # What is no file, such as a pipe, must not be waited for.
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
    """Yield the present content of the file, up to its size at the start."""
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
