"""`ApiServer`: its attributes, its start and its end, in threads, twice at once and across forks."""

# covers: orchtw.testing.server_died
# covers: orchtw.testing.server_handle, orchtw.testing.server_folder, orchtw.testing.child_process

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import threading
from pathlib import Path

import yaml
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.testing.api_server import ApiServer
from orchtw.testing.server_died import ServerDied
from orchtw.testing.start_failed import StartFailed
from tests.testing.api_servers import CONFIG_MAPS, ForkedServersCase, alive, config_map, run_python, shared

NO_REACTOR = """
import sys
from orchtw.testing import ApiServer
with ApiServer() as server:
    server.reset()
    server.user("alice")
    server.eventually("namespaces/default")
    server.quiet(0.01)
print("twisted.internet.reactor" in sys.modules)
"""

FORKING = """
import os, sys
from orchtw.testing import ApiServer
with ApiServer() as server:
    before = server.revision()
    child = os.fork()
    if not child:
        # In the child the block ends as well, but the server is its parent's.
        same = server.revision() == before
        server.stop()
        with ApiServer() as own:
            own.reset()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert server.revision() == before
    print("good")
"""


class AttributeTests(SynchronousTestCase):
    """A running server, as clients see it."""

    def setUp(self) -> None:
        self.server = shared()

    def test_url(self) -> None:
        """It listens on a free port of the loopback interface."""
        self.assertRegex(self.server.url, r"^https://127\.0\.0\.1:\d+$")

    def test_vocabulary(self) -> None:
        """It serves the API under Kubernetes' names by default."""
        groups = [each["name"] for each in self.server.request("GET", "/apis").json["groups"]]
        self.assertIn("rbac.authorization.k8s.io", groups)

    def test_kubeconfig(self) -> None:
        """The kubeconfig is the administrator's, and private."""
        cluster = yaml.safe_load(self.server.kubeconfig.read_text())["clusters"][0]["cluster"]
        self.assertEqual(cluster["server"], self.server.url)
        self.assertEqual(stat.S_IMODE(self.server.kubeconfig.stat().st_mode), 0o600)
        self.assertIn("BEGIN CERTIFICATE", self.server.ca_pem)

    def test_client_config(self) -> None:
        """The settings of clients name the URL, a file with the authority, and the token."""
        found = self.server.client_config()
        self.assertEqual(Path(found["ssl_ca_cert"]).read_text(), self.server.ca_pem)
        self.assertEqual(found["host"], self.server.url)
        self.assertEqual(found["api_key"]["authorization"], self.server.token)

    def test_environment(self) -> None:
        """Operators in processes of their own find the kubeconfig in their environment."""
        self.assertEqual(self.server.environment()["KUBECONFIG"], str(self.server.kubeconfig))
        self.assertEqual(self.server.environment("/mine")["KUBECONFIG"], "/mine")

    def test_user(self) -> None:
        """A user has a private kubeconfig with name and groups, the same one when asked for again."""
        path = self.server.user("alice", ["devs", "ops"])
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(self.server.user("alice", ["devs", "ops"]), path)
        self.assertNotEqual(self.server.user("alice"), path)
        said = subprocess.run(
            ("openssl", "x509", "-noout", "-subject", "-in", str(path.with_suffix(".crt"))),
            capture_output=True,
            text=True,
        ).stdout
        for part in ("alice", "devs", "ops"):
            self.assertIn(part, said)

    def test_impossible_user(self) -> None:
        """A name that a certificate cannot hold is rejected."""
        self.assertRaises(ConfigError, self.server.user, "x" * 65)

    def test_log(self) -> None:
        """The log tells that it is ready."""
        self.assertIn("ready: https://", self.server.log())

    def test_second_start(self) -> None:
        """A server that runs cannot be started."""
        self.assertRaises(RuntimeError, self.server.start)


class NamespaceTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Namespaces of one test differ, begin with its name, and have an account."""
        server = shared()
        first, second = (server.new_namespace(f"test_It[{'x' * 99}]") for _ in range(2))
        self.assertNotEqual(first, second)
        self.assertRegex(first, "^test-it-x+-[0-9a-f]{6}$")
        self.assertIsNotNone(server.reader().get("serviceaccounts/default", first))
        self.assertRegex(server.new_namespace(), "^test-[0-9a-f]{6}$")


class LifeTests(SynchronousTestCase):
    """Starts and ends of servers."""

    def test_end(self) -> None:
        """After the end neither process nor folder are left, but the log is; attributes say that it is over."""
        with ApiServer() as server:
            folder, pid = server.kubeconfig.parent.parent, server.pid
            self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        self.assertFalse(folder.exists())
        self.assertFalse(alive(pid))
        self.assertIn("HTTPS listener starting", server.log())
        self.assertFalse(server.running)
        self.assertRaises(RuntimeError, lambda: server.url)
        self.assertRaises(RuntimeError, server.reset)
        server.stop()

    def test_flags(self) -> None:
        """Further flags and another vocabulary reach the server."""
        with ApiServer(vocabulary="orch", flags=["--v=3"]) as server:
            groups = [each["name"] for each in server.request("GET", "/apis").json["groups"]]
            self.assertIn("rbac.authorization.orch.io", groups)
            self.assertIn('"HTTP" verb=', server.log())

    def test_failed_start(self) -> None:
        """A start that fails raises one exception with the server's last words, and leaves no folder."""
        before = set(Path(self.folder()).iterdir())
        failed = self.assertRaises(StartFailed, ApiServer(flags=["--nonsense=1", "--v=many"]).start)
        self.assertIn("unknown flag: --nonsense", str(failed))
        self.assertIn("--v", str(failed))
        self.assertEqual(failed.status, 1)
        self.assertEqual(set(Path(self.folder()).iterdir()), before)

    def folder(self) -> str:
        """A folder for temporary folders of this test alone."""
        found: str = os.path.abspath(self.mktemp())
        os.mkdir(found)
        self.patch(__import__("tempfile"), "tempdir", found)
        return found

    def test_own_flags(self) -> None:
        """Flags whose values the test server needs to know are rejected."""
        for flag in ("--data-dir=x", "--token-auth-file=x", "--service-map-file=x"):
            error = self.assertRaises(ValueError, ApiServer(flags=[flag]).start)
            self.assertIn(flag, str(error))

    def test_flags_as_text(self) -> None:
        """A string is rejected as a sequence of flags."""
        self.assertRaises(TypeError, ApiServer, flags="--v=3")

    def test_no_reactor(self) -> None:
        """The test's process has no reactor, whatever it asks of the server."""
        done = run_python("-c", NO_REACTOR, folder=self.mktemp())
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))

    def test_forked_process(self) -> None:
        """A forked process uses its parent's server and starts its own, and ends neither for its parent."""
        done = run_python("-W", "error", "-c", FORKING, folder=self.mktemp())
        self.assertEqual((done.stdout, done.stderr), ("good\n", ""))


class RunningTests(ForkedServersCase):
    """Servers that run, and that tests share, kill and start again."""

    def test_data_stay(self) -> None:
        """With a data folder and a store on disk, a second start finds what the first one stored."""
        folder = self.mktemp()
        server = ApiServer(data_dir=folder, storage="sqlite")
        with server:
            server.request("POST", CONFIG_MAPS, config_map("kept")).checked("create")
        with server:
            self.assertIsNotNone(server.reader().get("configmaps/kept"))
        self.assertTrue(os.path.isdir(folder))

    def test_death(self) -> None:
        """A server that was killed does not run; calls tell so with status and log, and it can be started again."""
        server = ApiServer().start()
        self.addCleanup(server.stop)
        self.assertTrue(server.running)
        os.kill(server.pid, signal.SIGKILL)
        error = self.assertRaises(ServerDied, server.revision)
        self.assertIn("the server has ended (signal 9)", str(error))
        self.assertIn("HTTPS listener starting", error.log)
        self.assertFalse(server.running)
        self.assertRaises(ServerDied, server.eventually, "configmaps/none")
        self.assertRaises(ServerDied, server.eventually, lambda read: False)
        self.assertRaises(ServerDied, server.quiet, 5)
        self.assertIn("signal 9", server.last_writes())
        server.start()
        self.assertTrue(server.running)
        server.eventually("namespaces/default")

    def test_death_in_a_wait(self) -> None:
        """Waits end when the server does."""
        for wait in (
            lambda server: server.eventually("configmaps/none", 60),
            lambda server: server.eventually(lambda read: False, 60),
            lambda server: server.quiet(60),
        ):
            with ApiServer() as server:
                killing = threading.Timer(0.2, os.kill, (server.pid, signal.SIGKILL))
                killing.start()
                self.assertRaises(ServerDied, wait, server)
                killing.join()

    def test_two_in_threads(self) -> None:
        """Two servers run at once, started by threads, each with a state of its own."""
        servers = [ApiServer(), ApiServer()]
        threads = [threading.Thread(target=each.start) for each in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first, second = servers
        first.request("POST", CONFIG_MAPS, config_map("a")).checked("create")
        self.assertIsNone(second.reader().get("configmaps/a"))
        first.stop()
        self.assertIsNotNone(second.reader().get("namespaces/default"))
        second.stop()

    def test_requests_of_threads(self) -> None:
        """Threads may ask one server at the same time."""
        server, made = shared(), []

        def make(number: int) -> None:
            for each in range(10):
                made.append(server.request("POST", CONFIG_MAPS, config_map(f"m-{number}-{each}")).code)

        threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(made, [201] * 80)

    def test_requests_by_name(self) -> None:
        """The test's own writes are those of a user of their own, so that they are told from an operator's."""
        server = shared()
        server.request("POST", CONFIG_MAPS, config_map("a")).checked("create")
        (write,) = server.writes()
        self.assertEqual((write.user, write.path), ("orch-testing", "configmaps default/a"))
        self.assertIn("orch-testing", json.dumps(write.json))
