"""`ApiServerTrialCase` under trial, with failing fixtures too."""
# covers: orchtw.testing.deferred_api_server, orchtw.testing.control.deferred

from __future__ import annotations

from orchtw.testing import trial_case
from orchtw.testing.kubectl_command import find
from tests.testing.runners import RunnerCase


class TrialFixtureTests(RunnerCase):
    """Fixtures and helpers of `ApiServerTrialCase`."""

    TESTS = f"""
import os, signal
from {trial_case.__name__} import ApiServerTrialCase

class Base(ApiServerTrialCase):
    async def create(self, name, namespace="default"):
        path = f"/api/v1/namespaces/{{namespace}}/configmaps"
        (await self.server.request("POST", path, {{"metadata": {{"name": name}}}})).checked(name)

class SetUpTests(Base):
    async def setUp(self):
        await super().setUp()
        await self.create("in-set-up")
        raise ValueError("wrong")

    def test_it(self):
        pass

class TearDownTests(Base):
    async def tearDown(self):
        await self.create("in-tear-down")
        raise ValueError("wrong")

    def test_it(self):
        self.addCleanup(self.clean)

    async def clean(self):
        await self.create("in-cleanup")
        raise ValueError("wrong")

class HelperTests(Base):
    async def set_up_server(self):
        await self.create("base")

    async def test_namespace(self):
        name = await self.namespace()
        assert name.startswith("test-namespace-") and name == await self.namespace()
        await self.create("elsewhere")
        await self.create("here", name)
        self.fail("wrong")

    async def test_kubectl(self):
        await self.kubectl("create", "configmap", "a")
        said = await self.kubectl("get", "configmap", "a", "-o", "jsonpath={{.metadata.namespace}}")
        assert said == await self.namespace()

    def test_a_death(self):
        os.kill(self.server.pid, signal.SIGKILL)

    async def test_after_death(self):
        assert await self.server.reader().get("configmaps/base")
"""

    def test_trial(self) -> None:
        """Every failure is explained; a server that died is replaced, with what `set_up_server` creates."""
        said = self.said(self.TESTS, "-m", "twisted.trial", "test_it")
        for name in ("in-set-up", "in-tear-down", "in-cleanup"):
            self.assertIn(f"ADDED configmaps default/{name} at ", said)
        self.assertRegex(said, r"ADDED configmaps test-namespace-\w+/here at ")
        self.assertNotIn("/elsewhere at", said)
        skipped = "" if find() else "skips=1, "
        self.assertIn(f"FAILED ({skipped}failures=1, errors=3, successes={3 if find() else 2})", said)


class TrialTests(RunnerCase):
    """`ApiServerTrialCase` under its runner, trial."""

    TESTS = f"""
from {trial_case.__name__} import ApiServerTrialCase
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SkipTest
from orchtw.testing import absent

PATH = "/api/v1/namespaces/default/configmaps"

class MyTests(ApiServerTrialCase):
    async def set_up_server(self):
        await self.create("base")

    async def create(self, name):
        (await self.server.request("POST", PATH, {{"metadata": {{"name": name}}}})).checked(name)

    async def test_first(self):
        await self.create("a")
        await self.server.eventually("configmaps/base")

    async def test_second(self):
        reactor.callLater(0.01, lambda: Deferred.fromCoroutine(self.create("a")))
        await self.server.eventually("configmaps/a")
        await self.server.quiet(0.01)
        await self.server.request("DELETE", PATH + "/a")
        await self.server.eventually("configmaps/a", absent)

    async def test_third(self):
        await self.create("mine")
        self.fail("wrong")

    async def test_skipped(self):
        raise SkipTest("not now")

class OtherTests(ApiServerTrialCase):
    async def test_other(self):
        assert await self.server.reader().get("configmaps/base") is None
"""

    def test_outcome(self) -> None:
        """Asynchronous tests meet the state that `set_up_server` left, and a failure has the writes."""
        said = self.said(self.TESTS, "-m", "twisted.trial", "test_it")
        self.assertIn("FAILED (skips=1, failures=1, successes=3)", said)
        self.assertReported(said)

    def test_servers_end(self) -> None:
        """Nothing of the servers is left when trial has ended."""
        from tests.testing.api_servers import alive

        script = "import test_it, atexit, sys; from orchtw.testing.trial_case import _servers\n"
        script += "atexit.register(lambda: print(*(each.pid for each in _servers.values())))\n"
        script += "sys.argv = ['trial', 'test_it']; from twisted.scripts.trial import run; run()"
        said = self.said(self.TESTS, "-c", script, cold=True)
        pid = int(said.splitlines()[-1])
        self.assertFalse(alive(pid), said)
        self.assertNotIn("Traceback (most recent call last):\nResource", said)
