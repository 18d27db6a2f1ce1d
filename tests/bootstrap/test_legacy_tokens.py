"""The tracking of tokens in Secrets: its ConfigMap and the labels of Secrets (reference AUTHN-65)."""

from __future__ import annotations

from typing import Any

from orchtw.authn.service_accounts.legacy_uses import TokenUse
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.legacy_tokens import LegacyTokenTracking, day
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase

NAME = "orch-apiserver-legacy-service-account-token-tracking"
USED = "orch.io/legacy-token-last-used"


class TrackingTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        world = self.world
        self.ensurer = Ensurer(targets=world.targets, writes=world.registry.writes, naming=world.naming)

    def look(self, tracking: LegacyTokenTracking | None = None) -> None:
        self.world.run((tracking or LegacyTokenTracking(self.ensurer, on=True)).look())

    def data(self) -> Any:
        found = self.world.get("configmaps", NAME, "orch-system")
        return None if found is None else found.get("data")

    def put(self, data: dict[str, str]) -> None:
        maps = self.world.resource("configmaps")
        self.world.run(self.world.client.patch(maps, "orch-system", NAME, {"data": data}))

    def test_since(self) -> None:
        """The ConfigMap has the day on which tracking began; an invalid date is replaced (AUTHN-65)."""
        self.look()
        self.assertEqual(self.data(), {"since": "2023-11-14"})
        self.put({"since": "2022-01-31", "more": "kept"})
        self.look()
        self.assertEqual(self.data(), {"since": "2022-01-31", "more": "kept"})
        self.put({"since": "yesterday"})
        self.look()
        self.assertEqual(self.data(), {"since": "2023-11-14", "more": "kept"})

    def test_off(self) -> None:
        """A server that does not track removes the date once, and does not look for it again (AUTHN-65)."""
        self.look()
        off = LegacyTokenTracking(self.ensurer, on=False)
        self.look(off)
        self.assertIsNone(self.data())
        self.look()
        self.look(off)
        self.assertIsNotNone(self.data())

    def test_mark(self) -> None:
        """A use is written to its Secret, unless that is gone or another one of its name (AUTHN-65)."""
        secrets = self.world.resource("secrets")
        made: Object = self.world.run(
            self.world.client.create(secrets, "a", {"metadata": {"name": "s", "labels": {"z": "1"}}})
        )
        tracking, uid = LegacyTokenTracking(self.ensurer, on=True), made["metadata"]["uid"]
        self.world.run(tracking.mark(TokenUse("a", "s", "other", "2023-11-14")))
        self.world.run(tracking.mark(TokenUse("a", "gone", uid, "2023-11-14")))
        self.assertEqual((self.world.get("secrets", "s") or {})["metadata"]["labels"], {"z": "1"})
        self.world.run(tracking.mark(TokenUse("a", "s", uid, "2023-11-14")))
        labels = (self.world.get("secrets", "s") or {})["metadata"]["labels"]
        self.assertEqual(labels, {USED: "2023-11-14", "z": "1"})

    def test_dates(self) -> None:
        """A date has four, two and two digits (reference AUTHN-65)."""
        cases = {"2024-02-29": True, "2023-02-29": False, "2023-1-1": False, "": False, "x": False}
        self.assertEqual({text: day(text) is not None for text in cases}, cases)
