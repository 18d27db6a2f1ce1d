"""`ApiServerTestCase` under its runners, with failing fixtures too."""

from __future__ import annotations

from orchtw.testing import unittest_case
from orchtw.testing.kubectl_command import find
from tests.testing.runners import CREATE, RunnerCase


class UnittestTests(RunnerCase):
    """`ApiServerTestCase` under its runners."""

    TESTS = f"""
import asyncio, unittest
from {unittest_case.__name__} import ApiServerMixin, ApiServerTestCase
{CREATE}
class MyTests(ApiServerTestCase):
    server_flags = ("--v=1",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        create(cls.server, "base")

    def test_first(self):
        create(self.server, "a")
        self.server.eventually("configmaps/base")

    def test_second(self):
        create(self.server, "a")

    def test_third(self):
        create(self.server, "mine")
        self.fail("wrong")

    def test_skipped(self):
        self.skipTest("not now")

class LoopTests(ApiServerMixin, unittest.IsolatedAsyncioTestCase):
    async def test_loop(self):
        await asyncio.to_thread(create, self.server, "loop")
        self.fail("wrong as well")
"""

    def test_unittest(self) -> None:
        """Tests meet the state that the class's setUpClass left, and a failure has a note."""
        said = self.said(self.TESTS, "-m", "unittest", "test_it", cold=True)
        self.assertIn("FAILED (failures=2, skipped=1)", said)
        self.assertReported(said)

    def test_without_class_fixtures(self) -> None:
        """A runner that does not call setUpClass, as trial does not, is told what to use instead."""
        case = unittest_case.ApiServerTestCase()
        self.assertIn("orchtw.testing.trial_case", str(self.assertRaises(RuntimeError, case.setUp)))

    def test_pytest(self) -> None:
        """So they do under pytest."""
        said = self.said(self.TESTS, "-m", "pytest", "-q", "-rN")  # the summary repeats whole notes where CI is set
        self.assertIn("2 failed, 2 passed, 1 skipped", said)
        self.assertReported(said)


class UnittestFixtureTests(RunnerCase):
    """Fixtures, sub-tests and helpers of `ApiServerTestCase`."""

    TESTS = f"""
import os, signal
from {unittest_case.__name__} import ApiServerTestCase
{CREATE}
class SetUpTests(ApiServerTestCase):
    def setUp(self):
        super().setUp()
        create(self.server, "in-set-up")
        raise ValueError("wrong")

    def test_it(self):
        pass

class TearDownTests(ApiServerTestCase):
    def tearDown(self):
        create(self.server, "in-tear-down")
        raise ValueError("wrong")

    def test_it(self):
        self.addCleanup(self.clean)

    def clean(self):
        create(self.server, "in-cleanup")
        raise ValueError("wrong")

class SubTests(ApiServerTestCase):
    def test_it(self):
        for name in ("one", "two"):
            with self.subTest(name):
                create(self.server, "sub-" + name)
                assert name == "one"

class HelperTests(ApiServerTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        create(cls.server, "base")

    def test_namespace(self):
        assert self.namespace.startswith("test-namespace-")
        assert self.namespace == self.namespace
        create(self.server, "elsewhere")
        create(self.server, "here", self.namespace)
        assert 0

    def test_kubectl(self):
        self.kubectl("create", "configmap", "a")
        assert self.kubectl("get", "configmap", "a", "-o", "jsonpath={{.metadata.namespace}}") == self.namespace

    def test_a_death(self):
        os.kill(self.server.pid, signal.SIGKILL)

    def test_after_death(self):
        assert self.server.reader().get("configmaps/base")
"""

    def assertNoted(self, said: str) -> None:
        """Each failure has the writes up to it, of its namespace if it has one."""
        for name in ("default/in-set-up", "default/in-tear-down", "default/in-cleanup", "default/sub-two"):
            self.assertIn(f"ADDED configmaps {name} at ", said)
        self.assertRegex(said, r"ADDED configmaps test-namespace-\w+/here at ")
        self.assertNotIn("/elsewhere at", said)

    def test_unittest(self) -> None:
        """Every failure is explained; a server that died is replaced, with what setUpClass creates."""
        said = self.said(self.TESTS, "-m", "unittest", "test_it")
        self.assertNoted(said)
        skipped = "" if find() else ", skipped=1"
        self.assertIn(f"FAILED (failures=2, errors=3{skipped})", said)
        self.assertEqual(said.count("orchtw: last writes"), 5)

    def test_pytest(self) -> None:
        """So it is under pytest."""
        said = self.said(self.TESTS, "-m", "pytest", "-q")
        self.assertNoted(said)
