"""The fuzzer itself, and a small run of it."""

from __future__ import annotations

import os
import sys
from unittest import skipIf

import orjson
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bench.server import ROOT
from tests.forked import forking
from tests.fuzz.answers import Answer, Responses
from tests.fuzz.case import Case
from tests.fuzz.cases import Cases
from tests.fuzz.checks import problems
from tests.fuzz.findings import KEPT, signature_of_exception
from tests.fuzz.surface import Surface
from tests.storage.etcd.cluster import NO_ETCD
from tests.vocabularies import VOCABULARIES

REQUESTS = 500  # CI sends a hundred thousand
LIMIT_S = 300  # a busy machine; a free one needs ten


class RunTests(TestCase):
    """The command, in a process that has imported it, and forks its servers likewise."""

    timeout = LIMIT_S

    async def run_on(self, store: str) -> None:
        command = ("-m", "tests.forking_main", "-m", "tests.fuzz")
        chosen = (f"--requests={REQUESTS}", f"--store={store}", "--seed=trial")
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        stdout, stderr, status = await getProcessOutputAndValue(
            sys.executable, (*command, *chosen), variables, str(ROOT), forking
        )
        self.assertEqual((status, stderr), (0, b""), stdout.decode())
        said = [line.split(":")[0] for line in stdout.decode().splitlines()]
        self.assertEqual(said, [f"{vocabulary} on {store}" for vocabulary in VOCABULARIES])

    async def test_small_run(self) -> None:
        """Some requests, and all that were ever kept, find nothing in either vocabulary (reference LIMIT-16)."""
        await self.run_on("sqlite")

    async def test_workers(self) -> None:
        """The same of a server of two processes."""
        await self.run_on("workers")

    @skipIf(NO_ETCD is not None, NO_ETCD or "")
    async def test_etcd(self) -> None:
        """The same on a cluster."""
        await self.run_on("etcd")


class CasesTests(SynchronousTestCase):
    surface = Surface("orch")

    def test_reproducible(self) -> None:
        """A request depends on its seed and number alone, and survives being written down."""
        numbers = range(300)
        first = [Cases(self.surface, "s").case(number) for number in numbers]
        self.assertEqual([Cases(self.surface, "s").case(number) for number in reversed(numbers)], first[::-1])
        self.assertNotEqual([Cases(self.surface, "t").case(number) for number in numbers], first)
        for case in first:
            self.assertEqual(Case.from_json(orjson.loads(orjson.dumps(case.to_json()))), case)

    def test_kept_files(self) -> None:
        """Every kept file says what it found, with which vocabulary, and holds requests."""
        for path in KEPT.glob("*.json"):
            content = orjson.loads(path.read_bytes())
            self.assertEqual(set(content), {"found", "requests", "vocabulary"}, path)
            self.assertTrue([Case.from_json(each) for each in content["requests"]])


class ChecksTests(SynchronousTestCase):
    surface = Surface("orch")

    def wrong(self, code: int, body: bytes, **headers: str) -> list[str]:
        """Return the findings on a response to a request with Audit-Id "id"."""
        found = {"audit-id": "id", "content-type": "application/json", **headers}
        return problems(Case(), "id", Answer(code, found, body), self.surface)[0]

    def test_answers(self) -> None:
        """Another request's answer, a 500, a body of another type and a Status of another code are wrong."""
        status = b'{"kind":"Status","status":"Failure","code":404}'
        self.assertEqual(self.wrong(404, status), [])
        self.assertEqual(self.wrong(200, b"{}"), [])
        self.assertEqual(self.wrong(404, b'{"paths":[]}'), [])
        accessor = b"Internal error occurred: .spec.replicas accessor error: [] is of the type []interface {}"
        of_release = b'{"kind":"Status","status":"Failure","code":500,"message":"%b"}' % accessor
        self.assertEqual(self.wrong(500, of_release), [])
        for code, body, headers in (
            (404, status, {"audit-id": "other"}),
            (409, status, {}),
            (500, b'{"kind":"Status","status":"Failure","code":500,"message":"x"}', {}),
            (200, b"{", {}),
            (200, b"k8s\0", {"content-type": "application/vnd.orch.protobuf"}),
        ):
            self.assertEqual(len(self.wrong(code, body, **headers)), 1, (code, body, headers))

    def test_signature(self) -> None:
        """A fault is told by its exception and its place, whatever the value was."""
        trace = (
            'Traceback\n  File "/x/orchtw/a/b.py", line 7, in f\n  File "/y/lib.py", line 8, in g\n'
            "    KeyError: '{}'\n"
        )
        self.assertEqual(signature_of_exception(trace.format("a")), "KeyError: # in orchtw/a/b.py:f")
        self.assertEqual(signature_of_exception(trace.format("b")), signature_of_exception(trace.format("a")))


class ResponsesTests(SynchronousTestCase):
    def test_byte_by_byte(self) -> None:
        """Answers of both framings and without a body come out whole, interim ones not at all."""
        wire = (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"
            b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"
        )
        responses, answers = Responses(), []
        for at in range(len(wire)):
            responses.feed(wire[at : at + 1])
            while (answer := responses.next()) is not None:
                answers.append((answer.code, answer.body, answer.last))
        self.assertEqual(answers, [(200, b"ok", False), (200, b"abc", False), (304, b"", True)])
        self.assertFalse(responses.mid)
