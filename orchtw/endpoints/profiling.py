"""`/debug/pprof/`: stacks, CPU profile, heap and reactor state of the process (reference OPS-27)."""

from __future__ import annotations

import gc
import heapq
import html
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from orchtw.endpoints.paths import TEXT
from orchtw.endpoints.sampling import Sampler
from orchtw.request import Request, Response

PATH: Final = "/debug/pprof/"
LONGEST_S: Final = 300
USUAL_S: Final = 30
MOST_LINES: Final = 200
_DIGITS: Final = 9
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")

ABOUT: Final = {
    "cmdline": "The command line of this process.",
    "goroutine": "The stack of each thread.",
    "heap": "Objects by type, and the memory of the process.",
    "profile": f"Stacks sampled for ?seconds= ({USUAL_S}), as lines for flame graphs.",
    "reactor": "Timers, sockets and threads that the reactor is waiting for.",
    "threads": "The stack of each thread.",
}


class Profiling:
    """Endpoint of the profiles and their index. Long ones run in a thread, one at a time, never in the reactor.

    The server's index does not list its paths, as in kube-apiserver.
    """

    methods = frozenset({"GET", "POST"})

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._busy = False
        self._made: dict[str, Callable[[], bytes]] = {
            "cmdline": lambda: "\0".join(sys.argv).encode("utf-8", "surrogateescape"),
            "goroutine": stacks,
            "threads": stacks,
            "reactor": lambda: waiting_of(reactor),
        }

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the paths of the index and of each profile."""
        return ((PATH.rstrip("/"), PATH), (PATH, PATH), *((PATH + name, PATH + name) for name in ABOUT))

    async def handle(self, request: Request, path: str) -> Response:
        """Return one profile, or their index."""
        name = path.removeprefix(PATH)
        if not name:
            return Response(content_type="text/html; charset=utf-8", body=_index(), headers=[_NO_SNIFF])
        if name in self._made:
            return _plain(self._made[name]())
        if self._busy:
            return _plain(b"Could not enable CPU profiling: cpu profiling already in use\n", 500)
        if name == "heap":
            return _plain(await self._in_thread(held))
        seconds = _seconds(request.param("seconds"))
        if seconds > LONGEST_S:
            return _plain(b"profile duration exceeds the maximum of %d seconds\n" % LONGEST_S, 400)
        sampler = Sampler(seconds)
        return _plain(await self._in_thread(sampler.run, sampler.stop))

    def _in_thread(self, work: Callable[[], bytes], stop: Callable[[], None] = lambda: None) -> Deferred[bytes]:
        """Run `work` in a thread; `stop` is called if the client disconnects or the server shuts down."""
        self._busy = True
        answer: Deferred[bytes] = Deferred(lambda _: stop())
        triggers: list[Any] = []

        def at_shutdown() -> None:
            triggers.clear()
            stop()

        def ended(result: bytes | Failure) -> None:
            self._busy = False
            if triggers:
                self._reactor.removeSystemEventTrigger(triggers.pop())
            if not answer.called:
                answer.callback(result)

        triggers.append(self._reactor.addSystemEventTrigger("before", "shutdown", at_shutdown))
        deferToThreadPool(self._reactor, self._reactor.getThreadPool(), work).addBoth(ended)
        return answer


def stacks() -> bytes:
    """Return the stack of each thread, innermost call last."""
    names = {each.ident: each.name for each in threading.enumerate()}
    found = list(sys._current_frames().items())
    parts = [f"threads: {len(found)}\n"]
    for thread, frame in found:
        parts.append(f"\n{names.get(thread, 'thread')} [{thread}]:\n")
        calls = list(islice(traceback.walk_stack(frame), MOST_LINES))[::-1]
        parts += [f"  {call.f_code.co_filename}:{line} {call.f_code.co_qualname}\n" for call, line in calls]
    return "".join(parts).encode("utf-8", "replace")


def held() -> bytes:
    """Return the process's memory in pages, the garbage collector's state, and its tracked objects by type.

    Objects from startup are frozen (`assembly.collector`): only their number is shown. Counting holds the GIL, some
    50 ms for half a million objects.
    """
    with open("/proc/self/statm", encoding="ascii") as statm:
        size, resident, shared = statm.read().split()[:3]
    lines = [
        f"pages: size {size}, resident {resident}, shared {shared}\n",
        f"collector: counts {gc.get_count()}, thresholds {gc.get_threshold()}, frozen {gc.get_freeze_count()}\n",
        *(f"generation {number}: {stats}\n" for number, stats in enumerate(gc.get_stats())),
    ]
    # Counted in one C-level pass: another thread that ran meanwhile might be resizing a new tuple, which raises
    # SystemError while a list of objects also refers to it.
    kinds = Counter(map(type, chain.from_iterable(map(gc.get_objects, range(3)))))
    lines.append(f"objects: {kinds.total()}\n")
    lines += [f"{count:>9} {kind.__module__}.{kind.__qualname__}\n" for kind, count in kinds.most_common(MOST_LINES)]
    return "".join(lines).encode("utf-8", "replace")


def waiting_of(reactor: Any) -> bytes:
    """Format the reactor's state: counts of timers, sockets and threads, and the timers that are due next."""
    now = reactor.seconds()
    calls = reactor.getDelayedCalls()
    pool = reactor.getThreadPool()
    lines = [
        f"timers: {len(calls)}\n",
        f"readers: {len(reactor.getReaders())}\n",
        f"writers: {len(reactor.getWriters())}\n",
        f"threads: {len(pool.working)} of {pool.max} working, {len(pool.waiters)} waiting\n\n",
    ]
    for call in heapq.nsmallest(MOST_LINES, calls, key=_due):
        function = getattr(call, "func", None)
        lines.append(f"{_due(call) - now:>12.3f} s {_function(function)}\n")
    return "".join(lines).encode("utf-8", "replace")


def _due(call: IDelayedCall) -> float:
    return float(call.getTime())


def _function(function: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}"


def _seconds(text: str) -> int:
    """Parse a number of seconds; anything but a positive integer means the default."""
    usable = text.isascii() and text.isdigit() and len(text) <= _DIGITS
    return (int(text) if usable else 0) or USUAL_S


def _index() -> bytes:
    items = "".join(f'<li><a href="{name}">{name}</a>: {html.escape(text)}</li>\n' for name, text in ABOUT.items())
    return f"<html>\n<head><title>{PATH}</title></head>\n<body>\n<ul>\n{items}</ul>\n</body>\n</html>\n".encode()


def _plain(body: bytes, code: int = 200) -> Response:
    return Response(code=code, content_type=TEXT, body=body, headers=[_NO_SNIFF])
