"""`twistd orch-apiserver` as a user meets it: help, version, and starts that fail."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.application.service import MultiService
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

import orchtw
from orchtw import __version__, tap
from orchtw.assembly import start
from orchtw.assembly.flags import FLAGS
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.logs.verbosity import Verbosity
from orchtw.tap import Options, makeService

ROOT = Path(orchtw.__file__).resolve().parent.parent
TWISTD = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()")
# A server whose start fails only once the reactor runs.
FAILING_SERVER = """
from twisted.application.service import Service
from orchtw import tap
from orchtw.assembly import start
from orchtw.errors import ConfigError

class Failing(Service):
    def startService(self):
        from twisted.internet import reactor
        start.begin(reactor, self.open())

    async def open(self):
        raise {error}

    def reload(self):
        pass

def make_service(config):
    return Failing()
"""


# A server that says when it runs, and ends as it is told.
RUNNING_SERVER = """
import sys
from twisted.application.service import Service
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from orchtw import tap
from orchtw.assembly import start

class Running(Service):
    def reload(self):
        pass

    def startService(self):
        start.end_on_signals(reactor)
        reactor.callWhenRunning(self.say, "READY")

    def say(self, word):
        print(word, file=sys.__stdout__, flush=True)

    def stopService(self):
        self.say("ENDING")
        return {end}

def make_service(config):
    return Running()
"""


def environment(path: str = "") -> dict[str, str]:
    """This process' environment with the plugin of this checkout on Python's path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}


def twistd(*arguments: str, folder: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run `twistd` with the plugin of this checkout on its path."""
    return subprocess.run(
        [*TWISTD, *arguments],
        cwd=folder,
        env=environment(path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def errors_in(output: str) -> list[str]:
    """The lines that say why a start failed, without those of the log."""
    return [line for line in output.splitlines() if line.startswith("Error: ")]


class CommandTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = self.mktemp()
        os.mkdir(self.folder)

    def test_twistd_lists_it(self) -> None:
        """`twistd --help` offers orch-apiserver."""
        self.assertIn("orch-apiserver", twistd("--help", folder=self.folder).stdout)

    def test_reader_that_leaves(self) -> None:
        """`--help | head` whose reader has had enough ends without a traceback."""
        command = " ".join(f"'{word}'" for word in (*TWISTD, "orch-apiserver", "--help"))
        script = ("bash", "-c", f"{command} | (sleep 1)")
        done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertNotIn("BrokenPipeError", done.stderr + done.stdout)

    def test_flag_errors(self) -> None:
        """Every flag error is one line on stderr, nothing else is printed, the status is 1 (reference FLAG-2)."""
        done = twistd("-n", "orch-apiserver", "--x", "--secure-port=many", folder=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(
            done.stderr.splitlines(),
            [
                "Error: unknown flag: --x",
                'Error: invalid argument "many" for "--secure-port" flag: must be an integer of zero or more',
            ],
        )

    def install(self, server: str) -> str:
        """Make `twistd other-server` run this module; returns the folder to put on Python's path."""
        plugins = Path(self.folder, "twisted", "plugins")
        plugins.mkdir(parents=True)
        ensurer = (
            'from twisted.application.service import ServiceMaker\nx = ServiceMaker("x", "other_tap", "x", "other")'
        )
        Path(plugins, "other_plugin.py").write_text(ensurer)
        Path(self.folder, "other.py").write_text(server)
        tap = "from orchtw.tap import Options\nfrom other import make_service as makeService\n"
        Path(self.folder, "other_tap.py").write_text(tap)
        return str(Path(self.folder).absolute())

    def fail_late(self, error: str) -> subprocess.CompletedProcess[str]:
        """Run a server that raises `error` in its asynchronous start."""
        path = self.install(FAILING_SERVER.format(error=error))
        return twistd("-n", "other", folder=self.folder, path=path)

    def signalled(self, end: str, *signals: signal.Signals) -> int:
        """Exit status of a server that ends as `end` says, after these signals."""
        path = self.install(RUNNING_SERVER.format(end=end))
        with subprocess.Popen(
            [*TWISTD, "-n", "other"], cwd=self.folder, env=environment(path), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for word, each in zip(("READY", "ENDING"), signals, strict=False):
                while word not in (line := process.stdout.readline()):
                    self.assertTrue(line, f"ended before it was {word}")
                process.send_signal(each)
            process.stdout.read()
            return process.wait(60)

    def test_signal(self) -> None:
        """SIGTERM ends the process in good order with status 0 (reference OPS-14)."""
        self.assertEqual(self.signalled("None", signal.SIGTERM), 0)

    def test_interrupt(self) -> None:
        """SIGINT ends the process like SIGTERM (reference OPS-14)."""
        self.assertEqual(self.signalled("None", signal.SIGINT), 0)

    def test_second_signal(self) -> None:
        """A second signal ends a process that takes too long to end, with status 1 (reference OPS-15)."""
        self.assertEqual(self.signalled("Deferred()", signal.SIGTERM, signal.SIGTERM), 1)

    def test_late_failure(self) -> None:
        """A start that fails in the reactor ends the process with its line on stderr, status 1 and no pid file."""
        done = self.fail_late("ConfigError('store.db: is damaged')")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(errors_in(done.stderr), ["Error: store.db: is damaged"])
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(Path(self.folder, "twistd.pid").exists())

    def test_late_fault_is_logged(self) -> None:
        """A start that fails by the server's own fault is one line too, with its traceback in the log only."""
        done = self.fail_late("ValueError('x')")
        self.assertEqual((done.returncode, errors_in(done.stderr)), (1, ["Error: ValueError: x"]))
        self.assertIn("Traceback", done.stderr)


class OptionsTests(SynchronousTestCase):
    def printed(self, *arguments: str) -> str:
        """Return the output that the options print before they exit with status 0."""
        with mock.patch("builtins.print") as printing:
            ended = self.assertRaises(SystemExit, Options().parseOptions, arguments)
        self.assertEqual(ended.code, 0)
        return str(printing.call_args.args[0])

    def test_help(self) -> None:
        """`--help` shows every flag and exits 0."""
        text = self.printed("--help")
        for flag in FLAGS:
            self.assertIn(f"--{flag.name}", text)

    def test_version(self) -> None:
        """`--version` is the product, the release and this project's version (reference FLAG-13)."""
        self.assertRegex(self.printed("--version"), rf"^Orch v1\.24\.\d+ \(orchtw {re.escape(__version__)}\)$")

    def test_version_value(self) -> None:
        """`--version` takes the values that it takes in the release (reference FLAG-13)."""
        plain = self.printed("--version")
        for value in ("true", "raw", "1"):
            self.assertEqual(self.printed(f"--version={value}"), plain)
        options = Options()
        options.parseOptions(["--version=false", "--secure-port=0"])
        self.assertEqual(options.config, Config.of(secure_port=0))
        with mock.patch("builtins.print") as printing:
            self.assertEqual(self.assertRaises(SystemExit, options.parseOptions, ["--version=maybe"]).code, 1)
        text = 'Error: invalid argument "maybe" for "--version" flag: must be true or false'
        self.assertEqual(printing.call_args.args, (text,))

    def test_flags(self) -> None:
        """The options hold the Config of the flags."""
        options = Options()
        options.parseOptions(["--secure-port", "0"])
        self.assertEqual(options.config, Config.of(secure_port=0))


class PidFileTests(SynchronousTestCase):
    """Folders that cannot be written to, as `os.access` tells of them (reference FLAG-3)."""

    def setUp(self) -> None:
        self.patch(os, "access", lambda path, mode: False)

    def settled(self, *, nodaemon: bool, pidfile: str = "twistd.pid") -> str:
        """The PID file that twistd is left with."""
        options = Options()
        parent = {"nodaemon": nodaemon, "pidfile": pidfile, "rundir": ".", "logger": "own"}
        options.parent = parent  # type: ignore[assignment]
        options.parseOptions([])
        return str(parent["pidfile"])

    def refusal(self, **options: Any) -> str:
        """The line that a start ends with."""
        with mock.patch("builtins.print") as printing:
            ended = self.assertRaises(SystemExit, self.settled, **options)
        self.assertEqual(ended.code, 1)
        (line,) = printing.call_args.args
        return str(line)

    def test_foreground(self) -> None:
        """A server in the foreground does without the file that nobody asked for."""
        self.assertEqual(self.settled(nodaemon=True), "")

    def test_asked_for(self) -> None:
        """A file that was asked for, or that a server in the background needs, ends the start with one line."""
        for options in ({"nodaemon": True, "pidfile": "own.pid"}, {"nodaemon": False}):
            self.assertRegex(self.refusal(**options), r"^Error: --pidfile: \w+\.pid: cannot be written; --pidfile= ")

    def test_none(self) -> None:
        """Without a file no check is made."""
        self.assertEqual(self.settled(nodaemon=False, pidfile=""), "")


class LogFileTests(SynchronousTestCase):
    """Files of twistd's `--logfile` (reference FLAG-3)."""

    def direct(self, path: str) -> None:
        """Read no flags under a twistd that logs to this file."""
        self.patch(start, "log_settings", start.LogSettings())
        options = Options()
        parent = {"nodaemon": True, "pidfile": "", "rundir": ".", "logger": None, "logfile": path}
        options.parent = parent  # type: ignore[assignment]
        options.parseOptions([])

    def test_unusable(self) -> None:
        """One that cannot be written ends the start with one line."""
        folder = self.mktemp()
        os.mkdir(folder)
        for path, reason in ((folder, "Is a directory"), (f"{folder}/none/log", "No such file or directory")):
            with mock.patch("builtins.print") as printing:
                self.assertEqual(self.assertRaises(SystemExit, self.direct, path).code, 1)
            self.assertEqual(printing.call_args.args, (f"Error: --logfile: {path}: {reason}",))

    def test_usable(self) -> None:
        """One that can be is left as it is, and not made before the server is."""
        path = Path(self.mktemp())
        self.direct(str(path))
        self.assertFalse(path.exists())
        path.write_text("before\n")
        self.direct(str(path))
        self.assertEqual(path.read_text(), "before\n")


class MakeServiceTests(SynchronousTestCase):
    def make(self, make_service: object) -> object:
        """Run `makeService` with this server in place of the real one."""
        self.reactors: list[object] = []
        self.patch(tap, "end_on_signals", self.reactors.append)
        self.patch(tap, "keep_monotonic_time", self.reactors.append)
        self.patch(tap, "reload_on_hangup", lambda reactor, reload: self.reactors.append(reactor))
        options = Options()
        options.parseOptions([])
        server = types.ModuleType("orchtw.server")
        server.make_service = make_service  # type: ignore[attr-defined]
        with (
            mock.patch.dict(sys.modules, {"orchtw.server": server}),
            mock.patch.object(orchtw, "server", server, create=True),
        ):
            return makeService(options)

    def test_paths_are_absolute(self) -> None:
        """The server gets paths that survive twistd's change of directory."""
        seen: list[Config] = []
        service: Any = MultiService()
        service.reload = service.stopService

        def make_service(config: Config, _verbosity: Verbosity) -> Any:
            seen.append(config)
            return service

        self.assertIs(self.make(make_service), service)
        self.assertEqual(seen[0].generic.data_dir, Path.cwd() / "orch-data")
        self.assertEqual(len(self.reactors), 3)

    def test_early_failure(self) -> None:
        """A ConfigError before the fork is printed a line a problem, with status 1."""

        def make_service(config: Config, _verbosity: Verbosity) -> MultiService:
            raise ConfigError("one", "two")

        with mock.patch("builtins.print") as printing:
            ended = self.assertRaises(SystemExit, self.make, make_service)
        self.assertEqual(ended.code, 1)
        self.assertEqual(printing.call_args.args, ("Error: one", "Error: two"))


class BeginTests(SynchronousTestCase):
    def test_success_changes_nothing(self) -> None:
        """A start that succeeds leaves the process alone."""

        async def succeed() -> None:
            return None

        reactor = MemoryReactorClock()
        started: Deferred[None] = start.begin(reactor, succeed())
        self.assertIsNone(self.successResultOf(started))
        self.assertEqual(reactor.whenRunningHooks, [])

    def test_lines(self) -> None:
        """Every problem is one line, whatever it contains."""
        self.assertEqual(start.lines_of(ConfigError("a\nb", "c")), ["Error: a b", "Error: c"])
