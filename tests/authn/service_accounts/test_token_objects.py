"""Listers of the objects that service account tokens depend on."""

from __future__ import annotations

import base64

from orchtw.authn.service_accounts.token_objects import GRACE_S, TokenObjects
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase


class TokenObjectsTests(WorldTestCase):
    """The listers over the caches of a server."""

    def setUp(self) -> None:
        super().setUp()
        self.objects = TokenObjects.of(self.world.targets)

    def create(self, plural: str, obj: Object) -> Object:
        created: Object = self.world.run(self.world.client.create(self.world.resource(plural), "a", obj))
        return created

    def test_versions(self) -> None:
        """A bearer is the same object until its own object changes (reference AUTHN-25)."""
        accounts = self.objects.bearers["serviceaccounts"]
        self.assertIsNone(accounts.get("a", "sa"))
        uid = self.create("serviceaccounts", {"metadata": {"name": "sa"}})["metadata"]["uid"]
        first = accounts.get("a", "sa")
        assert first is not None
        self.assertEqual((first.uid, first.ends), (uid, 0.0))
        self.assertIs(accounts.get("a", "sa"), first)
        self.world.patch("serviceaccounts", "sa", {"labels": {"a": "b"}})
        self.assertIsNot(accounts.get("a", "sa"), first)

    def test_terminating(self) -> None:
        """An object that is being deleted validates its tokens for another 60 s (reference AUTHN-25)."""
        self.create("serviceaccounts", {"metadata": {"name": "sa", "finalizers": ["a.b/c"]}})
        resource = self.world.resource("serviceaccounts")
        self.world.run(self.world.client.delete(resource, "a", "sa"))
        left: Object = self.world.run(self.world.client.get(resource, "a", "sa"))
        found = self.objects.bearers["serviceaccounts"].get("a", "sa")
        assert found is not None
        self.assertEqual(found.ends, parse_time(left["metadata"]["deletionTimestamp"])[0] + GRACE_S)

    def test_in_secrets(self) -> None:
        """The token in a Secret is decoded; a Secret without one holds the empty token (reference AUTHN-26)."""
        self.create("secrets", {"metadata": {"name": "s"}, "data": {"token": base64.b64encode(b"abc").decode()}})
        self.create("secrets", {"metadata": {"name": "empty"}})
        names = ("s", "empty", "missing")
        self.assertEqual([self.objects.in_secrets.get("a", name) for name in names], [b"abc", b"", None])
