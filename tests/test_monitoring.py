"""The dashboard and the alert rules in `docs/monitoring` against the server's metrics (reference METRIC-9)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase

from orchtw.assembly.membership import ServerKeys
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.server import Server
from orchtw.storage.encryption.metrics import SealingMetrics
from tests.client.world import MemoryStore

PLACE, KEYS = ServerPlace("127.0.0.1", 1), ServerKeys(secret=b"s" * 32)

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "monitoring"
PROMTOOL = shutil.which("promtool")
# Of Prometheus itself.
OTHERS = frozenset({"up"})
_NAMES = re.compile(r"([a-z_]\w*)(?=\{)")
_STORE = {"orchtw_store_queued_writes", "orchtw_store_log_bytes"} | {
    f"orchtw_store_{what}_bucket" for what in ("commit_seconds", "checkpoint_seconds", "batch_writes")
}


def rules() -> list[Any]:
    """Return the alert rules of all groups."""
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> Iterator[str]:
    """Yield the queries of the dashboard's panels, with values for its variables."""
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


def shown() -> frozenset[str]:
    """The names of a whole server's metrics; its store is not SQLite, whose names are added."""
    clock: Any = MemoryReactorClock()
    instance = Server(
        Config(), Naming.orch(), clock, store=MemoryStore(clock), place=PLACE, keys=KEYS
    )
    instance.metrics.show_listener(Mock())
    registry = instance.metrics.registry
    for family in SealingMetrics().families():
        registry.add(family)
    return registry.names() | _STORE | OTHERS


class MonitoringTests(TestCase):
    """Alert rules and dashboard in `docs/monitoring`."""

    def test_names(self) -> None:
        """Every name that a panel or a rule asks for is shown by the server."""
        names = shown()
        asked = [*queries(), *(rule["expr"] for rule in rules())]
        self.assertGreater(len(asked), 40)
        for query in asked:
            found = _NAMES.findall(query)
            self.assertTrue(found, query)
            self.assertEqual(set(found) - names, set(), query)

    def test_rules(self) -> None:
        """Each alert has a severity, a description, and a place to look."""
        for rule in rules():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"), rule["alert"])
            self.assertLessEqual({"summary", "description"}, set(rule["annotations"]), rule["alert"])
        names = [rule["alert"] for rule in rules()]
        self.assertEqual(len(names), len(set(names)))

    def test_dashboard(self) -> None:
        """Panels have ids of their own and do not overlap."""
        panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    async def check(self, path: Path) -> None:
        assert PROMTOOL is not None
        checking: Deferred[tuple[bytes, bytes, int]] = getProcessOutputAndValue(
            PROMTOOL, ["check", "rules", str(path)]
        )
        out, err, code = await checking
        self.assertEqual(code, 0, out + err)

    async def test_promtool_rules(self) -> None:
        """Prometheus takes the rules."""
        await self.check(FOLDER / "alerts.yaml")

    async def test_promtool_queries(self) -> None:
        """Prometheus accepts the panels' queries."""
        path = Path(self.mktemp())
        recorded = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries())]
        path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
        await self.check(path)

    if PROMTOOL is None:
        test_promtool_rules.skip = test_promtool_queries.skip = (  # type: ignore[attr-defined]
            "promtool is not on the PATH (Debian package prometheus): not run"
        )
