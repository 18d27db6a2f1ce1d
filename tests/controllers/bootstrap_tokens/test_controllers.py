"""The token cleaner and the bootstrap signer (reference AUTHN-45, AUTHN-46)."""
# covers: orchtw.controllers.bootstrap_tokens.signer

from __future__ import annotations

from typing import Any

from orchtw.controllers.bootstrap_tokens import signer
from orchtw.rules.detached_signature import detached_signature
from orchtw.values.times import time_text
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase
from tests.rules.test_bootstrap_tokens import token_secret

CONTENT = "apiVersion: v1\nkind: Config\n"


class BootstrapCase(ControllerTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.system = self.world.naming.system_namespace
        self.public = self.world.naming.public_namespace
        self.secrets = self.world.resource("secrets")

    def after(self, seconds: float) -> str:
        """That time from now, as Secrets have it."""
        return str(time_text(int(self.world.now() + seconds)))

    def token(self, token_id: str = "abcdef", namespace: str = "", **values: Any) -> Object:
        """Create a token's Secret and return it."""
        secret = token_secret(token_id=token_id, **values)
        made = self.world.run(self.world.client.create(self.secrets, namespace or self.system, secret))
        self.world.settle()
        return made


class CleanerTests(BootstrapCase):
    names = ("tokencleaner",)

    def secrets_left(self, namespace: str = "") -> list[str]:
        """Return the names of the existing objects."""
        return self.world.names("secrets", namespace or self.system)

    def test_in_time(self) -> None:
        """A token is deleted when it expires, not before; one without an expiry stays (CTRL-26)."""
        self.token("aaaaaa", expiration=self.after(60))
        self.token("bbbbbb")
        self.world.settle(55, 1)
        self.assertEqual(self.secrets_left(), ["bootstrap-token-aaaaaa", "bootstrap-token-bbbbbb"])
        self.world.settle(10, 1)
        self.assertEqual(self.secrets_left(), ["bootstrap-token-bbbbbb"])

    def test_at_once(self) -> None:
        """A token that has expired, or whose expiry cannot be parsed, is deleted at once."""
        self.token("aaaaaa", expiration=self.after(-60))
        self.token("bbbbbb", expiration="tomorrow")
        self.assertEqual(self.secrets_left(), [])

    def test_longer(self) -> None:
        """An expiration that is put off counts."""
        made = self.token(expiration=self.after(60))
        data = token_secret(expiration=self.after(600))["data"]
        later = {**made, "data": data}
        self.world.run(self.world.client.update(self.secrets, self.system, made["metadata"]["name"], later))
        self.world.settle(120, 5)
        self.assertEqual(len(self.secrets_left()), 1)
        self.world.settle(600, 10)
        self.assertEqual(self.secrets_left(), [])

    def test_not_its_own(self) -> None:
        """Secrets of other types and namespaces stay."""
        other = {**token_secret("other", expiration=self.after(-60)), "type": "Opaque"}
        self.world.run(self.world.client.create(self.secrets, self.system, other))
        self.token(namespace="a", expiration=self.after(-60))
        self.world.settle(60, 5)
        self.assertEqual((self.secrets_left(), len(self.secrets_left("a"))), (["other"], 1))


class SignerTests(BootstrapCase):
    names = ("bootstrapsigner",)

    def info(self, **data: str) -> None:
        """Create the ConfigMap cluster-info."""
        obj = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": CONTENT, **data}}
        self.world.run(self.world.client.create(self.world.resource("configmaps"), self.public, obj))
        self.world.settle()

    def signatures(self) -> dict[str, str]:
        """Return the ConfigMap's entries other than its kubeconfig."""
        found = self.world.get("configmaps", "cluster-info", self.public)
        assert found is not None
        return {name: text for name, text in found["data"].items() if name != "kubeconfig"}

    def signature(self, token_id: str, content: str = CONTENT) -> str:
        return detached_signature(content, token_id, f"{token_id}.0123456789abcdef")

    def test_signs(self) -> None:
        """A signature for each token that signs, with the whole token as key, whichever comes first (CTRL-25)."""
        self.token("aaaaaa")
        self.info()
        self.token("bbbbbb")
        self.token("cccccc", usage_bootstrap_signing=None)
        wanted = {f"jws-kubeconfig-{each}": self.signature(each) for each in ("aaaaaa", "bbbbbb")}
        self.assertEqual(self.signatures(), wanted)

    def test_any_secret(self) -> None:
        """A secret that could not authenticate signs all the same (reference AUTHN-45)."""
        self.token("dddddd", token_secret="tokenSecret")
        self.info()
        signature = detached_signature(CONTENT, "dddddd", "dddddd.tokenSecret")
        self.assertEqual(self.signatures(), {"jws-kubeconfig-dddddd": signature})

    def test_slices(self) -> None:
        """Much content for many tokens is signed with pauses; what has changed meanwhile is signed anew."""
        self.patch(signer, "SLICE", 10)
        for letter in "abcdefgh":
            self.token(letter * 6)
        self.info()
        wanted = {f"jws-kubeconfig-{letter * 6}": self.signature(letter * 6) for letter in "abcdefgh"}
        self.assertEqual(self.signatures(), wanted)

    def test_follows(self) -> None:
        """Changed content is signed anew."""
        self.token()
        self.info()
        changes = {"data": {"kubeconfig": "other"}}
        maps = self.world.resource("configmaps")
        self.world.run(self.world.client.patch(maps, self.public, "cluster-info", changes))
        self.world.settle()
        self.assertEqual(self.signatures(), {"jws-kubeconfig-abcdef": self.signature("abcdef", "other")})

    def test_takes_away(self) -> None:
        """Signatures of deleted or unknown tokens are removed; other keys stay."""
        self.token()
        self.info(**{"jws-kubeconfig-zzzzzz": "x", "other": "y"})
        self.assertEqual(set(self.signatures()), {"jws-kubeconfig-abcdef", "other"})
        self.world.run(self.world.client.delete(self.secrets, self.system, "bootstrap-token-abcdef"))
        self.world.settle()
        self.assertEqual(self.signatures(), {"other": "y"})

    def test_expires(self) -> None:
        """A signature is removed when its token expires, whether or not the Secret is deleted."""
        self.token(expiration=self.after(60))
        self.info()
        self.world.settle(50, 1)
        self.assertEqual(len(self.signatures()), 1)
        self.world.settle(15, 1)
        self.assertEqual(self.signatures(), {})

    def test_nothing_to_sign(self) -> None:
        """Without the ConfigMap, or without content in it, nothing is written."""
        self.token()
        self.assertIsNone(self.world.get("configmaps", "cluster-info", self.public))
        obj = {"metadata": {"name": "cluster-info"}, "data": {"a": "b"}}
        self.world.run(self.world.client.create(self.world.resource("configmaps"), self.public, obj))
        self.world.settle()
        found = self.world.get("configmaps", "cluster-info", self.public)
        assert found is not None
        self.assertEqual(found["data"], {"a": "b"})

    def test_restart(self) -> None:
        """After a start nothing that is still right is written again."""
        self.token()
        self.info()
        before = self.world.get("configmaps", "cluster-info", self.public)
        self.restart()
        self.world.settle(1)
        self.assertEqual(self.world.get("configmaps", "cluster-info", self.public), before)
