"""`python -m tests.fuzz --requests N [--seed S] [--store T] [--vocabulary V] [--gates G] [--flag=F]`.

The exit status is 1 for any finding.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from bench.http1 import JSON, Connection
from bench.server import Server, data_directory
from tests.fuzz import findings, gates, words
from tests.fuzz.audit import Auditor, Log
from tests.fuzz.case import Case
from tests.fuzz.cases import Cases
from tests.fuzz.findings import Finding
from tests.fuzz.run import Run, Totals, difference
from tests.fuzz.stores import STORES, flags_of
from tests.fuzz.surface import Surface
from tests.vocabularies import VOCABULARIES

START_LIMIT_S = 180.0
"""For a busy machine; a free one needs two seconds."""


def main(arguments: Sequence[str]) -> int:
    """Fuzz; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=sys.modules["tests.fuzz"].__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="how many to send, over all vocabularies")
    parser.add_argument("--seed", default="1", help="any text; the same one sends the same requests")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, help="only this one")
    parser.add_argument("--store", choices=STORES, default=STORES[0], help="what the server keeps its objects in")
    parser.add_argument("--gates", choices=gates.STATES, default=gates.STATES[0], help="state of every feature gate")
    parser.add_argument("--flag", action="append", default=[], help="a further flag of the server; may be repeated")
    parser.add_argument("--keep", action="store_true", help="write findings to tests/fuzz/kept")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the server goes along
    vocabularies = (options.vocabulary,) if options.vocabulary else VOCABULARIES
    flags = (*gates.flags_of(options.gates), *options.flag)
    found = 0
    for vocabulary in vocabularies:
        for finding in fuzz(vocabulary, options.store, options.seed, options.requests // len(vocabularies), flags):
            found += 1
            if options.keep and finding.case != Case():
                print(f"kept in {findings.keep(finding, vocabulary)}")
    return 1 if found else 0


def fuzz(vocabulary: str, store: str, seed: str, requests: int, more: Sequence[str] = ()) -> list[Finding]:
    """Run against a fresh server with `more` flags, then against the same one started again; what was found."""
    surface = Surface(vocabulary)
    with data_directory() as directory, flags_of(store, directory) as of_store:
        flags = (f"--vocabulary={vocabulary}", "--runtime-config=api/all=true", *of_store, *more)
        log = Log(directory / "server.log")
        server = Server(directory, flags, START_LIMIT_S)
        try:
            _prepare(server)
            began, before = time.monotonic(), _resident_mib(server)
            cases = Cases(surface, seed, findings.kept(vocabulary))
            run = Run(server.endpoint, surface, cases, log, requests)
            run.run()
            _report(f"{vocabulary} on {store}", run, time.monotonic() - began, (before, _resident_mib(server)))
            stored = Auditor(server.endpoint, surface).everything()
        finally:
            server.stop()
        found = [*run.findings.values()]
        restarted = Server(directory, flags, START_LIMIT_S)
        try:
            found += _changed(stored, Auditor(restarted.endpoint, surface).everything())
        finally:
            restarted.stop()
    return found


def _prepare(server: Server) -> None:
    """The namespaces that requests go to."""
    connection = Connection(server.endpoint)
    for name in words.NAMESPACES:
        body = orjson.dumps({"metadata": {"name": name}})
        connection.call(server.endpoint.request("POST", "/api/v1/namespaces", JSON, JSON, body))
    connection.close()


def _changed(before: dict[str, list[dict[str, object]]], after: dict[str, list[dict[str, object]]]) -> list[Finding]:
    """Collections that are not as they were before the restart, but for what controllers went on to do."""
    found = []
    for path, items in before.items():
        now = {_version(item): item for item in after.get(path, [])}
        wrong = [item for item in items if _version(item) in now and now[_version(item)] != item]
        if path not in after or wrong:
            how = difference(wrong[0], now[_version(wrong[0])], "") if wrong else "not there"
            what = f"{path} has changed over a restart: {how}: {str(wrong[:1])[:1000]}"
            found.append(Finding(what, path, "", Case()))
            print(found[-1].text())
    return found


def _version(item: dict[str, object]) -> object:
    meta = item["metadata"]
    assert isinstance(meta, dict)
    return meta["resourceVersion"]


def _report(where: str, run: Run, took_s: float, resident: tuple[float, float]) -> None:
    totals: Totals = run.totals
    codes = " ".join(f"{code or 'none'}:{count}" for code, count in sorted(totals.codes.items()))
    print(
        f"{where}: {totals.sent} requests in {took_s:.0f} s ({totals.sent / took_s:.0f}/s), "
        f"{totals.stored} objects stored and read back, longest {totals.longest_s * 1000:.0f} ms, "
        f"resident {resident[0]:.0f} to {resident[1]:.0f} MiB, {len(run.findings)} found; {codes}",
        flush=True,
    )


def _resident_mib(server: Server) -> float:
    """Return the memory of all processes of a server."""
    found = 0
    for pid in server.pids:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        found += sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return found / 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
