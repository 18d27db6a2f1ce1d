"""Examples of docs/testing.md and the pages below it, run as they stand there."""

from __future__ import annotations

import configparser
import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing import kubectl
from orchtw.testing.api_server import ApiServer
from orchtw.testing.child_process import environment
from tests.test_docs import blocks
from tests.test_examples import DOCS, example
from tests.testing.api_servers import LIMIT_S, run_forking

INDEX = "testing.md"
PYTEST = "testing/pytest.md"
CLIENTS = "testing/clients.md"
SHELL = "testing/shell.md"
ENVTEST = "envtest.md"
COMMANDS = {"orch-apiserver": "orchtw", "orch-record": "orchtw.commands.record"}
MOST_WORDS = {INDEX: 900, PYTEST: 700, CLIENTS: 700, SHELL: 700}


def run_example(page: str, name: str, defined: dict[str, Any]) -> None:
    """Run an example with names that earlier ones of the page have defined."""
    exec(compile(example(page, name), f"{page}: {name}", "exec"), defined)


@cache
def started() -> dict[str, Any]:
    """Return the names that the first example of the index defines; its server ends with the process."""
    defined: dict[str, Any] = {"print": lambda *_values: None}
    run_example(INDEX, "server", defined)
    return defined


class PageTests(SynchronousTestCase):
    def test_words(self) -> None:
        """Each page is short."""
        for page, most in MOST_WORDS.items():
            self.assertLessEqual(len((DOCS / page).read_text().split()), most, page)


class IndexTests(SynchronousTestCase):
    """Examples of the index, on the server that its first one starts, in a fresh state each."""

    def setUp(self) -> None:
        """Begin with the names of the first example."""
        self.defined = started()
        self.server: ApiServer = self.defined["server"]

    def run_fresh(self, name: str) -> None:
        """Run an example in the state after the start."""
        self.server.reset()
        run_example(INDEX, name, self.defined)

    def test_reset(self) -> None:
        """A snapshot comes back, and a reset removes the object."""
        self.run_fresh("reset")

    def test_faults(self) -> None:
        """One write is struck; the preset has rules for the operator."""
        self.run_fresh("faults")
        self.assertEqual({str(each.rule["user"]) for each in self.server.faults.list()}, {"['operator']"})

    def test_history(self) -> None:
        """The record has both writes, and the past state the first."""
        self.run_fresh("history")

    def test_eventually(self) -> None:
        """Conditions come about, and nothing is written afterwards."""
        self.run_fresh("eventually")

    def test_services(self) -> None:
        """The server takes the mapping."""
        self.run_fresh("services")
        self.server.eventually(lambda read: "service-map-file: now using" in self.server.log())

    def test_users(self) -> None:
        """A user without roles is refused."""
        self.run_fresh("users")

    def test_flags(self) -> None:
        """A server with other names and controllers."""
        self.run_fresh("flags")


class PytestTests(SynchronousTestCase):
    def test_page(self) -> None:
        """The tests of the page pass, on one server."""
        folder = Path(self.mktemp())
        folder.mkdir()
        for name in ("greeter.py", "conftest.py", "test_greeter.py", "test_unittest.py", "test_asyncio.py"):
            (folder / name).write_text(example(PYTEST, name))
        options = ("-q", "-p", "orchtw.testing.pytest_plugin", "-p", "no:cacheprovider")
        done = run_forking("-m", "pytest", *options, folder=folder, variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        wanted = "5 passed" if kubectl.find() else "4 passed, 1 skipped"
        self.assertIn(wanted, done.stdout + done.stderr)


class InstallationTests(SynchronousTestCase):
    """Commands of the pages that need a network or another compiler, run with stand-ins for those."""

    def run_block(self, page: str, beginning: str, programs: dict[str, str]) -> str:
        """Run the shell block of a page that begins so, with these programs first on the PATH; returns the output."""
        (text,) = (
            block.text
            for block in blocks((DOCS / page).read_text())
            if block.language == "sh" and block.text.startswith(beginning)
        )
        folder = Path(self.mktemp()).absolute()
        commands = folder / "commands"
        commands.mkdir(parents=True)
        for name, content in programs.items():
            (commands / name).write_text(f"#!/bin/sh\n{content}\n")
            (commands / name).chmod(0o755)
        variables = {**environment(), "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            ("/bin/sh", "-ec", text), cwd=folder, env=variables, capture_output=True, text=True, timeout=LIMIT_S
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_pip(self) -> None:
        """The venv and the installation name what there is: the extra of this distribution, and kopf."""
        programs = {
            "python3": 'mkdir -p "$3/bin" && cp "$(command -v printing-pip)" "$3/bin/pip"',
            "printing-pip": 'printf "%s\\n" "$@"',
        }
        said = self.run_block(PYTEST, "python3 -m venv", programs)
        self.assertEqual(said.split(), ["install", "-q", ".[pytest]", "kopf"])
        settings = configparser.ConfigParser()
        settings.read(DOCS.parent / "setup.cfg")
        self.assertIn("pytest", settings["options.extras_require"])
        self.assertIsNotNone(importlib.util.find_spec("kopf"))

    def test_envtest(self) -> None:
        """`go test` gets a folder with programs that run."""
        programs = ("etcd", "kube-apiserver")
        go = " && ".join(
            ('[ "$*" = "test ./..." ]', *(f'"$KUBEBUILDER_ASSETS/{each}" --version' for each in programs))
        )
        assets = f'exec {sys.executable} -m orchtw.commands.envtest.assets "$@"'
        said = self.run_block(ENVTEST, "KUBEBUILDER_ASSETS", {"go": go, "orch-envtest-assets": assets})
        self.assertRegex(said, r"(?s)etcd Version: 3\.5.*Kubernetes v1\.24")


class ClientTests(SynchronousTestCase):
    """Examples of the clients' page, on the same server."""

    def run_client(self, name: str) -> None:
        """Run an example in the state after the start."""
        server: ApiServer = started()["server"]
        server.reset()
        defined: dict[str, Any] = {"server": server}
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # kr8s, of the server's release
            run_example(CLIENTS, name, defined)

    def test_kubernetes(self) -> None:
        """The public client writes and reads."""
        self.run_client("kubernetes")

    def test_lightkube(self) -> None:
        """lightkube writes and reads."""
        self.run_client("lightkube")

    def test_kr8s(self) -> None:
        """kr8s writes and reads."""
        self.run_client("kr8s")

    def test_asyncio(self) -> None:
        """The asynchronous clients share a loop with a server of their own."""
        self.run_client("asyncio")

    def test_http(self) -> None:
        """URL, authority and token are enough."""
        self.run_client("http")


class ShellTests(SynchronousTestCase):
    """Blocks of the shell's page as one script, with the commands on the PATH."""

    if kubectl.find() is None:
        skip = "kubectl is not on the PATH (Debian package kubernetes-client): not run"

    def run_script(self, *names: str) -> str:
        """Run blocks of the page, of which every command must succeed; returns their output."""
        folder = Path(self.mktemp()).absolute()
        commands = folder / "bin"
        commands.mkdir(parents=True)
        for name, module in COMMANDS.items():
            (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
            (commands / name).chmod(0o755)
        (folder / "check.mjs").write_text(example(SHELL, "check.mjs"))
        script = "\n".join(("set -e", *(example(SHELL, name) for name in names)))
        done = subprocess.run(
            ("/bin/sh", "-c", script),
            cwd=folder,
            env={**environment(), "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_script(self) -> None:
        """The script of the page goes through, shows who changed what, and Node writes, watches and resets."""
        node = ("node",) if shutil.which("node") else ()
        said = self.run_script("start", "kubectl", "control", *node)
        self.assertRegex(said, r"kubernetes-admin patched configmap shop/colours .*\n.*sky.*blue.*grey")
        if not node:
            self.skipTest("node is not on the PATH: its example was not run")
        self.assertIn("checked\n", said)

    def test_all_named(self) -> None:
        """Every shell block of the page is run."""
        run = {example(SHELL, name) for name in ("start", "kubectl", "control", "node")}
        shown = {block.text for block in blocks((DOCS / SHELL).read_text()) if block.language == "sh"}
        self.assertEqual(run, shown)
