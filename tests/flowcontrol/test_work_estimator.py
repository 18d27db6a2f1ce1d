"""Estimates of the seats that a request takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.work_estimator import LINGER_S, Work
from orchtw.request import Peer, Request, RequestInfo


class Cache:
    """So many objects, and watchers in so many groups."""

    def __init__(self, objects: int, watchers: int = 0, groups: int = 1) -> None:
        self._objects = objects
        self.dispatcher = SimpleNamespace(groups=groups if watchers else 0, members=lambda: (watchers, 0))

    def __len__(self) -> int:
        return self._objects


class WorkTests(SynchronousTestCase):
    """Estimated work of requests (reference FLOW-11)."""

    def seats(self, cache: Cache | None, verb: str, query: str = "", name: str = "") -> int:
        work, info = self.work(cache), self.info(verb, name)
        request = Request(method="GET", path="/", query=query, peer=Peer(address="", port=0), info=info)
        return work.seats(request, info)

    def work(self, cache: Cache | None) -> Work:
        target = None if cache is None else SimpleNamespace(stored=SimpleNamespace(cache=cache))
        return Work(cast(Any, SimpleNamespace(find=lambda *place: target)))

    def info(self, verb: str, name: str = "") -> RequestInfo:
        return RequestInfo(is_resource=True, verb=verb, path="/", resource="pods", name=name)

    def test_lists(self) -> None:
        """A seat for each 100 objects, ten at most."""
        for count, seats in ((0, 1), (100, 1), (101, 2), (950, 10), (10_000, 10)):
            self.assertEqual(self.seats(Cache(count), "list"), seats)

    def test_pages(self) -> None:
        """A page is as large as its limit; what selects looks at all objects."""
        for query, seats in (
            ("limit=50", 1),
            ("limit=500", 5),
            ("limit=0", 10),
            ("limit=-1", 10),
            (f"limit={'9' * 5000}", 10),
            ("limit=5&labelSelector=a%3Db", 10),
            ("limit=5&fieldSelector=spec.nodeName%3Da", 10),
        ):
            self.assertEqual(self.seats(Cache(10_000), "list", query), seats, query)

    def test_one_object(self) -> None:
        """A list or watch of one name takes the seat of a get; so does one of objects not cached here."""
        for verb in ("list", "watch"):
            self.assertEqual(self.seats(Cache(10_000), verb, name="a"), 1)
            self.assertEqual(self.seats(None, verb), 1)

    def test_watches(self) -> None:
        """A watch that begins with the present state is as a list, another takes a seat."""
        for query, seats in (("", 10), ("resourceVersion=0", 10), ("resourceVersion=12", 1)):
            self.assertEqual(self.seats(Cache(10_000), "watch", query), seats)

    def test_writes(self) -> None:
        """A write takes a seat for each ten watchers, and a little longer; of many selections it meets few."""
        for watchers, groups, seats, lingers in (
            (0, 0, 1, 0.0),
            (9, 1, 1, 0.0),
            (25, 1, 3, LINGER_S),
            (1000, 1, 10, LINGER_S * 10),
            (1000, 1000, 1, 0.0),
        ):
            cache = Cache(10, watchers, groups)
            self.assertEqual(self.seats(cache, "create"), seats)
            self.assertAlmostEqual(self.work(cache).lingers_s(self.info("update")), lingers)

    def test_others(self) -> None:
        """Everything else takes one."""
        cache = Cache(10_000, 1000)
        self.assertEqual((self.seats(cache, "get"), self.seats(cache, "deletecollection")), (1, 1))
        path = RequestInfo(is_resource=False, verb="post", path="/")
        request = Request(method="POST", path="/", peer=Peer(address="", port=0), info=path)
        self.assertEqual((self.work(cache).seats(request, path), self.work(cache).lingers_s(path)), (1, 0.0))
