"""Outcome of `exec` probes, and messages of containers (reference SIM-20, SIM-27)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.plans import MAIN, RunPlan, plan
from orchtw.simulation.pods.probes import NEVER_S, Probed
from orchtw.wire.objects import Object
from tests.simulation.pods.cases import NOW, Life, container, pod


def run(*command: str, **fields: Any) -> RunPlan:
    """Return the plan of a container."""
    made = container(**fields)
    return plan(pod(made), {**made, "command": list(command)} if command else made, MAIN, NOW)


def shell(line: str, **fields: Any) -> RunPlan:
    """Return the plan of a container that runs a line of shell."""
    return run("sh", "-c", line, **fields)


def probe(*command: str, **fields: Any) -> Object:
    """Return a probe that runs a command every two seconds, and believes the first outcome."""
    defaults = {"periodSeconds": 2, "failureThreshold": 1, "timeoutSeconds": 1}
    return {"exec": {"command": list(command)}, **defaults, **fields}


class ProbedTests(SynchronousTestCase):
    def test_unknown(self) -> None:
        """Probes succeed that run no command, one that is not simulated, or one that reads an unknown file."""
        ready = Probed(started_s=0.0, ready_s=0.0)
        for found in ({"tcpSocket": {"port": 80}}, probe("redis-cli", "ping"), probe("cat", "/tmp/healthy")):
            made = run(readinessProbe=found, livenessProbe=found, startupProbe=found)
            self.assertEqual(made.probed, ready)

    def test_liveness(self) -> None:
        """A liveness probe ends a container whose command has removed the file; it is restarted."""
        line = "touch /tmp/health; sleep 9; rm -rf /tmp/health; sleep 600"
        made = shell(line, livenessProbe=probe("cat", "/tmp/health", initialDelaySeconds=1, failureThreshold=3))
        self.assertEqual((made.probed.fails_s, made.probed.failed), (13.0, "Liveness"))
        ending = made.ending(0)
        self.assertEqual((ending.after_s, ending.code, ending.probe), (13.5, 137, "Liveness"))

    def test_short_failure(self) -> None:
        """A failure that does not last for the threshold does not count."""
        line = "touch /tmp/health; sleep 9; rm /tmp/health; sleep 3; echo > /tmp/health; sleep 600"
        made = shell(line, livenessProbe=probe("cat", "/tmp/health", failureThreshold=3))
        self.assertEqual(made.probed.fails_s, NEVER_S)

    def test_readiness(self) -> None:
        """A container is ready while its readiness probe succeeds."""
        line = "sleep 5; echo ok > /tmp/ready; sleep 5; rm /tmp/ready; sleep 5; touch /tmp/ready; sleep 600"
        made = shell(line, readinessProbe=probe("test", "-f", "/tmp/ready"))
        self.assertEqual((made.probed.ready_s, made.probed.turns), (6.0, (10.0, 16.0)))
        never = shell("sleep 600", readinessProbe=probe("cat", "/tmp/ready"))
        self.assertEqual(never.probed.ready_s, NEVER_S)

    def test_timeout(self) -> None:
        """A probe that takes longer than its timeout fails."""
        made = run(livenessProbe=probe("sh", "-c", "sleep 10"))
        self.assertEqual(made.probed.fails_s, 0.0)
        made = run(livenessProbe=probe("sh", "-c", "sleep 10", timeoutSeconds=20))
        self.assertEqual(made.probed.fails_s, NEVER_S)

    def test_startup(self) -> None:
        """The others wait for the startup probe, which ends a container when it does not succeed in time."""
        probes = {"startupProbe": probe("cat", "/tmp/up", failureThreshold=9), "livenessProbe": probe("false")}
        made = shell("sleep 5; touch /tmp/up; sleep 600", **probes)
        self.assertEqual((made.probed.started_s, made.probed.fails_s), (6.0, 6.0))
        made = shell("sleep 500", **probes, readinessProbe=probe("true"))
        self.assertEqual((made.probed.started_s, made.probed.ready_s), (NEVER_S, NEVER_S))
        self.assertEqual((made.probed.fails_s, made.probed.failed), (16.0, "Startup"))


class ProbedRunTests(SynchronousTestCase):
    def test_restarted(self) -> None:
        """The status of a container that its liveness probe ends, and the events."""
        life = Life(pod(container(livenessProbe=probe("false", initialDelaySeconds=3))))
        life.pass_s(6)
        found = life.status["containerStatuses"][0]
        self.assertEqual(found["restartCount"], 1)
        self.assertEqual(found["lastState"]["terminated"]["exitCode"], 137)
        self.assertIn(("Unhealthy", "Liveness probe failed: "), life.events)
        self.assertIn(("Killing", "Container c failed liveness probe, will be restarted"), life.events)

    def test_turns(self) -> None:
        """A container becomes unready in time."""
        line = "touch /tmp/ready; sleep 5; rm /tmp/ready; sleep 600"
        made = container(command=["sh", "-c", line], readinessProbe=probe("test", "-f", "/tmp/ready"))
        life = Life(pod(made))
        life.pass_s(3)
        self.assertEqual(life.condition("Ready")["status"], "True")
        self.assertEqual(life.run.due, NOW + 6.3)
        life.pass_s(4)
        self.assertEqual(life.condition("Ready")["status"], "False")


class MessageTests(SynchronousTestCase):
    def test_file(self) -> None:
        """The message is what the command has written to the container's file for it."""
        self.assertEqual(shell("echo -n OK > /dev/termination-log; echo DONE").ending(0).message, "OK")
        made = shell("echo -n OK > /log; echo more >> /log", terminationMessagePath="/log")
        self.assertEqual(made.ending(0).message, "OKmore\n")
        life = Life(pod(container(command=["sh", "-c", "echo -n OK > /dev/termination-log"]), restartPolicy="Never"))
        life.pass_s(5)
        self.assertEqual(life.state["terminated"]["message"], "OK")

    def test_output(self) -> None:
        """With policy FallbackToLogsOnError, the message of a failed container is its last output."""
        policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
        self.assertEqual(shell("echo -n DONE; false", **policy).ending(0).message, "DONE")
        self.assertEqual(shell("echo -n DONE; true", **policy).ending(0).message, "")
        self.assertEqual(shell("echo -n DONE; false").ending(0).message, "")
