"""Programs and recipes of the handbook, run in the form in which the pages print them.

Only what belongs to the reader's machine is put in place: ports are free ones, `.venv/bin` has this interpreter.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.testing import kubectl
from orchtw.testing.process import ServerProcess, environment
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking
from tests.test_docs import PAGES, blocks
from tests.test_examples import DOCS, example
from tests.test_testing_docs import MOST_WORDS

reactor: Any = installed_reactor

COMMANDS = {
    "orch-apiserver": "-m orchtw",
    "orch-envelope": "-m orchtw.commands.envelope",
    "orch-store": "-m orchtw.commands.store",
    "twistd": "-c 'from twisted.scripts.twistd import run; run()'",
    "python": "",
    "python3": "",
}
LIMIT_S = 90


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class RecipeCase(TestCase):
    """A folder as a reader would have it, and shell scripts in it that may leave servers running."""

    timeout = 180

    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        commands = self.folder / ".venv" / "bin"
        commands.mkdir(parents=True)
        for name, module in COMMANDS.items():
            (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
            (commands / name).chmod(0o755)
        self.path = f"{commands}:{os.environ['PATH']}"

    def start(self, script: str) -> subprocess.Popen[bytes]:
        """Run a script with its children in a process group of their own, which ends with the test."""
        output = (self.folder / "output").open("wb")
        self.addCleanup(output.close)
        running = subprocess.Popen(
            ["/bin/bash", "-c", script],
            cwd=self.folder,
            env={**environment(), "PATH": self.path},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.addCleanup(self.end, running)
        return running

    async def end(self, running: subprocess.Popen[bytes]) -> None:
        """End the script and every process that it has left."""
        try:
            os.killpg(running.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        await deferToThread(running.wait)

    @property
    def output(self) -> str:
        """Return the output printed so far."""
        return (self.folder / "output").read_text()

    async def printed(self, wanted: str) -> str:
        """Wait until something has been printed; returns all of it."""
        end = reactor.seconds() + LIMIT_S
        while not re.search(wanted, self.output, re.M):
            self.assertLess(reactor.seconds(), end, self.output)
            await deferLater(reactor, 0.05)
        return self.output


def recipe(page: str, beginning: str, port: int = 0) -> str:
    """The shell block of a page with a line that begins like this, for another port if it has one."""
    text = (DOCS / page).read_text()
    (found,) = (
        block.text
        for block in blocks(text)
        if block.language in ("", "sh") and any(line.startswith(beginning) for line in block.text.splitlines())
    )
    return found.replace("6444", str(port)).replace("6445", str(port)) if port else found


class ServerRecipeTests(RecipeCase):
    if kubectl.find() is None:
        skip = "kubectl is not on the PATH (Debian package kubernetes-client): not run"

    async def test_custom_resources(self) -> None:
        """The server that the page starts is ready for the command that follows."""
        started = recipe("custom-resources.md", ".venv/bin/orch-apiserver", free_port())
        self.start(f"{started}kubectl get namespace default -o name && echo done")
        self.assertIn("namespace/default\n", await self.printed("^done$"))

    async def test_operators(self) -> None:
        """The recipe starts a server and runs the check of the operator against it."""
        for name in ("greeter.py", "check_greeter.py"):
            (self.folder / name).write_text(example("operators.md", name))
        self.start(recipe("operators.md", ".venv/bin/orch-apiserver", free_port()))
        await self.printed("^greeted$")


class OperatingRecipeTests(RecipeCase):
    """Blocks of docs/operating/ and docs/envelope.md, on a server in the folder `orch-data`."""

    if kubectl.find() is None:
        skip = "kubectl is not on the PATH (Debian package kubernetes-client): not run"

    async def run_all(self, script: str, *flags: str) -> str:
        """Run a script against a server; every command must succeed. Return its output."""
        server = ServerProcess(forking, self.folder / "orch-data", *flags)
        await server.start()
        self.addCleanup(server.terminate)
        self.start(f"set -e -o pipefail; export KUBECONFIG={server.kubeconfig}\n{script}\necho all done")
        return await self.printed("^all done$")

    async def test_certificates(self) -> None:
        """A request is signed, and the certificate is whole (reference CSR-1)."""
        script = recipe("operating/certificates.md", "openssl genrsa")
        shown = await self.run_all(f"{script}openssl x509 -noout -subject -in jane.crt", "--vocabulary=kubernetes")
        self.assertRegex(shown, r"subject=O ?= ?developers, CN ?= ?jane")

    async def test_roles(self) -> None:
        """The installer's bindings for new nodes and the administrator's for users are granted."""
        parts = [recipe(f"operating/{page}.md", f"kubectl {beginning}") for page, beginning in (
            ("access", "-n kube-public create role"), ("access", "create rolebinding bob-edits"),
            ("nodes", "label namespace web"))]  # fmt: skip
        shown = await self.run_all("kubectl create namespace web\n" + "".join(parts), "--vocabulary=kubernetes")
        for name in ("newcomers", "workers-ask", "workers-join", "nodes-renew", "bob-edits", "devs-look"):
            self.assertIn(f"/{name} created", shown)

    async def test_store(self) -> None:
        """A running server's store is backed up, checked, restored, exported, imported and read with other tools."""
        greeting = "kubectl create configmap greeting --from-literal=text=hello"
        backup, export = (recipe("operating/store.md", f"orch-store {each}") for each in ("backup", "export"))
        check, read = recipe("operating/store.md", "orch-store check  "), recipe("envelope.md", "sqlite3 ")
        shown = await self.run_all(f"{greeting}\n{backup}{check}rm -r new-folder\n{export}{read}")
        self.assertIn('"hello"', shown)


class ConfiguredServerTests(RecipeCase):
    async def test_without_pods(self) -> None:
        """The file and the command of the page start a server."""
        port = free_port()
        text = example("without-pods.md", "without-pods")
        (self.folder / "lean.yaml").write_text(text.replace("6445", str(port)))
        self.start(recipe("without-pods.md", "orch-apiserver --config", port))
        await self.printed(rf"^https://127\.0\.0\.1:{port} .*lean-data/admin\.kubeconfig$")


class EmbeddedServerTests(RecipeCase):
    async def test_program(self) -> None:
        """The program is a server: it serves, and ends in good order."""
        port = free_port()
        program = example("extending.md", "control_plane.py").replace("7443", str(port))
        (self.folder / "control_plane.py").write_text(program)
        running = self.start("exec twistd -n -y control_plane.py")
        await self.printed(f"^https://127.0.0.1:{port} ")
        client = Client(port, tls_context(self.folder / "orch-data" / "admin.kubeconfig"))
        self.addCleanup(client.close)
        self.assertEqual((await client.get("/api/v1/namespaces/default")).code, 200)
        running.terminate()
        self.assertEqual(await deferToThread(running.wait), -signal.SIGTERM, self.output)  # twistd's own habit
        self.assertIn("shutdown: complete", self.output)


class ProgramTests(SynchronousTestCase):
    """Python snippets of the handbook."""

    def snippets(self, tests: bool) -> dict[str, str]:
        """Return those that are test modules, or that are not, by page and place.

        The examples of some pages run in `tests.test_testing_docs`.
        """
        found = {}
        for page in PAGES:
            if page in {DOCS / name for name in MOST_WORDS}:
                continue
            for place, block in enumerate(blocks(page.read_text())):
                if block.language == "python" and ("TestCase)" in block.text) is tests:
                    found[f"{page.name} {place}"] = block.text
        return found

    def test_definitions(self) -> None:
        """A snippet that only defines things runs as it stands."""
        checked = 0
        for name, text in self.snippets(tests=False).items():
            tree = ast.parse(text, name)
            if all(isinstance(each, _DEFINING) for each in tree.body):
                exec(compile(text, name, "exec"), {"__name__": "snippet"})
                checked += 1
        self.assertGreater(checked, 10)

    def test_tests(self) -> None:
        """A snippet that is a test module passes."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        modules = []
        for place, text in enumerate(self.snippets(tests=True).values()):
            modules.append(f"test_mine_{place}")
            (folder / f"{modules[-1]}.py").write_text(text)
        command = [sys.executable, "-m", "twisted.trial", *modules]
        done = subprocess.run(
            command, cwd=folder, env=environment([folder]), capture_output=True, timeout=LIMIT_S, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        self.assertGreater(len(modules), 3)


_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.Expr)
