"""The cleaner of generated tokens that nobody uses (reference CTRL-55)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from orchtw.controllers.service_accounts.legacy_tokens import LegacyTokenCleaner
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase

DAY_S = 24 * 3600
UNUSED_S = 10.0 * DAY_S
USED, INVALID = "orch.io/legacy-token-last-used", "orch.io/legacy-token-invalid-since"
TYPE, OF = "orch.io/service-account-token", "orch.io/service-account.name"


class CleanerTests(ControllerTestCase):
    names = (LegacyTokenCleaner.name,)
    settings = {"legacy_token_unused_s": UNUSED_S}  # noqa: RUF012 - read only

    def setUp(self) -> None:
        super().setUp()
        self.make("serviceaccounts", {"metadata": {"name": "sa"}, "secrets": [{"name": "s"}]})
        self.make("secrets", {"metadata": {"name": "s", "annotations": {OF: "sa"}}, "type": TYPE})
        tracking = "orch-apiserver-legacy-service-account-token-tracking"
        self.make("configmaps", {"metadata": {"name": tracking}, "data": {"since": self.day()}}, "orch-system")

    def make(self, plural: str, obj: Object, namespace: str = "a") -> None:
        self.world.run(self.world.client.create(self.world.resource(plural), namespace, obj))

    def day(self, before: int = 0) -> str:
        return f"{datetime.fromtimestamp(self.world.now(), UTC) - timedelta(days=before):%Y-%m-%d}"

    def label(self, **labels: str | None) -> None:
        named = {{"used": USED, "invalid": INVALID}[key]: text for key, text in labels.items()}
        self.world.patch("secrets", "s", {"labels": named})

    def wait(self, days: int) -> None:
        for _ in range(days):
            self.world.settle(DAY_S, 3600.0)

    def labels(self) -> Any:
        found = self.world.get("secrets", "s")
        return None if found is None else found["metadata"].get("labels") or {}

    def test_unused(self) -> None:
        """A token that is not used for the period is marked invalid, and deleted a period later (CTRL-55)."""
        self.wait(9)
        self.assertEqual(self.labels(), {})
        self.wait(4)
        self.assertIn(INVALID, self.labels())
        self.wait(6)
        self.assertIsNotNone(self.labels())
        self.wait(7)
        self.assertIsNone(self.labels())

    def test_used(self) -> None:
        """A use in the period keeps the token, and one that cannot be read does too (CTRL-55)."""
        self.wait(9)
        self.label(used=self.day())
        self.wait(8)
        self.assertNotIn(INVALID, self.labels())
        self.label(used="once")
        self.wait(15)
        self.assertNotIn(INVALID, self.labels())
        self.label(used=self.day(30))
        self.wait(2)
        self.assertIn(INVALID, self.labels())

    def test_not_tracked(self) -> None:
        """Without the date since which uses are tracked, or with a recent one, nothing is done (CTRL-55)."""
        maps = self.world.resource("configmaps")
        name = "orch-apiserver-legacy-service-account-token-tracking"
        self.wait(5)
        self.world.run(self.world.client.patch(maps, "orch-system", name, {"data": {"since": self.day()}}))
        self.wait(9)
        self.assertEqual(self.labels(), {})
        self.world.run(self.world.client.delete(maps, "orch-system", name))
        self.wait(20)
        self.assertEqual(self.labels(), {})

    def test_of_users(self) -> None:
        """Secrets that their account does not list are their users' own (CTRL-55)."""
        accounts = self.world.resource("serviceaccounts")
        self.world.run(self.world.client.patch(accounts, "a", "sa", {"secrets": []}))
        self.wait(15)
        self.assertEqual(self.labels(), {})
        self.world.run(self.world.client.delete(accounts, "a", "sa"))
        self.wait(5)
        self.assertEqual(self.labels(), {})

    def test_mounted(self) -> None:
        """A Secret that a pod refers to stays (CTRL-55)."""
        volume = {"name": "v", "secret": {"secretName": "s"}}
        spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
        self.make("pods", {"metadata": {"name": "p"}, "spec": spec})
        self.wait(15)
        self.assertEqual(self.labels(), {})
