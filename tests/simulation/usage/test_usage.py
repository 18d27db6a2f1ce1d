"""Usage of pods (reference SIM-26)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.usage.usage import Usage, scaled, total, used
from orchtw.wire.objects import Object
from tests.simulation.pods.cases import Life, container, pod


def running(obj: Object) -> Object:
    """The pod after its start."""
    life = Life(obj)
    life.pass_s(1)
    return life.pod


REQUESTS = {"requests": {"cpu": "1", "memory": "1Gi"}}


class UsedTests(SynchronousTestCase):
    def test_share(self) -> None:
        """Without annotations the use is a share of the requests, always the same one."""
        obj = running(pod(container(resources=REQUESTS)))
        found = used(obj)["c"]
        self.assertEqual(found, used(obj)["c"])
        self.assertTrue(300_000_000 <= found.cpu <= 800_000_000, found)
        self.assertTrue(0.3 <= found.memory / 2**30 <= 0.8, found)

    def test_annotations(self) -> None:
        """An amount of the pod is shared by its containers; one of a container is its own."""
        obj = running(pod(container("a"), container("b"), annotations={"cpu": "300m", "memory.a": "64Mi"}))
        found = used(obj)
        self.assertEqual([each.cpu for each in found.values()], [150_000_000, 150_000_000])
        self.assertEqual(found["a"].memory, 64 << 20)
        self.assertEqual(found["a"].quantities(), {"cpu": "150000000n", "memory": "65536Ki"})

    def test_not_running(self) -> None:
        """Pods that do not run use nothing."""
        self.assertEqual(used(pod()), {})

    def test_total(self) -> None:
        """Amounts are added up."""
        self.assertEqual(total([Usage(cpu=1, memory=2), Usage(cpu=3)]), Usage(cpu=4, memory=2))

    def test_scaled(self) -> None:
        """Quantities become integers, whatever their exponents."""
        self.assertEqual([scaled(text, 9) for text in ("250m", "2", "1n")], [250_000_000, 2 * 10**9, 1])
        self.assertEqual(scaled("1e2147483647", 0), 10**18)
