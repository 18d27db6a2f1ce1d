"""Accounts, their tokens and the published authorities (reference CTRL-19 to CTRL-24)."""
# covers: orchtw.controllers.service_accounts.tokens

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from orchtw.controllers import enabled
from orchtw.controllers.manager import Manager, ManagerSettings
from orchtw.controllers.service_accounts.tokens import TokenController
from orchtw.rules.contests import LIMIT_S
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase, host

ROOT_CA = "-----BEGIN CERTIFICATE-----\n"
TYPE = "orch.io/service-account-token"
NAME, UID = "orch.io/service-account.name", "orch.io/service-account.uid"


def token(account: Object, secret: str) -> str:
    """The token of an account in a Secret."""
    return f"{account['metadata']['uid']} in {secret}"


class AccountCase(ControllerTestCase):
    """Controllers whose tokens say what they are of."""

    generates_secrets = False
    signs = True

    def begin(self) -> None:
        made = host(self.world)
        settings = ManagerSettings(
            enabled=frozenset(self.names),
            legacy_token=token if self.signs else None,
            root_ca_pem=ROOT_CA,
            generates_secrets=self.generates_secrets,
        )
        self.manager = Manager(made, lambda host: enabled(host, settings))
        self.manager.startService()
        self.world.settle()

    def create(self, plural: str, obj: Object, namespace: str = "a") -> Object:
        made: Object = self.world.run(self.world.client.create(self.world.resource(plural), namespace, obj))
        self.world.settle()
        return made

    def delete(self, plural: str, name: str, namespace: str = "a") -> None:
        self.world.run(self.world.client.delete(self.world.resource(plural), namespace, name))
        self.world.settle()

    def patch_object(self, plural: str, name: str, changes: Object, namespace: str = "a") -> None:
        self.world.run(self.world.client.patch(self.world.resource(plural), namespace, name, changes))
        self.world.settle()

    def found(self, plural: str, name: str, namespace: str = "a") -> Any:
        item = self.world.run(self.world.client.find(self.world.resource(plural), namespace, name))
        return None if item is None else item.load()


class DefaultAccountTests(AccountCase):
    names = ("serviceaccount",)

    def test_each_namespace(self) -> None:
        """Each namespace has an account `default`: those there at the start, and new ones (CTRL-19)."""
        self.assertIsNotNone(self.found("serviceaccounts", "default"))
        self.world.namespace("b")
        self.world.settle()
        self.assertIsNotNone(self.found("serviceaccounts", "default", "b"))

    def test_again(self) -> None:
        """It is made again after deletion, as a new one; others are not (CTRL-19)."""
        first = self.found("serviceaccounts", "default")["metadata"]["uid"]
        self.create("serviceaccounts", {"metadata": {"name": "other"}})
        self.delete("serviceaccounts", "default")
        self.delete("serviceaccounts", "other")
        self.assertNotEqual(self.found("serviceaccounts", "default")["metadata"]["uid"], first)
        self.assertIsNone(self.found("serviceaccounts", "other"))

    def test_terminating(self) -> None:
        """A namespace that is being deleted gets no ServiceAccount (CTRL-19)."""
        self.delete("namespaces", "a", "")
        self.delete("serviceaccounts", "default")
        self.assertIsNone(self.found("serviceaccounts", "default"))


class PublisherTests(AccountCase):
    names = ("root-ca-cert-publisher",)
    map = "orch-root-ca.crt"

    def test_each_namespace(self) -> None:
        """The authorities are in each namespace (CTRL-24)."""
        self.world.namespace("b")
        self.world.settle()
        for namespace in "ab":
            made = self.found("configmaps", self.map, namespace)
            self.assertEqual(made["data"], {"ca.crt": ROOT_CA})
            self.assertIn("orch.io/description", made["metadata"]["annotations"])

    def test_put_right(self) -> None:
        """It is made again when deleted, and put right when changed; labels stay (CTRL-24)."""
        self.delete("configmaps", self.map)
        self.assertIsNotNone(self.found("configmaps", self.map))
        changes = {"data": {"ca.crt": "x", "y": "z"}, "metadata": {"labels": {"l": "m"}}}
        self.patch_object("configmaps", self.map, changes)
        made = self.found("configmaps", self.map)
        self.assertEqual((made["data"], made["metadata"]["labels"]), ({"ca.crt": ROOT_CA}, {"l": "m"}))


    def test_contest(self) -> None:
        """Two publishers of other authorities, each undoing what the other has written, do so ever more seldom
        (CTRL-53).
        """
        names = [f"n{number}" for number in range(5)]
        for name in names:
            self.world.namespace(name)
        settings = ManagerSettings(enabled=frozenset(self.names), root_ca_pem="other")
        other = Manager(host(self.world), lambda made: enabled(made, settings))
        other.startService()
        self.addCleanup(lambda: self.world.run(other.stopService()))
        counts = []
        for seconds in (10, 60, 600, 3600):
            before = self.world.store.now
            self.world.settle(seconds, 0.05 if seconds < 100 else 1.0)
            counts.append(self.world.store.now - before)
        objects = len(names) + 5
        self.assertLessEqual(counts[0], 12 * objects)
        self.assertLessEqual(counts[1], 6 * objects)
        self.assertLessEqual(counts[2], 8 * objects)
        self.assertLessEqual(counts[3], 2 * (3600 / LIMIT_S + 1) * objects)
        self.assertGreater(counts[3], objects)


class TokenControllerTests(AccountCase):
    names = (TokenController.name,)

    def account(self, name: str = "sa") -> str:
        uid: str = self.create("serviceaccounts", {"metadata": {"name": name}})["metadata"]["uid"]
        return uid

    def secret(self, name: str = "s", account: str = "sa", **annotations: str) -> Any:
        """A Secret for an account's token, as it is when all has settled."""
        meta = {"name": name, "annotations": {NAME: account, **annotations}}
        self.create("secrets", {"metadata": meta, "type": TYPE})
        return self.found("secrets", name)

    def data(self, secret: Object) -> Object:
        return {key: b64decode(value).decode() for key, value in secret["data"].items()}

    def test_filled(self) -> None:
        """A Secret of the type gets a token, the authorities and its namespace, and the account's uid (CTRL-20)."""
        uid = self.account()
        made = self.secret()
        self.assertEqual(self.data(made), {"ca.crt": ROOT_CA, "namespace": "a", "token": f"{uid} in s"})
        self.assertEqual(made["metadata"]["annotations"], {NAME: "sa", UID: uid})

    def test_put_right(self) -> None:
        """Missing or wrong entries of a token Secret are restored (CTRL-20)."""
        uid = self.account()
        self.secret()
        wrong = b64encode(b"x").decode()
        self.patch_object("secrets", "s", {"data": {"token": None, "namespace": wrong, "more": wrong}})
        expected = {"ca.crt": ROOT_CA, "namespace": "a", "token": f"{uid} in s", "more": "x"}
        self.assertEqual(self.data(self.found("secrets", "s")), expected)

    def test_no_account(self) -> None:
        """A Secret for an account that is not there, or has another uid, is deleted (CTRL-20)."""
        self.assertIsNone(self.secret())
        self.account()
        self.assertIsNone(self.secret(**{UID: "other"}))

    def test_account_deleted(self) -> None:
        """The Secrets of an account go with it, and no others (CTRL-20)."""
        self.account()
        self.account("other")
        self.secret()
        self.secret("t", "other")
        self.create("secrets", {"metadata": {"name": "plain", "annotations": {NAME: "sa"}}})
        self.delete("serviceaccounts", "sa")
        self.assertIsNone(self.found("secrets", "s"))
        self.assertIsNotNone(self.found("secrets", "t"))
        self.assertIsNotNone(self.found("secrets", "plain"))

    def test_secret_deleted(self) -> None:
        """A Secret that is deleted is taken out of its account's list (CTRL-21)."""
        self.account()
        self.secret()
        self.patch_object("serviceaccounts", "sa", {"secrets": [{"name": "s"}, {"name": "t"}]})
        self.delete("secrets", "s")
        self.assertEqual(self.found("serviceaccounts", "sa")["secrets"], [{"name": "t"}])

    def test_none_by_itself(self) -> None:
        """An account gets no Secret unless somebody makes one (CTRL-22)."""
        self.account()
        listing = self.world.run(self.world.client.list(self.world.resource("secrets"), "a"))
        self.assertEqual([*listing.items], [])


class GeneratedSecretTests(AccountCase):
    """With gate LegacyServiceAccountTokenNoAutoGeneration off (CTRL-22)."""

    names = ("serviceaccount-token", "serviceaccount")
    generates_secrets = True

    def secrets(self) -> list[str]:
        return self.world.names("secrets", "a")

    def listed(self, name: str) -> list[str]:
        """The Secrets that an account lists."""
        return [each["name"] for each in self.found("serviceaccounts", name).get("secrets") or ()]

    def test_each_account(self) -> None:
        """Each account gets a Secret with its token, and lists it (CTRL-22)."""
        (default,) = self.listed("default")
        self.create("serviceaccounts", {"metadata": {"name": "sa"}, "secrets": [{"name": "other"}]})
        other, name = self.listed("sa")
        self.assertRegex(name, "^sa-token-[a-z0-9]{5}$")
        self.assertEqual((other, self.secrets()), ("other", sorted((default, name))))
        meta, secret = self.found("serviceaccounts", "sa")["metadata"], self.found("secrets", name)
        self.assertEqual(secret["metadata"]["annotations"], {NAME: "sa", UID: meta["uid"]})
        self.assertEqual(b64decode(secret["data"]["token"]).decode(), f"{meta['uid']} in {name}")
        self.assertEqual(sorted(secret["data"]), ["ca.crt", "namespace", "token"])

    def test_again(self) -> None:
        """One that is deleted is replaced by another; those of an account go with it (CTRL-20 to CTRL-22)."""
        (first,) = self.listed("default")
        self.delete("secrets", first)
        (second,) = self.listed("default")
        self.assertNotEqual(first, second)
        self.assertEqual(self.secrets(), [second])
        self.delete("serviceaccounts", "default")
        (third,) = self.listed("default")
        self.assertEqual(self.secrets(), [third])
        self.assertNotEqual(second, third)

    def test_ending_namespace(self) -> None:
        """A terminating namespace gets no token Secret, and creation is not retried again and again (CTRL-22)."""
        self.patch_object("serviceaccounts", "default", {"metadata": {"finalizers": ["example.com/f"]}})
        (name,) = self.listed("default")
        self.delete("namespaces", "a", "")
        self.delete("secrets", name)
        self.assertEqual(self.listed("default"), [])
        self.assertEqual(self.secrets(), [])
        controller = self.manager.controllers[0]
        self.assertTrue(controller.queue.idle)

    def test_no_second(self) -> None:
        """An account that lists a Secret of its own keeps it, also after a restart."""
        before = self.secrets()
        self.patch_object("serviceaccounts", "default", {"metadata": {"labels": {"a": "b"}}})
        self.restart()
        self.world.settle()
        self.assertEqual(self.secrets(), before)


class UnsignedTests(AccountCase):
    """The gate is off and there is no key (CTRL-22)."""

    names = ("serviceaccount-token", "serviceaccount")
    generates_secrets = True
    signs = False

    def test_none(self) -> None:
        """Without a key no account gets a Secret: its token would be missing."""
        self.assertIsNotNone(self.found("serviceaccounts", "default"))
        self.assertEqual(self.world.names("secrets", "a"), [])
