"""`Kubectl` with a program of the tests' own in kubectl's place."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, TimeoutError
from twisted.trial.unittest import TestCase

from orchtw.testing import kubectl
from orchtw.testing.kubectl import Command, Kubectl

reactor: Any = installed_reactor

# Does what its arguments say, of which the first is the kubeconfig but in `version`.
PROGRAM = """#!/bin/sh
case $1 in
    version) echo '{"clientVersion": {"minor": "32+"}}' ;;
esac
case $2 in
    echo) cat ;;
    environment) env; pwd; echo "$1" ;;
    fail) echo "went wrong" >&2; exit 3 ;;
    watch)
        trap 'echo "left"; exit 0' INT
        echo "first"
        echo "noted" >&2
        read line
        echo "$line"
        while :; do sleep 0.01; done ;;
    wait) exec sleep 600 ;;
esac
"""


class KubectlTests(TestCase):
    def setUp(self) -> None:
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        program = folder / "kubectl"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        self.patch(os, "environ", {"PATH": path, "KUBECONFIG": "mine", "HOME": "/nowhere"})
        self.home = Path(self.mktemp())
        self.kubectl = Kubectl(reactor, "admin.kubeconfig", self.home, {"KUBE_EDITOR": "ed"})
        kubectl.minor_version.cache_clear()
        self.addCleanup(kubectl.minor_version.cache_clear)

    def test_release(self) -> None:
        """The program's release is parsed with or without a suffix; it is 0 without the program."""
        self.assertEqual(kubectl.minor_version(), 32)
        kubectl.minor_version.cache_clear()
        self.patch(os, "environ", {"PATH": "/nowhere"})
        self.assertEqual((kubectl.find(), kubectl.minor_version()), (None, 0))
        self.assertRaises(FileNotFoundError, self.kubectl.start, "version")

    async def test_input_and_output(self) -> None:
        """A command reads its input to the end; output and status come back."""
        result = await self.kubectl.run("echo", stdin="ä\n" * 100_000)
        self.assertEqual((result.status, result.output, result.errors), (0, "ä\n" * 100_000, ""))

    async def test_failure(self) -> None:
        """A failed command is a result, with its output."""
        result = await self.kubectl.run("fail")
        self.assertEqual((result.status, result.output, result.errors), (3, "", "went wrong\n"))

    async def test_environment(self) -> None:
        """The user's own settings do not reach the command, only those of the test."""
        *variables, place, flag = (await self.kubectl.run("environment")).output.splitlines()
        found = dict(line.split("=", 1) for line in variables)
        self.assertEqual((found["HOME"], found["KUBE_EDITOR"]), (str(self.home.absolute()), "ed"))
        self.assertNotIn("KUBECONFIG", found)
        self.assertEqual((place, flag), (str(self.home.absolute()), f"--kubeconfig={Path.cwd()}/admin.kubeconfig"))

    async def test_lasting_command(self) -> None:
        """A command that goes on is read while it runs, on both of its streams, and ended as by Ctrl-C."""
        watching = self.kubectl.start("watch", stdin="second\n")
        self.assertEqual(await watching.until("noted"), watching.output)
        self.assertIn("first", await watching.until("second"))
        self.assertIn("first", await watching.until("first"))
        self.assertEqual((await watching.stop()).output, "first\nsecond\nleft\n")

    async def test_end_without_the_text(self) -> None:
        """A wait for a text that never comes fails when the process ends, and includes all its output."""
        failing = self.kubectl.start("fail")
        waited: Any = await self.assertFailure(Deferred.fromCoroutine(failing.until("never")), RuntimeError)
        self.assertIn("ended without 'never': went wrong", str(waited))
        self.assertEqual((await failing.result).status, 3)

    async def test_too_long(self) -> None:
        """A command that takes too long is killed."""
        ended: Deferred[int] = Deferred()
        self.patch(Command, "processEnded", lambda _, reason: ended.callback(reason.value.signal))
        running = Deferred.fromCoroutine(self.kubectl.run("wait", limit_s=0.01))
        await self.assertFailure(running, TimeoutError)
        self.assertEqual(await ended, signal.SIGKILL)
