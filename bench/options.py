"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from orchtw.naming.naming import Naming

SCENARIOS = ("startup", "idle", "create", "get", "watch", "list")
ON_DEMAND = (
    *(
        "admission",
        "admission-cpu",
        "apply",
        "authentication",
        "authorization",
        "definition-soak",
        "definitions",
        "endurance",
        "faults",
        "handover",
        "handshake",
    ),
    *("holdup", "holdup-custom", "holdup-restart", "operations", "overload", "resets", "scale", "soak", "tails"),
    *("mixed-soak", "webhooks", "writes"),
)
FORMATS = ("json", "pb")
KINDS = ("configmaps", "pods", "widgets")
SCALE_LIMIT_S = 4 * 3600
MAX_KIB = 12  # a request stays within one TLS record

QUICK = {
    "conc": (1, 8),
    "n_create": 100,
    "seconds": 0.3,
    "pods": 200,
    "limit": 50,
    "watchers": (1, 50),
    "watch_rates": (50, 20),
    "watch_seconds": 0.5,
    "watch_flat": (100, 50),
    "idle": 100,
    "idle_seconds": 0.5,
    "definitions": 6,
    "rest_seconds": 0.1,
    "bindings": 200,
    "handshakes": 50,
    "soak_requests": 4000,
    "tails_seconds": 1.0,
    "tails_rate": 50,
    "tails_watchers": 50,
    "endurance_seconds": 3,
    "endurance_watchers": 40,
    "endurance_collections": 4,
    "fault_seconds": 1.0,
    "fault_watchers": 20,
    "fault_rate": 50.0,
    "greedy": 100,
    "starts": 1,
    "repeats": 1,
    "scale_pods": (100, 200),
    "scale_configmaps": (200,),
    "scale_times": 2,
}


class Options(argparse.Namespace):
    """Choice of scenarios, and how much each measures."""

    scenarios: tuple[str, ...]
    conc: tuple[int, ...]
    n_create: int
    seconds: float
    pods: int
    kinds: tuple[str, ...]
    kib: int
    list_iters: int
    limit: int
    watchers: tuple[int, ...]
    watch_rates: tuple[int, ...]
    watch_seconds: float
    watch_flat: tuple[int, ...]
    watch_writers: int
    watch_formats: tuple[str, ...]
    watch_processes: int
    receive: str
    http2_streams: int
    idle: int
    idle_seconds: float
    definitions: int
    rest_seconds: float
    bindings: int
    handshakes: int
    soak_requests: int
    tails_conc: tuple[int, ...]
    tails_seconds: float
    tails_rate: int
    tails_watchers: int
    endurance_seconds: int
    endurance_watchers: int
    endurance_collections: int
    fault_seconds: float
    fault_watchers: int
    fault_rate: float
    greedy: int
    starts: int
    cases: tuple[str, ...]
    repeats: int
    scale: bool
    scale_pods: tuple[int, ...]
    scale_configmaps: tuple[int, ...]
    scale_times: int
    quick: bool
    quiet: float
    label: str
    time_limit: int
    server_flag: list[str]
    meta_group: str
    against: str
    token: str
    pid: tuple[int, ...]
    protobuf_type: str

    @property
    def naming(self) -> Naming:
        """Return the vocabulary of the server under measurement."""
        known = (Naming.orch(), Naming.kubernetes())
        return next(each for each in known if self.meta_group in ("", each.meta_group))

    def wants(self, case: str) -> bool:
        """Report whether `--cases` has a word of a case's name, or no words at all."""
        return not self.cases or any(word in case for word in self.cases)


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Return the options of a command line; SystemExit (2) with a message if it is wrong."""
    parser = _parser()
    if parser.parse_known_args(arguments)[0].quick:
        parser.set_defaults(**QUICK)
    if parser.parse_known_args(arguments)[0].scale:
        parser.set_defaults(scenarios=("scale",), time_limit=SCALE_LIMIT_S)
    options = parser.parse_args(arguments, Options())
    if options.http2_streams:
        options.server_flag = [*options.server_flag, f"--http2-max-streams-per-connection={options.http2_streams}"]
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m bench",
        description="Loads the server over TLS and prints one JSON line for each scenario.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for group in (_loads, _watches, _named, _surroundings):
        group(parser.add_argument)
    return parser


def _loads(add: Callable[..., object]) -> None:
    """Chosen scenarios, and the amounts that the usual ones send and read."""
    add(
        "--scenarios",
        type=_words((*SCENARIOS, *ON_DEMAND)),
        default=SCENARIOS,
        help=f"scenarios to run, in this order; also {', '.join(ON_DEMAND)}, which are not among the default ones",
    )
    add("--quick", action="store_true", help="small sizes, to try the scenarios without measuring")
    add("--conc", type=_numbers, default=(1, 16, 64), help="connections in create and get")
    add("--n-create", type=_positive, default=1000, help="objects of each kind per concurrency in create")
    add("--seconds", type=_seconds, default=2.0, help="duration of each step of get")
    add(
        "--kinds",
        type=_words(KINDS),
        default=(),
        help=f"kinds, of {', '.join(KINDS)}, that idle to list load, in turn (default: ConfigMaps or Pods)",
    )
    add("--pods", type=_positive, default=10_000, help="Pods to preload for list")
    add(
        "--kib",
        type=_kib,
        default=0,
        help="fill objects up to this size as sent (0: 1 KB, Pods 2.3 KiB, widgets 6 KiB)",
    )
    add("--list-iters", type=_positive, default=5, help="repetitions of each list")
    add("--limit", type=_positive, default=500, help="page size of the paged list")


def _watches(add: Callable[..., object]) -> None:
    """Watchers, busy and idle."""
    add("--watchers", type=_numbers, default=(1, 100, 1000), help="numbers of watchers to measure")
    add("--watch-rates", type=_numbers, default=(50, 20, 5), help="paced writes a second, per number of watchers")
    add("--watch-seconds", type=_seconds, default=5.0, help="duration of the paced writes")
    add("--watch-flat", type=_numbers, default=(2000, 1000, 200), help="flat-out writes, per number of watchers")
    add("--watch-writers", type=_positive, default=8, help="concurrent writers, flat out")
    add("--watch-formats", type=_words(FORMATS), default=FORMATS, help="encodings of the watches: json, pb")
    add("--watch-processes", type=_positive, default=1, help="processes that read the watches")
    add("--receive", choices=("all", "raw"), default="all", help="raw: most HTTP/1.1 watches are not read")
    add("--http2-streams", type=_positive, default=0, help="watches that share an HTTP/2 connection; 0: HTTP/1.1")
    add("--idle", type=_positive, default=1000, help="idle watchers to open")
    add("--idle-seconds", type=_seconds, default=5.0, help="duration of the idle phase")


def _named(add: Callable[..., object]) -> None:
    """Scenarios that are only run when they are named."""
    add("--definitions", type=_positive, default=500, help="definitions to create in definitions and definition-soak")
    add(
        "--rest-seconds",
        type=_seconds,
        default=3.0,
        help="rest before the memory of many definitions is read; longest rest after webhooks change",
    )
    add("--bindings", type=_positive, default=2000, help="role bindings of the scenario authorization")
    add("--handshakes", type=_positive, default=1000, help="connections of each kind in handshake")
    add("--soak-requests", type=_positive, default=100_000, help="requests of soak and mixed-soak")
    add("--tails-conc", type=_numbers, default=(1, 64), help="connections of the closed loops of tails")
    add("--tails-seconds", type=_seconds, default=60.0, help="duration of the paced writes of tails")
    add("--tails-rate", type=_positive, default=500, help="paced writes a second of tails")
    add("--tails-watchers", type=_positive, default=1000, help="watchers beside the paced writes of tails")
    add("--endurance-seconds", type=_positive, default=3600, help="duration of the scenario endurance")
    add("--endurance-watchers", type=_positive, default=1000, help="watchers of endurance, in total")
    add(
        "--endurance-collections",
        type=_positive,
        default=20,
        help="collections over which the watchers of endurance are spread",
    )
    add("--fault-seconds", type=_seconds, default=8.0, help="duration of each fault, and of the calm after it")
    add("--fault-watchers", type=_positive, default=500, help="watchers of the scenario faults, at both servers")
    add("--fault-rate", type=float, default=60.0, help="writes a second of the 16 writers of faults together")
    add("--greedy", type=_positive, default=2000, help="connections of the greedy user in the scenario overload")
    add("--starts", type=_positive, default=5, help="starts of each kind, of which the median is printed")
    add("--cases", type=_texts, default=(), help="of holdup and writes: only those with such a word in the name")
    add(
        "--repeats",
        type=_positive,
        default=3,
        help="repetitions of each case of holdup, of which the best is printed",
    )
    add("--scale", action="store_true", help="run --scenarios scale with a longer time limit")
    add("--scale-pods", type=_sizes, default=(1000, 10_000, 100_000), help="numbers of Pods; 0: none")
    add("--scale-configmaps", type=_sizes, default=(10_000, 100_000), help="numbers of ConfigMaps; 0: none")
    add(
        "--scale-times",
        type=_positive,
        default=15,
        help="repetitions of each request of scale, of which the median is printed",
    )


def _surroundings(add: Callable[..., object]) -> None:
    """Add the options of the server, the machine and the output."""
    add(
        "--quiet",
        type=float,
        default=0.0,
        help="before each step, wait until others use less of the CPUs",
    )
    add("--label", default="", help="value of the field 'server'")
    add("--time-limit", type=_positive, default=1800, help="seconds after which the run is aborted")
    add(
        "--server-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="additional flag for the server; repeatable",
    )
    add("--against", default="", metavar="URL", help="URL of a running server to measure instead of starting one")
    add("--token", default="", help="bearer token for --against")
    add("--pid", type=_numbers, default=(), help="process ids of the server of --against, for CPU and memory")
    add("--protobuf-type", default="", help="its Protobuf media type (default: this server's)")
    add("--meta-group", default="", help="its API group of Table (default: this server's)")


def _texts(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be one or more")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 600:
        raise argparse.ArgumentTypeError("must be above 0, 600 at most")
    return value


def _kib(text: str) -> int:
    value = int(text)
    if not 0 <= value <= MAX_KIB:
        raise argparse.ArgumentTypeError(f"must be 0 to {MAX_KIB}")
    return value


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_positive(each) for each in text.split(","))


def _sizes(text: str) -> tuple[int, ...]:
    return () if text == "0" else _numbers(text)


class _words:
    """A comma-separated choice of known words."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def __call__(self, text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        for word in words:
            if word not in self._known:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(self._known)}")
        return words
