"""Annotations that direct pods (reference SIM-22)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.annotations import NOTHING, Behaviour, behaviour
from tests.simulation.pods.cases import pod


class BehaviourTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Each annotation has its form."""
        wishes = {
            "start-delay": "1s", "ready-delay": "1m", "never-ready": "true", "exit-code": "255",
            "exit-after": "never", "crash": "3", "oom": "true", "image-pull-error": "true",
            "termination-delay": "500ms", "logs": "a\nb", "cpu": "250m", "memory": "1Gi",
            "ignore-missing": "true", "moved": '{"/a": "/b"}',
        }
        found, problems = behaviour(pod(annotations=wishes), "c")
        self.assertEqual(problems, ())
        expected = Behaviour(
            start_delay_s=1.0, ready_delay_s=60.0, never_ready=True, exit_code=255, exit_after_s=float("inf"),
            crashes=3, oom=True, image_error="manifest unknown", termination_delay_s=0.5, log_lines=("a", "b"),
            cpu="250m", memory="1Gi", ignore_missing=True, moved=(("/a", "/b"),),
        )
        self.assertEqual(found, expected)

    def test_container_form(self) -> None:
        """The form of one container comes first; init containers have only that."""
        obj = pod(annotations={"exit-code": "1", "exit-code.c": "2"})
        self.assertEqual([behaviour(obj, name)[0].exit_code for name in ("c", "d")], [2, 1])
        self.assertIsNone(behaviour(obj, "i", whole_pod=False)[0].exit_code)

    def test_rate(self) -> None:
        """Log lines can be given by a rate, up to a bound."""
        self.assertEqual(behaviour(pod(annotations={"logs": "2.5/s"}), "c")[0].log_rate, 2.5)
        _, (problem,) = behaviour(pod(annotations={"logs": "9999/s"}), "c")
        self.assertIn("must be at most 1000/s", problem)

    def test_invalid(self) -> None:
        """Every invalid value is named, and the default counts."""
        wishes = {"exit-code": "256", "exit-after": "soon", "crash": "-1", "oom": "maybe", "moved": "[]"}
        found, problems = behaviour(pod(annotations={**wishes, "cpu": "much", "memory": "-1"}), "c")
        self.assertEqual((found, len(problems)), (NOTHING, 7))
        self.assertEqual(behaviour(pod(annotations={"cpu": "9999E"}), "c")[0].cpu, "")
