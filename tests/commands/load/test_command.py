"""Options and the plan that they make."""
# covers: orchtw.commands.load.plan

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.command import command_line, plan_of
from orchtw.commands.load.plan import LEASE_S, LoadPlan
from orchtw.errors import ConfigError


class CommandTests(SynchronousTestCase):
    """Command lines, good and bad."""

    def test_plan(self) -> None:
        """Options make the plan."""
        words = "--nodes 3 --pods 9 --churn 0.5 --deployments 2 --namespaces 2 --namespace x --interval 60"
        plan = plan_of(command_line().parse_args(words.split()))
        self.assertEqual((plan.nodes, plan.pods, plan.churn, plan.interval_s), (3, 9, 0.5, 60.0))
        self.assertEqual(plan.all_namespaces(), ["x-0", "x-1"])

    def test_defaults(self) -> None:
        """Without options, the plan is the default one."""
        self.assertEqual(plan_of(command_line().parse_args([])), LoadPlan())

    def test_refused(self) -> None:
        """Options out of their range are refused, and so are namespaces that nothing would be in."""
        for words in ("--nodes 0", "--pods -1", "--churn nan", "--churn inf", "--duration 0", "--workloads none"):
            with redirect_stderr(StringIO()), self.assertRaises(SystemExit):
                command_line().parse_args(words.split())
        options = command_line().parse_args(["--namespaces", "3", "--deployments", "2"])
        self.assertRaises(ConfigError, plan_of, options)


class PlanTests(SynchronousTestCase):
    """Spread of objects and times."""

    def test_leases(self) -> None:
        """Renewals are spread evenly over the interval."""
        plan = LoadPlan(nodes=4)
        self.assertEqual([plan.first_renewal_s(node) * 4 / LEASE_S for node in range(4)], [0, 1, 2, 3])

    def test_replicas(self) -> None:
        """The replicas of all Deployments add up to the pods, as the pods' owners do."""
        plan = LoadPlan(pods=11, deployments=3)
        owners = [plan.owner(pod) for pod in range(plan.pods)]
        self.assertEqual([plan.replicas(each) for each in range(3)], [owners.count(each) for each in range(3)])
        self.assertEqual([LoadPlan(deployments=0).owner(pod) for pod in range(3)], [0, 0, 0])

    def test_due(self) -> None:
        """Replacements follow the rate."""
        self.assertEqual([LoadPlan(churn=0.5).due(elapsed_s) for elapsed_s in (0.0, 1.9, 2.0, 60.0)], [0, 0, 1, 30])
