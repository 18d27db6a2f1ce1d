"""`python -m bench`: run the scenarios, one JSON line each on standard output."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType

import orjson

from bench.admission import admission
from bench.admission_cpu import admission_cpu
from bench.authentication import authentication, handshake
from bench.authorization import authorization
from bench.custom import GROUP, PLURAL
from bench.definition_soak import definition_soak
from bench.definitions import define, definitions
from bench.endurance import endurance
from bench.fanout import fanout
from bench.faults import faults
from bench.handover import handover
from bench.holdup import holdup
from bench.holdup_custom import holdup_custom
from bench.holdup_restart import holdup_restart
from bench.http1 import JSON, BenchError, Endpoint
from bench.idle import idle
from bench.lists import lists
from bench.machine import Machine
from bench.mixed_soak import mixed_soak
from bench.objects import apply, create, get
from bench.operations import operations
from bench.options import Options, parse
from bench.overload import overload
from bench.resets import resets
from bench.scale import scale
from bench.server import running
from bench.session import Bench, Emit, MediaTypes
from bench.soak import soak
from bench.startup import startup
from bench.tails import tails
from bench.webhooks import webhooks
from bench.writes import writes
from orchtw.naming.naming import Naming

FAMILIES: Mapping[str, Callable[[Bench], None]] = {
    "idle": idle,
    "create": create,
    "get": get,
    "apply": apply,
    "admission": admission,
    "watch": fanout,
    "list": lists,
    "holdup": holdup,
    "holdup-custom": holdup_custom,
    "overload": overload,
    "soak": soak,
    "mixed-soak": mixed_soak,
    "tails": tails,
    "endurance": endurance,
    "authorization": authorization,
    "webhooks": webhooks,
    "writes": writes,
}


STARTING: Mapping[str, Callable[[Options, Emit], None]] = {
    "startup": startup,
    "admission-cpu": admission_cpu,
    "authentication": authentication,
    "handshake": handshake,
    "handover": handover,
    "definitions": definitions,
    "definition-soak": definition_soak,
    "holdup-restart": holdup_restart,
    "faults": faults,
    "scale": scale,
    "operations": operations,
    "resets": resets,
}
"""Scenarios that start servers themselves."""


def main() -> int:
    """Return the exit status: 0, or 1 when something could not be measured or went wrong while it was."""
    options = parse()
    signal.signal(signal.SIGALRM, _give_up)
    signal.signal(signal.SIGTERM, _give_up)
    signal.alarm(options.time_limit)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    errors = 0
    conditions = {
        "server": options.label,
        "kib": options.kib,
        "http2_streams": options.http2_streams,
        "quick": options.quick,
    }
    about = {name: value for name, value in conditions.items() if value}

    def emit(scenario: str, fields: Mapping[str, object]) -> None:
        nonlocal errors
        errors += fields.get("errors") not in (None, 0)
        line = {"scenario": scenario, **about, **fields}
        print(orjson.dumps(line).decode(), flush=True)

    try:
        for family in options.scenarios:
            _measure(family, options, emit)
    except (BenchError, OSError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    return 1 if errors else 0


def _measure(family: str, options: Options, emit: Emit) -> None:
    """Measure one family: on a fresh server for each requested kind, or on the given server."""
    naming = options.naming
    types = MediaTypes(
        protobuf=options.protobuf_type or naming.protobuf_media_type,
        table=f"{JSON};as=Table;v=v1;g={options.meta_group or naming.meta_group}",
    )
    if options.against:
        endpoint, machine = Endpoint.parse(options.against, options.token), Machine(options.pid)
        if family not in STARTING:
            bench = Bench(options, endpoint, machine, emit, types, options.kinds)
            _define(bench, naming)
            FAMILIES[family](bench)
    elif family in STARTING:
        STARTING[family](options, emit)
    else:
        for kinds in [[kind] for kind in options.kinds] or [[]]:
            with running(options.server_flag) as server:
                bench = Bench(options, server.endpoint, Machine(server.pids), emit, types, kinds)
                _define(bench, naming)
                bench.warm_up()
                FAMILIES[family](bench)


def _define(bench: Bench, naming: Naming) -> None:
    """See to it that there is the custom kind, if it is asked for."""
    if PLURAL in bench.kinds:
        define(bench.endpoint, naming, PLURAL, GROUP)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise BenchError(f"given up ({signal.Signals(number).name})")


if __name__ == "__main__":
    sys.exit(main())
