"""CPU and memory of a steady load by interval, from the lines of `orch-load --json`.

`python -m bench.steady load.jsonl` writes the drawings of docs/performance.md and prints the rows of its table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.figures import FOLDER
from bench.plots import Plot, drawing

STEADY = FOLDER / "steady"

Line = Mapping[str, Any]


def intervals(lines: Sequence[Line]) -> list[Line]:
    """Return the intervals in which the server's use is known."""
    return [each for each in lines if each["period"] == "interval" and "server" in each]


def drawings(lines: Sequence[Line]) -> dict[str, str]:
    """Return the drawings of CPU and memory by the names of their files."""
    servers = [(f"{each['at_s']:.0f} s", each["server"]) for each in intervals(lines)]
    cpu = [(label, [round(used["cpus"] * 100)]) for label, used in servers]
    memory = [(label, [round(used["resident_mib"])]) for label, used in servers]
    return {
        "cpu.svg": drawing(Plot("CPU in steady state", "% of one CPU", ("server",), cpu)),
        "memory.svg": drawing(Plot("Resident memory in steady state", "MiB", ("server",), memory)),
    }


def table(lines: Sequence[Line]) -> str:
    """Return the rows of the page's table: requests, events and use of each interval."""
    rows = []
    for each in intervals(lines):
        requests = sum(operation["per_s"] for operation in each["operations"].values())
        events, server = each["events"], each["server"]
        rows.append(
            f"| {each['at_s']:.0f} s | {requests:,.0f}/s | {events['per_s']:,.0f}/s | {events['p99_ms']:,.0f} ms | "
            f"{server['cpus'] * 100:.0f} % | {server['resident_mib']:,.0f} MiB |"
        )
    return "\n".join(rows)


def main() -> None:
    """Write the drawings, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.steady", description="Draw the load of a cluster.")
    parser.add_argument("file", type=argparse.FileType("r"), help="the output of orch-load --json")
    lines = [json.loads(line) for line in parser.parse_args().file]
    for name, text in drawings(lines).items():
        (STEADY / name).write_text(text)
    print(table(lines))


if __name__ == "__main__":
    main()
