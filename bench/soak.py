"""Soak: the same mix of requests over and over, with ever new names, labels and selectors. Memory must not grow.

Objects live for a fixed number of requests, so what is stored stays the same from the first quarter's end on.
"""

from __future__ import annotations

from random import Random
from urllib.parse import quote

import orjson

from bench.bodies import numbered
from bench.closed_loop import ClosedLoop, Make
from bench.http1 import JSON, BenchError
from bench.session import Bench

WORKERS = 8
ROUND = 1000  # at most: requests between two looks at the clock of the time limit, and at the memory
UPDATED_AFTER = 20  # requests from an object's creation to its update: all of those in between have been answered
DELETED_AFTER = 100
TEXT_BYTES = (50, 200, 1000, 4000, 9000)  # of an object's data: a request stays within one TLS record
LABELS = (0, 2, 5, 40)
LISTS = 10  # at the end of a round

WATCHES = 0.005  # of the lists: a second of watching instead

_KINDS = ("create", "update", "delete", "get", "list")


class Mix:
    """The requests of a run, each known by its number alone."""

    def __init__(self, bench: Bench, path: str) -> None:
        self._bench = bench
        self._path = f"{path}/configmaps"

    def make(self, worker: int, number: int) -> bytes:
        """Request `number`: of five that follow each other, one of each kind."""
        turn, kind = divmod(number, len(_KINDS))
        random = Random(number)
        request = self._bench.endpoint.request
        old, oldest = turn - UPDATED_AFTER, turn - DELETED_AFTER
        name = _KINDS[kind]
        if name == "create" or turn < DELETED_AFTER:
            return self._create(turn if name == "create" else -number, random)
        if name == "update":
            return request("PUT", f"{self._path}/{_name(old)}", JSON, JSON, _body(old, random))
        if name == "delete":
            return request("DELETE", f"{self._path}/{_name(oldest)}")
        if name == "get":
            return request("GET", f"{self._path}/{_name(old)}{random.choice(('', '?pretty=true'))}")
        return self._list(number, random)

    def lists(self, worker: int, number: int) -> bytes:
        """Return a list in Protobuf with a selector of its own."""
        query = f"?labelSelector={_selector(Random(number))}"
        return self._bench.endpoint.request("GET", self._path + query, self._bench.types.protobuf)

    def _create(self, number: int, random: Random) -> bytes:
        return self._bench.endpoint.request("POST", self._path, JSON, JSON, _body(number, random))

    def _list(self, number: int, random: Random) -> bytes:
        accept = random.choice((JSON, JSON, self._bench.types.table))
        query = f"?labelSelector={_selector(random)}"
        query += random.choice(("&limit=10", "&limit=20", "&limit=10&pretty=true", "&limit=100", "&limit=10", ""))
        if random.random() < WATCHES:
            query += "&watch=true&timeoutSeconds=1"
        return self._bench.endpoint.request("GET", self._path + query, accept, zipped=random.random() < 0.5)


def _name(number: int) -> str:
    return numbered("soak", number) if number >= 0 else numbered("fill", -number)


def _selector(random: Random) -> str:
    """Everything but one value that is asked for once: each list is an own selection of nearly all objects."""
    return quote(f"label-{random.randrange(40)}!=v{random.getrandbits(60)}")


def _body(number: int, random: Random) -> bytes:
    labels = {f"label-{i}": f"v{random.getrandbits(60)}" for i in range(random.choice(LABELS))}
    meta = {"name": _name(number), "labels": labels}
    text = "x" * random.choice(TEXT_BYTES)
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"text": text}})


def soak(bench: Bench) -> None:
    """Send the requests; a line with the memory at each quarter, the last with the growth over the second half."""
    mix = Mix(bench, bench.namespace())
    run_in_quarters(bench, "soak", mix.make, mix.lists, bench.types.protobuf)


def run_in_quarters(bench: Bench, scenario: str, make: Make, lists: Make, listed_as: str) -> None:
    """Send as many requests as the options say, and some `lists` after each round, which accept `listed_as`.

    Prints the lines of `soak`.
    """
    loop = ClosedLoop(bench.endpoint, WORKERS)
    total, sent, quarter = bench.options.soak_requests, 0, 1
    each = max(1, min(ROUND, total // 4))
    at_half = 0.0
    try:
        while sent < total:
            count = min(each, total - sent)
            result = loop.run(make, first=sent, count=count)
            listed = loop.run(lists, accept=listed_as, first=sent, count=LISTS)
            if problem := result.first_error or listed.first_error:
                raise BenchError(problem)
            sent += count
            while quarter <= 4 and sent * 4 >= total * quarter:
                rss = bench.machine.rss_mib()
                at_half = rss if quarter == 2 else at_half
                fields: dict[str, object] = {"requests": sent, "rss_total_mib": round(rss, 1)}
                if quarter == 4:
                    fields["growth_percent"] = round(100 * (rss / max(at_half, 1e-9) - 1), 1)
                bench.emit(scenario, fields)
                quarter += 1
    finally:
        loop.close()
