"""Lookup of bootstrap tokens (reference AUTHN-20 to AUTHN-22)."""

from __future__ import annotations

from typing import Any

from orchtw.authn.bootstrap_tokens import from_flags
from orchtw.config import Config
from orchtw.errors import Unauthorized
from orchtw.request import UserInfo
from tests.authn.hosts import a_host
from tests.client.world import WorldTestCase
from tests.rules.test_bootstrap_tokens import token_secret

TOKEN = "abcdef.0123456789abcdef"


class LookupTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.secrets = self.world.resource("secrets")
        self.namespace = self.world.naming.system_namespace
        host = a_host(targets=self.world.targets, seconds=self.world.now, naming=self.world.naming)
        self.method: Any = from_flags(host, Config.of(enable_bootstrap_token_auth=True).authn)

    def create(self, **more: Any) -> None:
        secret = {**token_secret(), **more}
        self.world.run(self.world.client.create(self.secrets, self.namespace, secret))

    def test_off(self) -> None:
        """It is off unless the flag is given (reference AUTHN-22)."""
        self.assertIsNone(from_flags(a_host(), Config().authn))

    def test_user(self) -> None:
        """The user's name and groups mark a joining node; there is no UID (reference AUTHN-22)."""
        self.create()
        user = UserInfo(name="system:bootstrap:abcdef", groups=("system:bootstrappers", "system:authenticated"))
        self.assertEqual(self.method.find(TOKEN), user)

    def test_other_tokens(self) -> None:
        """A token of another form is left to others; one without a Secret is refused (reference AUTHN-21)."""
        self.assertIsNone(self.method.find("t"))
        self.assertIsNone(self.method.find("x" * (1 << 20)))
        self.assertRaises(Unauthorized, self.method.find, TOKEN)

    def test_other_type(self) -> None:
        """A Secret of another type holds no token."""
        self.create(type="Opaque")
        self.assertRaises(Unauthorized, self.method.find, TOKEN)

    def test_wrong_secret(self) -> None:
        """A token with a known ID and a wrong secret is refused; the reason names nothing else."""
        self.create()
        refusal = self.assertRaises(Unauthorized, self.method.find, "abcdef.aaaaaaaaaaaaaaaa")
        self.assertEqual(refusal.why, "bootstrap token abcdef: the secret does not match")

    def test_deleted(self) -> None:
        """A token ends with its Secret, at once."""
        self.create()
        self.method.find(TOKEN)
        self.world.run(self.world.client.delete(self.secrets, self.namespace, "bootstrap-token-abcdef"))
        self.assertRaises(Unauthorized, self.method.find, TOKEN)
