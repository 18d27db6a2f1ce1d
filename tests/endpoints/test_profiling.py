"""`/debug/pprof/` and what it is made of (reference OPS-27)."""

from __future__ import annotations

import threading
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.endpoints import sampling
from orchtw.endpoints.profiling import ABOUT, LONGEST_S, PATH, Profiling, held, stacks, waiting_of
from orchtw.endpoints.sampling import Sampler
from orchtw.request import Peer, Request, Response

reactor: Any = installed_reactor


class ProfilingTests(TestCase):
    """Profiling over HTTP (`Profiling`)."""

    def setUp(self) -> None:
        self.profiling = Profiling(reactor)

    def ask(self, name: str, query: str = "") -> Deferred[Response]:
        """Ask for a profile."""
        request = Request(method="GET", path=PATH + name, query=query, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(self.profiling.handle(request, PATH + name))

    async def test_all(self) -> None:
        """The index names every profile, each is served, and none is in the server's own index."""
        index = await self.ask("")
        self.assertEqual(list(self.profiling.paths()), [])
        self.assertEqual({path for _, path in self.profiling.aliases()}, {PATH, *(PATH + name for name in ABOUT)})
        assert isinstance(index.body, bytes)
        for name in ABOUT:
            self.assertIn(f'href="{name}"'.encode(), index.body)
            self.assertEqual((await self.ask(name, "seconds=1")).code, 200)

    async def test_one_at_a_time(self) -> None:
        """While one profile is made another is refused; a client that leaves ends its own."""
        first = self.ask("profile", f"seconds={LONGEST_S}")
        second = await self.ask("profile", "seconds=1")
        assert isinstance(second.body, bytes)
        self.assertEqual((second.code, b"already in use" in second.body), (500, True))
        first.cancel()
        await self.assertFailure(first, CancelledError)
        while (await self.ask("profile", "seconds=1")).code == 500:
            await deferLater(reactor, 0.01)

    async def test_too_long(self) -> None:
        """A profile occupies a thread for some minutes at most."""
        self.assertEqual((await self.ask("profile", f"seconds={LONGEST_S + 1}")).code, 400)

    def test_contents(self) -> None:
        """Stacks, objects and what the reactor waits for, each with names."""
        call = reactor.callLater(1000, self.test_contents)
        self.addCleanup(call.cancel)
        self.assertIn(b"test_contents\n", stacks())
        self.assertIn(b"builtins.dict\n", held())
        self.assertIn(b" s tests.endpoints.test_profiling.ProfilingTests.test_contents\n", waiting_of(reactor))


class SamplerTests(SynchronousTestCase):
    """Sampling of the call stack (`Sampler`)."""

    def sampled(self) -> Sampler:
        """One that has looked twice, from a thread, at this test's."""
        sampler = Sampler(1)
        for _ in range(2):
            thread = threading.Thread(target=sampler.look)
            thread.start()
            thread.join()
        return sampler

    def test_lines(self) -> None:
        """A stack is a line from the outermost frame to the innermost, with a count."""
        line = next(each for each in self.sampled().text().decode().splitlines() if "SamplerTests.sampled" in each)
        self.assertTrue(line.startswith("MainThread;"), line)
        self.assertLess(line.index("SamplerTests.test_lines"), line.index("SamplerTests.sampled"))

    def test_bounds(self) -> None:
        """The numbers of distinct stacks and of frames in each are bounded."""
        self.patch(sampling, "MOST_STACKS", 0)
        self.assertIn("MainThread;other 2\n", self.sampled().text().decode())
        self.patch(sampling, "MOST_STACKS", 10)
        self.patch(sampling, "DEEPEST", 1)
        self.assertTrue(all(line.count(";") == 1 for line in self.sampled().text().decode().splitlines()))

    def test_stopped(self) -> None:
        """One that is stopped ends at once, after one look."""
        sampler = Sampler(1000)
        sampler.stop()
        sampler.run()
        self.assertEqual(set(sampler.counts.values()) | {1}, {1})
