"""`/debug/flags/`: flags that can be set at run time (reference OPS-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

from orchtw.endpoints.paths import TEXT
from orchtw.logs.verbosity import Verbosity
from orchtw.request import Request, Response

PATH: Final = "/debug/flags"
_V: Final = f"{PATH}/v"
_DIGITS: Final = 6
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")


class Processes(Protocol):
    """All processes of this server."""

    def set_level(self, level: int) -> Awaitable[None]:
        """Set the log verbosity of each process."""


class DebugFlags:
    """Endpoint of the log verbosity, that of all `processes` if there are several.

    The index does not list its paths, as in kube-apiserver.
    """

    methods = frozenset({"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"})

    def __init__(self, verbosity: Verbosity, processes: Callable[[], Processes | None] = lambda: None) -> None:
        self._verbosity = verbosity
        self._processes = processes

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the paths of the list of flags and of the flag `v`."""
        return ((PATH, PATH), (f"{PATH}/", PATH), (_V, _V))

    async def handle(self, request: Request, path: str) -> Response:
        """Return the list of flags, or set the flag: 406 for methods other than PUT, 400 for a bad value."""
        if path == PATH:
            return _plain(f"{_V}\n")
        if request.method != "PUT":
            return _plain("unsupported http method", 406)
        text = request.body[: _DIGITS + 1].decode("latin-1")
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
            return _plain(f"failed set klog.logging.verbosity {ascii(text)[1:-1]}: invalid syntax", 400)
        processes = self._processes()
        if processes is None:
            self._verbosity.level = int(text)
        else:
            await processes.set_level(int(text))
        return _plain(f"successfully set klog.logging.verbosity to {text}")


def _plain(text: str, code: int = 200) -> Response:
    return Response(code=code, content_type=TEXT, body=text.encode(), headers=[_NO_SNIFF])
