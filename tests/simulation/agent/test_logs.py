"""Logs of simulated containers (reference SIM-25)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.agent.logs import MOST_LINES, Options, Unavailable, lines, run_of, selected, shown
from orchtw.wire.objects import Object
from tests.simulation.pods.cases import Life, container, pod


class LogTests(SynchronousTestCase):
    def log(self, life: Life, **options: object) -> str:
        """The log of container `c` now."""
        wanted = Options(**options)  # type: ignore[arg-type]
        run = run_of(life.pod, "c", previous=wanted.previous)
        return shown(selected(run, wanted, life.now), wanted).decode()

    def lived(self, obj: Object, seconds: float) -> Life:
        """A pod after some time."""
        life = Life(obj)
        for _ in range(int(seconds * 10)):
            life.pass_s(0.1)
        return life

    def test_command(self) -> None:
        """The output of a simulated command is the log, as far as it has come."""
        obj = pod(container(command=["sh", "-c", "echo a; sleep 10; echo b"]), restartPolicy="Never")
        self.assertEqual(self.log(self.lived(obj, 2)), "a\n")
        self.assertEqual(self.log(self.lived(obj, 12)), "a\nb\n")

    def test_lines(self) -> None:
        """Given lines follow the line of the start; the options select among them."""
        life = self.lived(pod(annotations={"logs": "x\ny"}), 1)
        self.assertEqual(self.log(life), "c of p has started, attempt 0\nx\ny\n")
        self.assertEqual(self.log(life, tail=1), "y\n")
        self.assertEqual(self.log(life, tail=0), "")
        self.assertEqual(self.log(life, tail=1, limit_bytes=1), "y")
        self.assertEqual(self.log(life, tail=1, timestamps=True), "2023-11-14T22:13:20.000000000Z y\n")
        self.assertEqual(self.log(life, since=life.now), "")

    def test_rate(self) -> None:
        """Lines by a rate are as many as the time allows, and the last ones of very many."""
        life = self.lived(pod(annotations={"logs": "5/s"}), 2.4)
        self.assertIn("line 10 of c of p\n", self.log(life))
        life.now += 100_000
        self.assertEqual(self.log(life).count("\n"), MOST_LINES + 2)

    def test_new_lines(self) -> None:
        """Those after a time are the same however many lines before it are made."""
        life = self.lived(pod(annotations={"simulate.orch.io/logs": "7/s"}), 100)
        run = run_of(life.pod, "c")
        for after in (life.now - 20.05, life.now - 0.25, life.now):
            wanted = [each for each in lines(run, life.now) if each[0] > after]
            self.assertEqual([each for each in lines(run, life.now, after) if each[0] > after], wanted)
            self.assertLess(len(list(lines(run, life.now, after))), len(wanted) + 4)

    def test_previous(self) -> None:
        """The previous run has its own log; a container between two runs shows the last one."""
        life = self.lived(pod(annotations={"crash": "3"}), 2.5)
        self.assertIn("attempt 1", self.log(life))
        self.assertIn("attempt 0", self.log(life, previous=True))
        life = self.lived(pod(annotations={"crash": "3"}), 6)
        self.assertIn("waiting", life.state)
        self.assertIn("attempt 1", self.log(life))

    def test_unavailable(self) -> None:
        """A container that has not started has no log, nor has one that there is not."""
        life = Life(pod(annotations={"image-pull-error": "true"}))
        life.pass_s(0.3)
        error = self.assertRaises(Unavailable, run_of, life.pod, "c")
        self.assertEqual(str(error), 'container "c" in pod "p" is waiting to start: trying and failing to pull image')
        self.assertRaises(Unavailable, run_of, life.pod, "none")
        self.assertRaises(Unavailable, run_of, self.lived(pod(), 1).pod, "c", previous=True)
