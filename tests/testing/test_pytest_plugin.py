"""The plugin of pytest: each test runs pytest in a folder, and looks at its output."""

# covers: orchtw.testing.noting, orchtw.testing.last_writes, orchtw.testing.unittest_case
# covers: orchtw.testing.trial_case, orchtw.testing.deferred_api_server, orchtw.testing.control.deferred

from __future__ import annotations

import configparser
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing import pytest_plugin, trial_case, unittest_case
from orchtw.testing.kubectl_command import find
from tests.testing.api_servers import run_python

CREATE = """
def create(server, name, namespace="default"):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.request("POST", path, {"metadata": {"name": name}, "data": {"x": "1"}}).checked(path)
"""

FRESH = f"""
{CREATE}
def test_first(orch):
    create(orch, "a")

def test_second(orch, orch_server):
    assert orch is orch_server
    create(orch, "a")

def test_namespace(orch_namespace, orch, orch_server):
    assert orch_namespace.startswith("test-namespace-")
    create(orch_server, "a", orch_namespace)

def test_first_namespace_is_gone(orch_server):
    def going(read):
        found = [each for each in read.list("namespaces") if each["metadata"]["name"].startswith("test-namespace-")]
        return not found or found[0]["status"]["phase"] == "Terminating"
    orch_server.eventually(going)
"""

BASELINE = f"""
import pytest
{CREATE}
@pytest.fixture(scope="session")
def orch_baseline(orch_server):
    create(orch_server, "base")

@pytest.mark.parametrize("number", [1, 2])
def test_it(orch, number):
    names = [each["metadata"]["name"] for each in orch.reader().list("configmaps", "default")]
    assert [each for each in names if each != "kube-root-ca.crt"] == ["base"]
    create(orch, "more")
"""

FAILING = f"""
{CREATE}
def test_of_server(orch):
    create(orch, "mine")
    assert 0

def test_of_namespace(orch_server, orch_namespace):
    create(orch_server, "elsewhere")
    create(orch_server, "here", orch_namespace)
    assert 0

def test_without_server():
    assert 0
"""

KUBECTL = """
def test_text(orch, kubectl):
    assert kubectl("get", "namespace", "default", "-o", "name") == "namespace/default\\n"

def test_namespace(kubectl, orch_namespace):
    kubectl("create", "configmap", "a", "--from-literal=x=1")
    assert kubectl("get", "configmap", "a", "-o", "jsonpath={.metadata.namespace}") == orch_namespace

def test_input(orch, kubectl):
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}'
    assert "created" in kubectl("apply", "-f", "-", stdin=text)
"""

OPTIONS = """
def test_vocabulary(orch):
    assert orch.vocabulary == "orch"
    assert any(each["name"].endswith(".orch.io") for each in orch.request("GET", "/apis").json["groups"])
    assert '"HTTP" verb=' in orch.log()
"""

WORKERS = """
import os, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(orch, number, tmp_path_factory):
    place = tmp_path_factory.getbasetemp().parent / f"{os.environ['PYTEST_XDIST_WORKER']}-{orch.pid}"
    place.touch()
    assert len([each for each in place.parent.iterdir() if each.name.startswith(place.name.split("-")[0])]) == 1
"""

UNUSED = """
import sys

def test_nothing():
    loaded = [name for name in sys.modules if name.startswith(("orchtw", "twisted"))]
    assert sorted(loaded) == ["orchtw", "orchtw.testing", "orchtw.testing.pytest_plugin"]
    assert not {"h11", "attr"} & set(sys.modules)
"""


DEATH = f"""
import os, signal, pytest
{CREATE}
@pytest.fixture(scope="session")
def orch_baseline(orch_server):
    create(orch_server, "base")
    yield
    orch_server.request("DELETE", "/api/v1/namespaces/default/configmaps/base")

@pytest.mark.parametrize("number", range(3))
def test_it(orch, orch_namespace, number):
    assert orch.reader().get("configmaps/base")
    if number == 1:
        os.kill(orch.pid, signal.SIGKILL)

def test_session(orch_server):
    assert orch_server.running
"""

TRACEBACK = """
def test_it(orch):
    orch.eventually("configmaps/none", 0.1)

def test_function(orch):
    orch.eventually(lambda read: False, 0.1)

def test_refusal(orch):
    orch.request("GET", "/nonsense").checked("nonsense")

def test_kubectl(kubectl):
    kubectl("nonsense")
"""


class PluginTests(SynchronousTestCase):
    def run_tests(self, text: str, *options: str, plugins: tuple[str, ...] = ()) -> str:
        """Run tests of a file; returns what pytest says."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_it.py").write_text(text)
        chosen = [word for name in ("orchtw.testing.pytest_plugin", *plugins) for word in ("-p", name)]
        options = ("-q", "-p", "no:cacheprovider", "-W", "error", *options)
        # The plugin of this checkout, whatever is installed.
        done = run_python(
            "-m", "pytest", *chosen, *options, folder=folder, variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        )
        return done.stdout + done.stderr

    def test_fresh_state(self) -> None:
        """Each test meets the state after the start; a namespace goes after its test."""
        self.assertIn("4 passed", self.run_tests(FRESH))

    def test_baseline(self) -> None:
        """An overridden `orch_baseline` prepares the state that tests meet."""
        self.assertIn("2 passed", self.run_tests(BASELINE))

    def test_report(self) -> None:
        """A failed test shows the last writes, of its namespace if it has one; others show nothing."""
        said = self.run_tests(FAILING)
        self.assertIn("3 failed", said)
        self.assertEqual(said.count("orchtw: last writes"), 2)
        self.assertIn("ADDED configmaps default/mine at ", said)
        self.assertIn("by orch-testing (orchtw-testing), create", said)
        self.assertIn('$.data: (none) → {"x": "1"}', said)
        self.assertRegex(said, r"ADDED configmaps test-of-namespace-\w+/here at ")
        self.assertNotIn("/elsewhere at", said)

    def test_death(self) -> None:
        """A server that a test has killed is replaced for the next one, in the state that `orch_baseline` makes."""
        self.assertIn("4 passed", self.run_tests(DEATH))

    def test_traceback(self) -> None:
        """The traceback of a failed assertion has the test's own frame and nothing of the package."""
        said = self.run_tests(TRACEBACK)
        self.assertIn("the condition was not met within 0.1 s", said)
        self.assertIn(">       orch.eventually(lambda read: False, 0.1)", said)
        self.assertNotIn("orchtw/testing/", said)

    def test_kubectl(self) -> None:
        """`kubectl` returns text, and works in the test's namespace."""
        wanted = "3 passed" if find() else "3 skipped"
        self.assertIn(wanted, self.run_tests(KUBECTL))

    def test_options(self) -> None:
        """Vocabulary and flags reach the server."""
        self.assertIn("1 passed", self.run_tests(OPTIONS, "--orch-vocabulary=orch", "--orch-flag=--v=3"))

    def test_workers(self) -> None:
        """Each worker of pytest-xdist has one server."""
        said = self.run_tests(WORKERS, "-n2", plugins=("xdist",))
        self.assertIn("4 passed", said)

    def test_unused(self) -> None:
        """Test suites that do not use it import nothing but the plugin."""
        self.assertIn("1 passed", self.run_tests(UNUSED))

    def test_help(self) -> None:
        """Fixtures and options describe themselves."""
        said = self.run_tests("", "--fixtures")
        for name in ("orch", "orch_server", "orch_namespace", "orch_baseline", "kubectl"):
            self.assertRegex(said, rf"(?m)^{name}\b")
        self.assertIn("--orch-flag=FLAG", self.run_tests("", "--help"))

    def test_entry_point(self) -> None:
        """Installed, pytest finds the plugin by itself."""
        settings = configparser.ConfigParser()
        settings.read(Path(__file__).parents[2] / "setup.cfg")
        self.assertEqual(settings["options.entry_points"]["pytest11"].strip(), f"orchtw = {pytest_plugin.__name__}")


class UnittestTests(SynchronousTestCase):
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

    @unittest.skip("not now")
    def test_skipped(self):
        pass

class LoopTests(ApiServerMixin, unittest.IsolatedAsyncioTestCase):
    async def test_loop(self):
        await asyncio.to_thread(create, self.server, "loop")
        self.fail("wrong as well")
"""

    def said(self, *command: str) -> str:
        """Return what a test runner says of the tests."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_it.py").write_text(self.TESTS)
        done = run_python("-W", "error", *command, folder=folder, variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        return done.stdout + done.stderr

    def assertReported(self, said: str) -> None:
        """The failure has the writes since its test's reset."""
        self.assertEqual(said.count("orchtw: last writes"), 1 + ("LoopTests" in said), said)
        self.assertIn("ADDED configmaps default/mine at ", said)
        self.assertEqual("LoopTests" in said, "ADDED configmaps default/loop at " in said)
        self.assertNotIn("default/a at", said)

    def test_unittest(self) -> None:
        """Tests meet the state that the class's setUpClass left, and a failure has a note."""
        said = self.said("-m", "unittest", "test_it")
        self.assertIn("FAILED (failures=2, skipped=1)", said)
        self.assertReported(said)

    def test_without_class_fixtures(self) -> None:
        """A runner that does not call setUpClass, as trial does not, is told what to use instead."""
        case = unittest_case.ApiServerTestCase()
        self.assertIn("orchtw.testing.trial_case", str(self.assertRaises(RuntimeError, case.setUp)))

    def test_pytest(self) -> None:
        """So they do under pytest."""
        said = self.said("-m", "pytest", "-q", "-rN")  # the summary repeats whole notes where CI is set
        self.assertIn("2 failed, 2 passed, 1 skipped", said)
        self.assertReported(said)


class FixtureCase(SynchronousTestCase):
    """Tests whose every fixture fails, under a runner; each failure shows the writes."""

    def said(self, text: str, *command: str) -> str:
        """Return what a runner says of a file of tests."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_it.py").write_text(text)
        done = run_python("-W", "error", *command, folder=folder, variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        return done.stdout + done.stderr


class UnittestFixtureTests(FixtureCase):
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


class TrialFixtureTests(FixtureCase):
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


class TrialTests(UnittestTests):
    """`ApiServerTrialCase` under its runner, trial."""

    TESTS = f"""
from {trial_case.__name__} import ApiServerTrialCase
from twisted.internet import reactor
from twisted.internet.defer import Deferred
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
        pass
    test_skipped.skip = "not now"

class OtherTests(ApiServerTrialCase):
    async def test_other(self):
        assert await self.server.reader().get("configmaps/base") is None
"""

    def test_unittest(self) -> None:
        """Asynchronous tests meet the state that `set_up_server` left, and a failure has the writes."""
        said = self.said("-m", "twisted.trial", "test_it")
        self.assertIn("FAILED (skips=1, failures=1, successes=3)", said)
        self.assertReported(said)

    def test_pytest(self) -> None:
        """Nothing of the servers is left when trial has ended."""
        from tests.testing.api_servers import alive

        script = "import test_it, atexit, sys; from orchtw.testing.trial_case import _servers\n"
        script += "atexit.register(lambda: print(*(each.pid for each in _servers.values())))\n"
        script += "sys.argv = ['trial', 'test_it']; from twisted.scripts.trial import run; run()"
        said = self.said("-c", script)
        pid = int(said.splitlines()[-1])
        self.assertFalse(alive(pid), said)
        self.assertNotIn("Traceback (most recent call last):\nResource", said)


class ScriptTests(SynchronousTestCase):
    def test_quick(self) -> None:
        """`orchtw.testing` names what it has, and imports nothing until that is used."""
        script = "import sys, orchtw.testing as t; print('ApiServer' in dir(t), 'attr' in sys.modules, t.ApiServer)"
        done = run_python("-c", script, folder=self.mktemp())
        self.assertEqual(done.stdout, "True False <class 'orchtw.testing.api_server.ApiServer'>\n")

    def test_unknown_name(self) -> None:
        """Another name is refused as by any module."""
        import orchtw.testing

        self.assertRaises(AttributeError, getattr, orchtw.testing, "Nonsense")
