"""`twistd orch-apiserver` as a user meets it: help, version, and starts that fail."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import orchtw
from twisted.application.service import MultiService
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from orchtw import start
from orchtw.config import FLAGS, Config
from orchtw.errors import ConfigError
from orchtw.tap import Options, makeService

ROOT = Path(orchtw.__file__).resolve().parent.parent
TWISTD = (sys.executable, "-c", "from twisted.scripts.twistd import run; run()")
# A server whose start fails only once the reactor runs.
FAILING_SERVER = """
from twisted.application.service import Service
from orchtw import start
from orchtw.errors import ConfigError

class Failing(Service):
    def startService(self):
        from twisted.internet import reactor
        start.begin(reactor, self.open())

    async def open(self):
        raise {error}

def make_service(config):
    return Failing()
"""


def twistd(*arguments: str, folder: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run `twistd` with the plugin of this checkout on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    return subprocess.run(
        [*TWISTD, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


class CommandTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = self.mktemp()
        os.mkdir(self.folder)

    def test_twistd_lists_it(self) -> None:
        """`twistd --help` offers orch-apiserver (issue: frame)."""
        self.assertIn("orch-apiserver", twistd("--help", folder=self.folder).stdout)

    def test_flag_errors(self) -> None:
        """Every flag error is one line on stderr, nothing else is printed, the status is 1 (supplement G10)."""
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

    def fail_late(self, error: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a server that raises `error` in its asynchronous start."""
        Path(self.folder, "late.py").write_text(FAILING_SERVER.format(error=error))
        plugins = Path(self.folder, "twisted", "plugins")
        plugins.mkdir(parents=True)
        maker = 'ServiceMaker("late", "late_tap", "fails", "late-failure")'
        Path(plugins, "late_plugin.py").write_text(f"from twisted.application.service import ServiceMaker\nx = {maker}\n")
        Path(self.folder, "late_tap.py").write_text(
            "from orchtw.tap import Options\nfrom late import make_service as makeService\n"
        )
        return twistd(*options, "late-failure", folder=self.folder, path=os.path.abspath(self.folder))

    def test_late_failure(self) -> None:
        """A start that fails in the reactor ends the process with its line on stderr, status 1 and no pid file."""
        done = self.fail_late("ConfigError('store.db: is damaged')", "-n")
        self.assertEqual((done.returncode, done.stderr), (1, "Error: store.db: is damaged\n"))
        self.assertNotIn("Traceback", done.stdout)
        self.assertFalse(Path(self.folder, "twistd.pid").exists())

    def test_late_fault_is_logged(self) -> None:
        """A start that fails by the server's own fault is one line too, with its traceback in the log only."""
        done = self.fail_late("ValueError('x')", "-n")
        self.assertEqual((done.returncode, done.stderr), (1, "Error: ValueError: x\n"))
        self.assertIn("Traceback", done.stdout)


class OptionsTests(SynchronousTestCase):
    def printed(self, *arguments: str) -> str:
        """What the options print before they end the process in good order."""
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
        """`--version` is the product and the release (supplement G10)."""
        self.assertRegex(self.printed("--version"), r"^Orch v1\.24\.\d+$")

    def test_flags(self) -> None:
        """The options hold the Config of the flags."""
        options = Options()
        options.parseOptions(["--secure-port", "0"])
        self.assertEqual(options.config, Config(secure_port=0))


class MakeServiceTests(SynchronousTestCase):
    def make(self, make_service: object) -> object:
        """Run `makeService` with this server in place of the real one."""
        options = Options()
        options.parseOptions([])
        server = types.ModuleType("orchtw.server")
        server.make_service = make_service  # type: ignore[attr-defined]
        with mock.patch.dict(sys.modules, {"orchtw.server": server}), mock.patch.object(orchtw, "server", server, create=True):
            return makeService(options)

    def test_paths_are_absolute(self) -> None:
        """The server gets paths that survive twistd's change of directory."""
        seen: list[Config] = []
        service = MultiService()

        def make_service(config: Config) -> MultiService:
            seen.append(config)
            return service

        self.assertIs(self.make(make_service), service)
        self.assertEqual(seen[0].data_dir, Path.cwd() / "orch-data")

    def test_early_failure(self) -> None:
        """A ConfigError before the fork is printed a line a problem, with status 1."""

        def make_service(config: Config) -> MultiService:
            raise ConfigError("one", "two")

        with mock.patch("builtins.print") as printing:
            ended = self.assertRaises(SystemExit, self.make, make_service)
        self.assertEqual(ended.code, 1)
        self.assertEqual(printing.call_args.args, ("Error: one", "Error: two"))


class BindTests(SynchronousTestCase):
    def test_free_port(self) -> None:
        """Port 0 becomes a number as soon as the socket is bound, while nobody can connect yet."""
        with start.bind(Config(secure_port=0)) as bound:
            port = bound.getsockname()[1]
            self.assertGreater(port, 0)
            with socket.socket() as client:
                self.assertNotEqual(client.connect_ex(("127.0.0.1", port)), 0)

    def test_busy_port(self) -> None:
        """A port that another process listens on is one clear line (issue: first start)."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            error = self.assertRaises(ConfigError, start.bind, Config(secure_port=port))
        self.assertEqual(error.problems, (f"cannot listen on 127.0.0.1:{port}: Address already in use",))

    def test_foreign_address(self) -> None:
        """An address that is not this machine's is one clear line."""
        error = self.assertRaises(ConfigError, start.bind, Config(bind_address="192.0.2.1"))
        self.assertIn("cannot listen on 192.0.2.1:6443: ", error.problems[0])

    def test_host_and_port(self) -> None:
        """IPv6 addresses stand in brackets."""
        self.assertEqual(start.host_and_port("::1", 1), "[::1]:1")
        self.assertEqual(start.host_and_port("127.0.0.1", 1), "127.0.0.1:1")


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
