"""`KubectlCommand`: `kubectl` as a function."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.kubectl_command import KubectlCommand, KubectlFailed


class KubectlCommandTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()

    def install(self, script: str) -> None:
        """Put a program of this name on the PATH."""
        program = self.folder / "kubectl"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        self.patch(os, "environ", {"PATH": f"{self.folder}:{os.environ['PATH']}", "KUBECONFIG": "theirs"})

    def test_command(self) -> None:
        """It gets kubeconfig, namespace and a home of its own, and nothing of the user's settings."""
        self.install('echo "$@"; echo "$HOME $KUBECONFIG"; cat')
        run = KubectlCommand(self.folder / "config", self.folder / "home", "shop")
        line, settings, given = run("get", "pods", stdin="text\n").splitlines()
        self.assertEqual(line, f"--kubeconfig={self.folder}/config --namespace=shop get pods")
        self.assertEqual(settings, f"{self.folder}/home ")
        self.assertEqual(given, "text")

    def test_failure(self) -> None:
        """A command that fails raises an assertion error with what it said."""
        self.install("echo why >&2; exit 3")
        error = self.assertRaises(KubectlFailed, KubectlCommand("c", "h"), "get", "pods")
        self.assertEqual((error.status, str(error)), (3, "kubectl get pods: exit status 3: why"))

    def test_no_program(self) -> None:
        """Without a program it says so."""
        self.patch(os, "environ", {"PATH": str(self.folder)})
        self.assertRaises(FileNotFoundError, KubectlCommand("c", "h"), "get")
