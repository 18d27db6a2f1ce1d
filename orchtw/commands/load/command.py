"""Command line of `orch-load`. Exit status 1: lost, repeated or disordered events, errors, or no usable server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, cast

from twisted.internet.defer import Deferred

from orchtw.commands.load.plan import LoadPlan, Workloads
from orchtw.commands.load.report import as_json, as_text
from orchtw.commands.load.run import LoadRun
from orchtw.commands.remote_server import add_options, remote_of
from orchtw.commands.running import exit_status
from orchtw.errors import ConfigError
from orchtw.flags.exit_status import COMMAND, document_exit_status
from orchtw.flags.version import add_version

MOST_NODES: Final = 100_000
USUAL: Final = LoadPlan()
STATUSES: Final = {**COMMAND, 1: "an error, or an event that was lost, repeated or out of order"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1, or 2 for a wrong command line."""
    options = command_line().parse_args(arguments)
    return exit_status(lambda reactor: _perform(options, reactor))


async def _perform(options: argparse.Namespace, reactor: Any) -> int:
    form = as_json if options.json else as_text
    try:
        plan, remote = plan_of(options), remote_of(options, reactor)
        run = LoadRun(plan, remote, reactor, lambda period: print(form(period), flush=True), say)
        finished = Deferred.fromCoroutine(run.run(keep=options.keep))
        reactor.addSystemEventTrigger("before", "shutdown", _ended, run, finished)
        good = await finished
    except ConfigError as error:
        for problem in error.problems:
            say(problem)
        return 1
    except OSError as error:
        say(f"{error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    return 0 if good else 1


def _ended(run: LoadRun, finished: Deferred[bool]) -> Deferred[None]:
    """Have the run end after a signal; the reactor goes on until it has cleaned up."""
    run.end_early()
    waiting: Deferred[None] = Deferred()

    def done(result: Any) -> Any:
        waiting.callback(None)
        return result

    finished.addBoth(done)
    return waiting


def say(text: str) -> None:
    """Print one line to standard error."""
    print(f"orch-load: {' '.join(text.split())}", file=sys.stderr, flush=True)


def plan_of(options: argparse.Namespace) -> LoadPlan:
    """Return the plan of the options. Raises ConfigError for a plan that cannot be carried out."""
    plan = LoadPlan(
        nodes=options.nodes,
        pods=options.pods,
        deployments=options.deployments,
        churn=options.churn,
        informers=options.informers,
        duration_s=options.duration,
        interval_s=options.interval,
        namespaces=options.namespaces,
        prefix=options.namespace,
        seed=options.seed,
        workloads=cast(Workloads, options.workloads),
    )
    if plan.deployments and plan.namespaces > plan.deployments:
        raise ConfigError("--namespaces: must not exceed --deployments")
    return plan


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="orch-load",
        description="Makes the load of a cluster on an API server, and compares every watch event with its write.",
    )
    _add_size(made.add_argument_group("size").add_argument)
    _add_run(made.add_argument_group("run").add_argument)
    add_options(made)
    add_version(made)
    document_exit_status(made, STATUSES)
    return made


def _add_size(add: Callable[..., Any]) -> None:
    add("--nodes", type=_number(1, MOST_NODES), default=USUAL.nodes, metavar="N",
        help="nodes, each with a lease and a watch of its pods (default: %(default)s)")  # fmt: skip
    add("--pods", type=_number(0), default=USUAL.pods, metavar="N", help="running pods (default: %(default)s)")
    add("--deployments", type=_number(0), default=USUAL.deployments, metavar="N",
        help="Deployments, each with a Service and its endpoints (default: %(default)s)")  # fmt: skip
    add("--churn", type=_seconds(0.0), default=USUAL.churn, metavar="RATE",
        help="pods replaced per second (default: %(default)s)")  # fmt: skip
    add("--informers", type=_number(0), default=USUAL.informers, metavar="N",
        help="informers of all pods, all Services and all EndpointSlices each (default: %(default)s)")  # fmt: skip
    add("--workloads", choices=("auto", "server", "tool"), default=USUAL.workloads,
        help="side that makes and runs the pods; auto tries a Deployment (default: %(default)s)")  # fmt: skip


def _add_run(add: Callable[..., Any]) -> None:
    add("--duration", type=_seconds(0.1), default=USUAL.duration_s, metavar="SECONDS",
        help="length of the steady load (default: %(default)s)")  # fmt: skip
    add("--interval", type=_seconds(0.1), default=USUAL.interval_s, metavar="SECONDS",
        help="interval of reports (default: %(default)s)")  # fmt: skip
    add("--namespace", default=USUAL.prefix, metavar="NAME",
        help="namespace, and prefix of all names (default: %(default)s)")  # fmt: skip
    add("--namespaces", type=_number(1), default=USUAL.namespaces, metavar="N",
        help="number of namespaces, named NAME-0 and so on if there are several (default: %(default)s)")  # fmt: skip
    add("--seed", type=int, default=USUAL.seed, metavar="N",
        help="seed of the order of rollouts and of random delays (default: %(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print reports as lines of JSON")
    add("--keep", action="store_true", help="keep the objects at the end")


def _number(least: int, most: int = 10**7) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return number


def _seconds(least: float) -> Callable[[str], float]:
    def seconds(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not least <= value < inf:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {least:g}")
        return value

    return seconds
