"""`orch-envtest-assets`: the folder of the drop-ins."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envtest.assets import main
from orchtw.testing.process import environment


class AssetsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        self.bin = Path(self.mktemp()).absolute()
        self.bin.mkdir()
        self.patch(os, "environ", {**os.environ, "PATH": str(self.bin)})

    def kubectl(self) -> Path:
        """Make a program on the PATH."""
        path = self.bin / "kubectl"
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def run_command(self, *arguments: str) -> tuple[int, str, str]:
        """Return exit status, output and errors."""
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            status = main(arguments)
        return status, out.getvalue(), err.getvalue()

    def output(self, name: str, *arguments: str) -> str:
        """Return what a program of the folder prints, which must succeed without complaints."""
        command = [str(self.folder / name), *arguments]
        told = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
        self.assertEqual(told.stderr, "")
        return told.stdout

    def test_written(self) -> None:
        """The folder has the two programs and a link to kubectl, and is all that is printed."""
        kubectl = self.kubectl()
        self.assertEqual(self.run_command(str(self.folder)), (0, f"{self.folder}\n", ""))
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["etcd", "kube-apiserver", "kubectl"])
        self.assertEqual((self.folder / "kubectl").readlink(), kubectl)
        for name, flag in (("etcd", "--unsafe-no-fsync"), ("kube-apiserver", "--etcd-servers")):
            told = self.output(name, "--help")
            lines = [line.strip() for line in told.splitlines()]
            self.assertTrue(any(line.startswith(flag) for line in lines), told)
            self.assertFalse(any(line.startswith("--insecure-port") for line in lines), told)

    def test_versions(self) -> None:
        """The programs tell a version in the form of the originals."""
        self.run_command(str(self.folder))
        for name, start in (("etcd", "etcd Version: 3.5."), ("kube-apiserver", "Kubernetes v1.24.")):
            self.assertTrue(self.output(name, "--version").startswith(start))

    def test_without_kubectl(self) -> None:
        """Without kubectl on the PATH the folder has none, which is said."""
        status, out, errors = self.run_command(str(self.folder))
        self.assertEqual((status, out), (0, f"{self.folder}\n"))
        self.assertIn("no kubectl on the PATH", errors)
        self.assertFalse((self.folder / "kubectl").exists())

    def test_again(self) -> None:
        """A second run writes them anew, with a kubectl that has come, and keeps one that is there."""
        self.run_command(str(self.folder))
        (self.folder / "etcd").chmod(0o600)
        (self.folder / "kubectl").symlink_to(self.folder / "gone")
        kubectl = self.kubectl()
        self.assertEqual(self.run_command(str(self.folder))[0], 0)
        self.assertTrue(os.access(self.folder / "etcd", os.X_OK))
        self.assertEqual((self.folder / "kubectl").readlink(), kubectl)
        os.environ["PATH"] = str(self.folder)
        self.assertEqual(self.run_command(str(self.folder)), (0, f"{self.folder}\n", ""))
        self.assertEqual((self.folder / "kubectl").readlink(), kubectl)

    def test_other_programs(self) -> None:
        """A folder with the originals is left alone."""
        self.folder.mkdir()
        original = self.folder / "etcd"
        original.write_bytes(b"\x7fELF")
        status, _, errors = self.run_command(str(self.folder))
        self.assertEqual((status, errors), (
            1, f"orch-envtest-assets: {original}: is another program, choose another folder\n"
        ))  # fmt: skip
        self.assertEqual([each.name for each in self.folder.iterdir()], ["etcd"])

    def test_unwritable(self) -> None:
        """A folder that cannot be made is an error of one line."""
        self.folder.write_text("")
        status, out, errors = self.run_command(str(self.folder / "below"))
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(errors, f"orch-envtest-assets: {self.folder / 'below'}: Not a directory\n")

    def test_interpreter_with_spaces(self) -> None:
        """An interpreter whose path has spaces is found."""
        strange = self.bin / "my python"
        strange.symlink_to(sys.executable)
        self.patch(sys, "executable", str(strange))
        self.run_command(str(self.folder))
        self.assertIn("etcd Version", self.output("etcd", "--version"))
