"""Ends of the drop-ins for envtest: prompt ones at a stop, and that of the suite that started them."""
# covers: orchtw.commands.envtest.ending

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.commands.envtest.assets import write_assets
from orchtw.testing.process import environment
from tests.end_to_end.envtest import ControlPlane, free_ports
from tests.testing.api_servers import wait_for_end

MAPS = "/api/v1/namespaces/default/configmaps"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PROMPT_S = 5.0
"""A second is promised; a slow machine gets more, and the webhook of the test would take twenty."""

SUITE = """
import subprocess, sys, time, urllib.request
assets, etcd_url, folder = sys.argv[1:]
quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
etcd = subprocess.Popen([f"{assets}/etcd", f"--listen-client-urls={etcd_url}", f"--data-dir={folder}"], **quiet)
for _ in range(600):
    try:
        urllib.request.urlopen(f"{etcd_url}/health")
        break
    except OSError:
        time.sleep(0.05)
apiserver = subprocess.Popen(
    [f"{assets}/kube-apiserver", f"--etcd-servers={etcd_url}", "--secure-port=0"], stdout=subprocess.PIPE, **quiet
)
apiserver.stdout.readline()
print(etcd.pid, apiserver.pid, flush=True)
time.sleep(600)
"""


class PromptTests(TestCase):
    """A server in the middle of its work."""

    timeout = 240

    async def test_stop_with_work_in_flight(self) -> None:
        """SIGTERM ends a server promptly though watches are open and a write waits for a webhook that is silent."""
        plane = ControlPlane("v0.20.4", Path(self.mktemp()).absolute())
        self.addCleanup(deferToThread, plane.stop)
        await deferToThread(plane.start)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        client = plane.client("default", "system:masters")
        self.addCleanup(client.close)
        for _ in range(3):
            await client.watch(f"{MAPS}?watch=1")
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        hook = {
            "name": "silent.example.com",
            "clientConfig": {"url": f"https://127.0.0.1:{silent.getsockname()[1]}/"},
            "rules": [rule],
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 20,
        }  # fmt: skip
        answer = await client.post(HOOKS, {"metadata": {"name": "silent"}, "webhooks": [hook]})
        self.assertEqual(answer.code, 201, answer)
        waiting = plane.client("default", "system:masters")
        self.addCleanup(waiting.close)
        asked = waiting.post(MAPS, {"metadata": {"name": "a"}})
        writing = Deferred.fromCoroutine(asked)
        writing.addBoth(lambda result: None)  # it gets no answer
        connection, _ = await deferToThread(silent.accept)
        self.addCleanup(connection.close)
        process = plane.apiserver.process
        assert process is not None
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(await deferToThread(process.wait, PROMPT_S), 0)
        await writing


class OrphanTests(SynchronousTestCase):
    """Drop-ins whose suite is killed."""

    def test_killed_suite(self) -> None:
        """Both end soon after a suite that is killed, though it left them no input whose end they could read."""
        folder = Path(self.mktemp()).absolute()
        assets = write_assets(folder / "assets")
        (port,) = free_ports(1)
        command = [sys.executable, "-c", SUITE, str(assets), f"http://127.0.0.1:{port}", str(folder / "data")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(()), text=True) as suite:
            assert suite.stdout is not None
            pids = list(map(int, suite.stdout.readline().split()))
            suite.kill()
        self.assertEqual(len(pids), 2)
        for pid in pids:
            self.assertTrue(wait_for_end(pid, PROMPT_S), "a program outlives its suite")
