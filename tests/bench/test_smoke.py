"""`python -m bench` as a user runs it, with sizes that measure nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import attrs
import orjson
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase

from bench.server import ROOT, TOKEN, TOKENS
from tests.end_to_end.case import shared_server
from tests.forked import forking

TINY = (
    "--quick", "--seconds=0.1", "--n-create=20", "--pods=120", "--idle=20", "--idle-seconds=0.1",
    "--watchers=1,20", "--watch-seconds=0.2", "--watch-flat=20", "--list-iters=1",
)  # fmt: skip
LIMIT_S = 600  # a busy machine takes its time; this only ends what hangs


@attrs.frozen(slots=True)
class Done:
    """Outcome of a run: its output and exit status."""

    stdout: bytes
    stderr: bytes
    returncode: int


async def bench(*arguments: str, cold: bool = False) -> Done:
    """Run the benchmarks of this checkout in a process that has imported most of them, and forks servers likewise.

    With `cold`, servers start as for a user.
    """
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = (*(() if cold else ("-m", "tests.forking_main")), "-m", "bench", *arguments)
    return Done(*await getProcessOutputAndValue(sys.executable, command, variables, str(ROOT), forking))


class AgainstTests(TestCase):
    """Scenarios on a server that is there already."""

    timeout = LIMIT_S

    async def setUp(self) -> None:  # type: ignore[override]
        tokens = Path("bench-tokens.csv").absolute()  # in trial's folder, the same for all who share the server
        tokens.write_text(TOKENS)
        self.server = await shared_server(self.mktemp(), f"--token-auth-file={tokens}")

    async def bench(self, *arguments: str) -> Done:
        """Run the benchmark against that server."""
        server = (f"--against={self.server.address}", f"--token={TOKEN}", f"--pid={self.server.pid}")
        return await bench(*server, *arguments)

    async def test_soak(self) -> None:
        """The long mix of requests goes through, and says at each quarter what memory it takes."""
        done = await self.bench("--quick", "--scenarios=soak", "--soak-requests=1200")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["requests"] for line in lines], [300, 600, 900, 1200])
        self.assertIn("growth_percent", lines[-1])

    async def test_mixed_soak(self) -> None:
        """The mix of all sorts of writes to three kinds goes through; 140 requests follow the first creates."""
        done = await self.bench("--quick", "--scenarios=mixed-soak", "--soak-requests=840")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["requests"] for line in lines], [210, 420, 630, 840])

    async def test_authorization(self) -> None:
        """Decisions are timed, and every change of a binding counts for the next request (reference AUTHZ-16)."""
        done = await self.bench("--quick", "--scenarios=authorization")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        decision, change = (orjson.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((decision["allowed"], change["wrong"]), (100, 0))

    async def test_custom_kind(self) -> None:
        """Every scenario that loads objects does so with a custom kind too, if asked."""
        done = await self.bench(*TINY, "--scenarios=idle,create,get,apply,watch,list", "--kinds=widgets", "--kib=6")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line for line in lines if line.get("errors", 0)], [])
        found = {line["scenario"] for line in lines}
        self.assertLess({"create_widgets", "get_widget_json", "apply_widgets", "preload_widgets"}, found)
        self.assertEqual({line["kind"] for line in lines if "kind" in line}, {"widgets"})
        self.assertLess({"idle_watchers", "watch_paced", "watch_flat_out", "list_json", "list_table"}, found)
        self.assertEqual([each for each in found if each.startswith("list_pb")], [])

    async def test_admission(self) -> None:
        """The duration of each plugin is measured for each operation, in a namespace with policies too."""
        done = await self.bench("--quick", "--scenarios=admission", "--n-create=20")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = {line["scenario"]: line for line in map(orjson.loads, done.stdout.splitlines())}
        self.assertEqual([line for line in lines.values() if line["errors"] or line["ops"] != 20], [])
        self.assertEqual(len(lines), 18)
        line = lines["admission_create_pods_policies"]
        self.assertGreater(line["whole_us"], line["admit_plugins_us"]["ServiceAccount"])

    async def test_webhooks(self) -> None:
        """Creates through webhooks of each kind."""
        done = await self.bench("--quick", "--scenarios=webhooks", "--n-create=5")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = {line["scenario"]: line for line in map(orjson.loads, done.stdout.splitlines())}
        self.assertEqual([line for line in lines.values() if line["errors"] or line["ops"] != 5], [])
        names = ("none", "allow", "label", "slow")
        self.assertEqual(set(lines), {f"webhooks_{name}_configmaps" for name in names})

    async def test_holdup(self) -> None:
        """The latency probe prints a line for the idle server and one for each chosen case."""
        done = await self.bench("--quick", "--scenarios=holdup", "--cases=put: 1 MiB")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        cases = [(line["case"], line["status"]) for line in lines]
        self.assertEqual(cases, [("idle", 0), ("put: 1 MiB", 200)])
        self.assertTrue(all(line["livez_max_ms"] > 0 and line["polls"] for line in lines))

    async def test_overload(self) -> None:
        """One user's requests are measured alone, beside another's lists and beside its creates."""
        done = await self.bench("--quick", "--scenarios=overload", "--pods=120", "--seconds=0.2", "--greedy=30")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["beside"] for line in lines], ["nothing", "lists", "creates"])
        self.assertTrue(all(line["gets"] and line["p99_ms"] for line in lines))
        self.assertTrue(all(line["greedy"] for line in lines[1:]))


class CommandTests(TestCase):
    timeout = LIMIT_S

    async def test_tails(self) -> None:
        """The longest waits of writers, alone, together and at a fixed rate, and what of the server could be why."""
        done = await bench("--quick", "--scenarios=tails", "--n-create=20", "--tails-conc=1,4", "--tails-rate=400")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        alone, together, paced = (orjson.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((alone["conc"], together["conc"], alone["errors"], together["errors"]), (1, 4, 0, 0))
        self.assertEqual((paced["writes"], paced["deliveries"], paced["errors"]), (400, 400, 0))
        self.assertGreaterEqual(paced["max_ms"], paced["p99_ms"])

    async def test_writes(self) -> None:
        """Every case of updates and creates, of built-in and of custom kinds."""
        done = await bench("--quick", "--scenarios=writes", "--n-create=10", "--conc=2", "--kinds=pods,widgets")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["errors"] for line in lines], [0] * 16)

    async def test_endurance(self) -> None:
        """Watchers whose connections are cut see every write once and in order, and leave no file open."""
        done = await bench("--quick", "--scenarios=endurance", "--endurance-seconds=1")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        line = orjson.loads(done.stdout.splitlines()[-1])
        self.assertEqual((line["errors"], line["files_left"]), (0, 0))
        self.assertGreater(line["deliveries"], 0)
        self.assertGreater(line["resets"], 0)

    async def test_operations(self) -> None:
        """The same lines without and with an audit log."""
        done = await bench("--quick", "--scenarios=operations", "--n-create=5", "--conc=2", "--seconds=0.05")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(line["errors"], line["audit"]) for line in lines], [(0, False)] * 4 + [(0, True)] * 4)

    async def test_resets(self) -> None:
        """The CPU of resets and restores, with watches that expire and that follow, and of those without work."""
        done = await bench("--quick", "--scenarios=resets")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        acts = {f"{act}{case}" for act in ("reset", "restore") for case in ("", "_followed", "_nothing")}
        self.assertEqual({line["scenario"] for line in lines}, acts)
        self.assertTrue(all(line["server_cpu_ms"] > 0 for line in lines), lines)

    async def test_authentication(self) -> None:
        """Every kind of credentials is known at once (reference AUTHN-6)."""
        done = await bench("--quick", "--scenarios=authentication")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        kinds = {"static token", "service account token", "token of a Secret", "client certificate"}
        self.assertEqual({line["credentials"] for line in lines}, kinds)

    async def test_handover(self) -> None:
        """Creates at either of two processes and at both, with what each process spends on them."""
        done = await bench("--quick", "--scenarios=handover", "--n-create=10", "--conc=2", "--kinds=configmaps")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        found = [(line["processes"], line["at"], line["conc"], line["errors"]) for line in lines]
        self.assertEqual(found, [(1, "owner", 2, 0), *((2, at, 2, 0) for at in ("owner", "worker", "both"))])
        self.assertEqual([len(line["cpu_ms_each"]) for line in lines], [1, 2, 2, 2])

    async def test_handshake(self) -> None:
        """Sessions are resumed where that is asked for, with certificates too (reference AUTHN-15)."""
        done = await bench("--quick", "--scenarios=handshake")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(line["errors"], line["connections"]) for line in lines], [(0, 50)] * 6)

    async def test_startup(self) -> None:
        """Starts as a user's are timed, on an empty store and on one that is there."""
        done = await bench("--quick", "--scenarios=startup", cold=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["scenario"] for line in lines], ["startup_fresh_store", "startup_existing_store"])
        self.assertTrue(all(line["ready_ms"] and line["rss_mib"] and line["cpu_s"] for line in lines))

    async def test_all_scenarios(self) -> None:
        """Every scenario prints a JSON line, none has an error, and each has the figure it is there for."""
        done = await bench(*TINY)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line for line in lines if line.get("errors", 0)], [])
        figures = {
            "startup_fresh_store": "ready_ms",
            "startup_existing_store": "rss_mib",
            "idle_watchers": "kib_per_watcher",
            "create_configmaps": "ops_per_s",
            "create_pods": "server_cpu_ms_per_op",
            "get_pod_json": "p50_ms",
            "get_pod_pb": "p99_ms",
            "watch_open": "open_secs",
            "watch_paced": "p99_after_ack_ms",
            "watch_flat_out": "server_cpu_us_per_delivery",
            "preload_pods": "ops_per_s",
            "rss_after_preload": "rss_total_mib",
            "list_json": "secs_per_list",
            "list_json_rv0": "secs_per_list",
            "list_json_gzip": "secs_per_list",
            "list_pb": "secs_per_list",
            "list_pb_rv0": "secs_per_list",
            "list_table": "secs_per_list",
            "list_paged_json": "pages",
            "list_selector_1pct_json": "objects",
            "list_selector_1pct_rv0_json": "objects",
        }
        self.assertEqual({line["scenario"] for line in lines}, set(figures))
        for line in lines:
            self.assertIn(figures[line["scenario"]], line)

    async def test_admission_cpu(self) -> None:
        """The CPU time of admission is measured for each kind."""
        done = await bench("--quick", "--scenarios=admission-cpu", "--n-create=20")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = {line["scenario"]: line for line in map(orjson.loads, done.stdout.splitlines())}
        self.assertEqual(set(lines), {"admission_cpu_configmaps", "admission_cpu_pods"})
        self.assertTrue(all(line["create_us"] > 0 and not line["errors"] for line in lines.values()))

    async def test_definitions(self) -> None:
        """Many definitions: served, installed, discovered, described, used, and there again after a start."""
        done = await bench("--quick", "--scenarios=definitions")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = {line["scenario"]: line for line in map(orjson.loads, done.stdout.splitlines())}
        self.assertEqual([line for line in lines.values() if line.get("errors", 0)], [])
        self.assertGreater(lines["definition_served"]["max_ms"], 0)
        for name in ("installed", "discovery", "openapi_v2", "openapi_v3", "used"):
            self.assertIn("kib_per_definition", lines[f"definitions_{name}"])
        self.assertIn("ready_ms_without", lines["definitions_start"])

    async def test_definition_soak(self) -> None:
        """Definitions that come, change and go: four rounds, in which each change is in force when it is answered."""
        done = await bench("--quick", "--scenarios=definition-soak")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["round"] for line in lines], [0, 1, 2, 3])
        self.assertTrue(all(line["rss_more_mib"] and line["v3_p50_ms"] for line in lines))

    async def test_scale(self) -> None:
        """Stores of several sizes are made, started and asked; the last line says how the costs grew."""
        done = await bench("--scale", "--quick", "--scale-configmaps=0")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        lines = [orjson.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line for line in lines if line.get("errors", 0)], [])
        starts = [(line["kind"], line["objects"]) for line in lines if line["scenario"] == "scale_start"]
        self.assertEqual(starts, [("pods", 100), ("pods", 200)])
        slope = lines[-1]
        self.assertEqual((slope["scenario"], slope["from"], slope["to"]), ("scale_slope", 100, 200))
        questions = {"get", "create", "page", "namespace", "node", "label", "page_exact", "page_continued", "watch"}
        self.assertLess(questions, set(slope))

    async def test_only_loopback(self) -> None:
        """A server elsewhere is not loaded, and not even asked."""
        done = await bench("--against=https://192.0.2.1:6443", "--scenarios=get")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"only https on a loopback address is loaded", done.stderr)
