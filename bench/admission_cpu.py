"""CPU cost of admission to a write: the same dry runs with the default plugins, without, and with a policy as well.

Three servers in a process of their own, without a network, take turns: nothing else is in the figures but noise, of
which the best of many parts has the least.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from bench.bodies import numbered
from bench.http1 import BenchError
from bench.options import Options
from bench.server import data_directory
from bench.session import Emit
from bench.subjects import subjects
from orchtw.admission.order import DEFAULT

PARTS: Final = 20
NOTHING: Final[Mapping[str, Any]] = {"disable_admission_plugins": tuple(DEFAULT)}
LIMIT_S: Final = 300.0
_DEFAULT: Final = "/api/v1/namespaces/default"
_POLICIES: Final = "/apis/admissionregistration.orch.io/v1/validatingadmissionpolic"
_RULES: Final = (
    "object.spec.containers.all(c, !c.image.endsWith(':latest'))",
    "!has(object.spec.hostNetwork) || object.spec.hostNetwork == false",
    "object.metadata.name.size() < 60 && (!has(object.metadata.labels) || !('forbidden' in object.metadata.labels))",
)
_JSON: Final = {"content-type": "application/json"}


def admission_cpu(options: Options, emit: Emit) -> None:
    """Emit a line for ConfigMaps and one for Pods: microseconds of CPU of a create, and how many are admission's.

    `policy_us` are those that a validating policy with three rules for Pods adds.
    """
    for plural, (create_us, without_us, policy_us) in _measured(options).items():
        fields = {"create_us": round(create_us, 1), "without_us": round(without_us, 1), "errors": 0}
        costs = {"admission_us": round(create_us - without_us, 1), "policy_us": round(policy_us - create_us, 1)}
        emit(f"admission_cpu_{plural}", {**costs, **fields})


Figures = dict[str, list[float]]
"""By kind: microseconds of a create with the default plugins, without, and with a policy beside the plugins."""


def _measured(options: Options) -> Figures:
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    with data_directory() as directory:
        arguments = (theirs, directory, options.n_create, options.kib)
        process = spawning.Process(target=_main, args=arguments, daemon=True)
        process.start()
        theirs.close()
        try:
            found = ours.recv() if ours.poll(LIMIT_S) else "takes too long"
        except EOFError:
            found = "has ended"
        process.kill()
        process.join()
    if isinstance(found, str):
        raise BenchError(f"the servers in a process of their own: {found}")
    figures: Figures = found
    return figures


def _main(pipe: Connection, directory: Path, count: int, kib: int) -> None:
    """Measure, and tell the other end of the pipe: the figures, or what went wrong."""
    from twisted.internet import reactor as installed
    from twisted.internet.defer import Deferred

    from orchtw.testing.in_process import InProcessServer

    reactor: Any = installed
    servers = [
        InProcessServer(reactor, directory / str(number), controllers=("-*",), **settings)
        for number, settings in enumerate(({}, NOTHING, {}))
    ]

    async def work() -> Figures:
        for server in servers:
            await server.start()
            await _make(server, f"{_DEFAULT}/serviceaccounts", {"metadata": {"name": "default"}})
        for ending, body in _policy():
            await _make(servers[-1], f"{_POLICIES}{ending}", body)
        return {plural: await compare(plural) for plural in ("configmaps", "pods")}

    async def compare(plural: str) -> list[float]:
        """Return the best parts of each; they take turns, so that both have the machine as it is."""
        size = max(1, count // PARTS)
        template, best = subjects(kib)[plural].template, [float("inf")] * len(servers)
        bodies = [template.render(numbered("a", number), number) for number in range(size)]
        for part in range(PARTS + 1):
            for which, server in enumerate(servers):
                taken = await create(server, plural, bodies)
                if part:  # the first one warms up
                    best[which] = min(best[which], taken / size * 1e6)
        return best

    async def create(server: Any, plural: str, bodies: list[bytes]) -> float:
        """Return the used seconds of CPU."""
        before = time.thread_time()
        for body in bodies:
            await _make(server, f"{_DEFAULT}/{plural}?dryRun=All", body)
        return time.thread_time() - before

    def begin() -> None:
        done = Deferred.fromCoroutine(work())
        done.addErrback(lambda failure: str(failure.value))
        done.addCallback(pipe.send)

    reactor.callWhenRunning(begin)
    reactor.run()


async def _make(server: Any, path: str, body: Any) -> None:
    """Create an object. Raises BenchError for a refusal."""
    answer = await server.request("POST", path, body, _JSON)
    if answer.code != 201:
        raise BenchError(f"POST {path}: {answer.body!r}")


def _policy() -> list[tuple[str, Any]]:
    """Return the policy and its binding, each with the end of its path."""
    named = {"metadata": {"name": "measured"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    validations = [{"expression": each} for each in _RULES]
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    return [
        ("ies", {**named, "spec": policy}),
        ("ybindings", {**named, "spec": {"policyName": "measured", "validationActions": ["Deny"]}}),
    ]
