"""Child servers of test processes that are killed: none is left, and their folders go with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.child_process import environment
from orchtw.testing.lifeline import Lifeline
from tests.testing.api_servers import wait_for_end

WITHIN_S = 30.0  # two seconds are asked for; a busy machine takes its time, so this only ends what hangs
"""Promised time. A server takes a tenth of it, and at most one second: then it leaves."""

# A test process with a server, a forked child and another program that both outlive it.
TESTER = """
import multiprocessing, subprocess, sys, time
from orchtw.testing import ApiServer
server = ApiServer().start()
context = multiprocessing.get_context("fork")
child = context.Process(target=time.sleep, args=(600,))
child.start()
other = subprocess.Popen(["sleep", "600"], close_fds=False)
print(server.pid, child.pid, other.pid, server.kubeconfig.parent.parent, flush=True)
time.sleep(600)
"""

EARLY = """
import time
from orchtw.testing import child_process
from orchtw.testing import ApiServer
def told(self, timeout_s=0):
    print(self.pid, flush=True)
    time.sleep(600)
child_process.ChildProcess.ready_line = told
ApiServer().start()
"""


class KilledTests(SynchronousTestCase):
    def started(self, script: str) -> tuple[subprocess.Popen[str], list[str]]:
        """Start a test process and return it with the words that it says."""
        process = subprocess.Popen(
            (sys.executable, "-c", script), env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process.stdout as output:
            return process, output.readline().split()

    def test_kill(self) -> None:
        """A server ends with its test process, though other children of that live on, and removes its folder."""
        process, words = self.started(TESTER)
        server, forked, other = map(int, words[:3])
        process.kill()
        process.wait()
        try:
            self.assertTrue(wait_for_end(server, WITHIN_S), "the server outlives its test process")
            self.assertFalse(Path(words[3]).exists())
        finally:
            for each in (forked, other):
                os.kill(each, signal.SIGKILL)

    def test_kill_during_the_start(self) -> None:
        """So does a server that has yet to become ready."""
        process, words = self.started(EARLY)
        process.kill()
        process.wait()
        self.assertTrue(wait_for_end(int(words[0]), WITHIN_S), "the server outlives its test process")


class LifelineTests(SynchronousTestCase):
    def test_fork(self) -> None:
        """A forked process holds no end: the pipe ends with its owner."""
        line = Lifeline()
        child = os.fork()
        if not child:
            try:
                os.read(line.child_end, 1)  # would wait for the parent's end, and for its own
            finally:
                os._exit(0)
        line.cut()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(os.read(line.child_end, 1), b"")
        line.handed_over()

    def test_cut_twice(self) -> None:
        """To cut it again does nothing, whatever has that file number by then."""
        line = Lifeline()
        line.cut()
        line.handed_over()
        again = Lifeline()
        line.cut()
        os.set_blocking(again.child_end, False)
        self.assertRaises(BlockingIOError, os.read, again.child_end, 1)
        again.cut()
        again.handed_over()
