"""The plugin of pytest: each test runs pytest in a folder, and looks at its output."""
# covers: orchtw.testing.last_writes

from __future__ import annotations

import configparser
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing import pytest_plugin
from orchtw.testing.kubectl_command import find
from tests.testing.api_servers import run_forking, run_python
from tests.testing.runners import CREATE

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
    def run_tests(self, text: str, *options: str, plugins: tuple[str, ...] = (), cold: bool = False) -> str:
        """Run tests of a file; returns what pytest says. With `cold`, it and its servers start as for a user."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_it.py").write_text(text)
        chosen = [word for name in ("orchtw.testing.pytest_plugin", *plugins) for word in ("-p", name)]
        options = ("-q", "-p", "no:cacheprovider", "-W", "error", *options)
        # The plugin of this checkout, whatever is installed.
        run = run_python if cold else run_forking
        variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = run("-m", "pytest", *chosen, *options, folder=folder, variables=variables)
        return done.stdout + done.stderr

    def test_fresh_state(self) -> None:
        """Each test meets the state after the start; a namespace goes after its test."""
        self.assertIn("4 passed", self.run_tests(FRESH, cold=True))

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
        said = self.run_tests(WORKERS, "-n2", plugins=("xdist",), cold=True)
        self.assertIn("4 passed", said)

    def test_unused(self) -> None:
        """Test suites that do not use it import nothing but the plugin."""
        self.assertIn("1 passed", self.run_tests(UNUSED, cold=True))

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
