"""Plans of containers: defaults, probes, environment (reference SIM-22)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.plans import (
    EPHEMERAL,
    INIT,
    MAIN,
    MOST_EXPANDED,
    SIDECAR,
    hostname,
    plan,
    roles,
    variables,
)
from tests.simulation.pods.cases import NOW, container, pod


class RolesTests(SynchronousTestCase):
    def test_order(self) -> None:
        """Init containers and sidecars come first, ephemeral ones last."""
        inits = [container("i"), container("s", restartPolicy="Always")]
        obj = pod(container("c"), initContainers=inits, ephemeralContainers=[container("e")])
        found = [(role, each["name"]) for role, each in roles(obj["spec"])]
        self.assertEqual(found, [(INIT, "i"), (SIDECAR, "s"), (MAIN, "c"), (EPHEMERAL, "e")])


class PlanTests(SynchronousTestCase):
    def test_policies(self) -> None:
        """A container starts again by its own policy, or the pod's; an init container until it succeeds."""
        for policy, restarts in (("Always", [True, True]), ("OnFailure", [False, True]), ("Never", [False, False])):
            made = plan(pod(restartPolicy=policy), container(), MAIN, NOW)
            self.assertEqual([made.restarts(code) for code in (0, 1)], restarts)
        init = plan(pod(restartPolicy="Always"), container(), INIT, NOW)
        self.assertEqual([init.restarts(code) for code in (0, 1)], [False, True])
        own = plan(pod(restartPolicy="Never"), container(restartPolicy="Always"), MAIN, NOW)
        self.assertTrue(own.restarts(0))

    def test_pre_stop(self) -> None:
        """A hook before the end takes its time."""
        for hook in ({"sleep": {"seconds": 7}}, {"exec": {"command": ["sleep", "7"]}}):
            made = plan(pod(), container(lifecycle={"preStop": hook}), MAIN, NOW)
            self.assertEqual(made.termination_s, 7.5)

    def test_arguments(self) -> None:
        """Arguments alone are the command if they are one that is simulated; variables in them are replaced."""
        env = [{"name": "N", "value": "4"}]
        made = plan(pod(), container(args=["sleep", "$(N)"], env=env), MAIN, NOW)
        assert made.commanded is not None
        self.assertEqual(made.commanded.length_s, 4.0)
        self.assertIsNone(plan(pod(), container(args=["--verbose"]), MAIN, NOW).commanded)


class VariablesTests(SynchronousTestCase):
    def test_environment(self) -> None:
        """Values, references to earlier ones, and fields of the pod."""
        def field(path: str) -> dict[str, object]:
            return {"fieldRef": {"fieldPath": path}}

        env = [
            {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2$(NONE)"},
            {"name": "NAME", "valueFrom": field("metadata.name")},
            {"name": "NODE", "valueFrom": field("spec.nodeName")},
            {"name": "MARK", "valueFrom": field("metadata.annotations['simulate.orch.io/x']")},
        ]
        found = variables(pod(annotations={"x": "y"}), container(env=env))
        expected = {"A": "1", "B": "12$(NONE)", "NAME": "p", "NODE": "node-0", "MARK": "y"}
        self.assertEqual({name: found[name] for name in expected}, expected)

    def test_amounts(self) -> None:
        """Requests and limits, in whole units of their divisors."""
        def amount(resource: str, **more: str) -> dict[str, object]:
            return {"name": resource + more.get("divisor", ""), "valueFrom": {"resourceFieldRef": {
                "resource": resource, **more
            }}}

        env = [
            amount("limits.cpu"), amount("limits.cpu", divisor="1m"), amount("requests.memory", divisor="1Mi"),
            amount("requests.cpu", divisor="0"),
        ]
        resources = {"limits": {"cpu": "1250m"}, "requests": {"memory": "32Mi"}}
        made = container(env=env, resources=resources)
        found = variables(pod(made), made)
        expected = {"limits.cpu": "2", "limits.cpu1m": "1250", "requests.memory1Mi": "32", "requests.cpu0": "0"}
        self.assertEqual({name: found[name] for name in expected}, expected)

    def test_nested_references(self) -> None:
        """References that multiply are replaced up to a bound: no pod can make a text of gigabytes."""
        env = [{"name": "V0", "value": "x" * 100}]
        env += [{"name": f"V{number}", "value": f"$(V{number - 1})" * 10} for number in range(1, 9)]
        found = variables(pod(), container(env=env))
        self.assertEqual(len(found["V3"]), 100_000)
        self.assertEqual(found["V5"], "$(V4)" * 10)
        self.assertLess(sum(map(len, found.values())), 2 * MOST_EXPANDED)

    def test_hostname(self) -> None:
        """The host's name is the pod's, or the given one, of at most 63 characters."""
        self.assertEqual(hostname(pod(hostname="h")), "h")
        long = pod()
        long["metadata"]["name"] = "a" * 62 + ".b"
        self.assertEqual(hostname(long), "a" * 62)
