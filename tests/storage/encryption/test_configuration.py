"""The file of --encryption-provider-config (reference STORE-14)."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.configuration import KmsPlugin, read
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.secretbox import SecretBoxProvider

SECRET = b64encode(bytes(32)).decode()
KEYS = {"keys": [{"name": "a", "secret": SECRET}]}
KMS = {"name": "k", "endpoint": "unix:///run/kms.sock"}


class ConfigurationTests(SynchronousTestCase):
    def file(self, text: str) -> Path:
        path = Path(self.mktemp())
        path.write_text(text)
        return path

    def configuration(self, *providers: Any, resources: Any = ("secrets",), **more: Any) -> Path:
        given = {
            "apiVersion": "apiserver.config.orch.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": [*resources], "providers": [*providers]}],
            **more,
        }
        return self.file(json.dumps(given))

    def problem(self, path: Path) -> str:
        error = self.assertRaises(ConfigError, read, path, {})
        self.assertEqual(len(error.problems), 1)
        return str(error).removeprefix(f"{path}: ")

    def test_all(self) -> None:
        """Every provider, each key one of its own, in order; the apiVersion of either vocabulary."""
        text = f"""
            apiVersion: apiserver.config.k8s.io/v1
            kind: EncryptionConfiguration
            resources:
            - resources: [secrets, widgets.example.com]
              providers:
              - aescbc: {{keys: [{{name: a, secret: {SECRET}}}, {{name: b, secret: {SECRET}}}]}}
              - aesgcm: {{keys: [{{name: a, secret: AAAAAAAAAAAAAAAAAAAAAA==}}]}}
              - secretbox: {{keys: [{{name: c, secret: {SECRET}}}]}}
              - kms: {{name: k, endpoint: unix:///a, timeout: 1.5s, cachesize: -1}}
              - identity: {{}}
            - resources: [configmaps]
              providers: [identity: {{}}]
        """
        first, second = read(self.file(text), {})
        self.assertEqual((first.resources, second.resources), (("secrets", "widgets.example.com"), ("configmaps",)))
        kinds = [AesCbc, AesCbc, AesGcm, SecretBoxProvider, KmsPlugin, Identity]
        self.assertEqual([type(each) for each in first.providers], kinds)
        plugin = KmsPlugin(name="k", endpoint="unix:///a", timeout_s=1.5, cache_size=-1)
        self.assertEqual(first.providers[4], plugin)

    def test_defaults_of_services(self) -> None:
        """3 s, and 1,000 data keys."""
        (section,) = read(self.configuration({"kms": KMS}), {})
        (plugin,) = section.providers
        assert isinstance(plugin, KmsPlugin)
        self.assertEqual((plugin.timeout_s, plugin.cache_size), (3.0, 1000))

    def test_wrong(self) -> None:
        """One line that names the place for everything that is wrong."""
        first = "resources[0].providers[0]"
        both = {"aescbc": KEYS, "identity": {}}
        key = f"{first}.aescbc.keys[0]"

        def keys(**key: Any) -> Any:
            return {"aescbc": {"keys": [{"name": "a", "secret": SECRET, **key}]}}

        def kms(**more: Any) -> Any:
            return {"kms": {**KMS, **more}}

        short = b64encode(bytes(5)).decode()
        for given, problem in (
            (self.configuration(), "resources[0].providers: at least one providers is required"),
            (
                self.configuration(both),
                f"{first}: more than one provider specified in a single element, should split into different list "
                "elements",
            ),
            (self.configuration({}), f"{first}: provider does not contain any of the expected providers"),
            (self.configuration({"rot13": {}}), f'{first}: unknown field "rot13"'),
            (self.configuration({"identity": {"a": 1}}), f'{first}.identity: unknown field "a"'),
            (self.configuration({"aescbc": {}}), f"{first}.aescbc.keys: at least one keys is required"),
            (self.configuration(keys(name="")), f"{key}.name: name is a mandatory field for a key"),
            (self.configuration(keys(name="a:b")), f"{key}.name: must not contain a colon"),
            (self.configuration(keys(secret="")), f"{key}.secret: secret is a mandatory field for a key"),
            (self.configuration(keys(secret="%")), f"{key}.secret: secrets must be base64 encoded"),
            (
                self.configuration(keys(secret=short)),
                f"{key}.secret: secret is not of the expected length, got 5, expected one of [16 24 32]",
            ),
            (
                self.configuration({"secretbox": {"keys": [{"name": "a", "secret": short}]}}),
                f"{first}.secretbox.keys[0].secret: secret is not of the expected length, got 5, expected one of "
                "[32]",
            ),
            (self.configuration(kms(name="")), f"{first}.kms.name: name is a mandatory field for a provider"),
            (self.configuration(kms(name="a:b")), f"{first}.kms.name: must not contain a colon"),
            (
                self.configuration(kms(endpoint="")),
                f"{first}.kms.endpoint: endpoint is a mandatory field for a provider",
            ),
            (
                self.configuration(kms(endpoint="tcp://a:1")),
                f'{first}.kms.endpoint: unsupported scheme "tcp" for KMS provider, only unix is supported',
            ),
            (
                self.configuration(kms(cachesize=0)),
                f"{first}.kms.cachesize: cachesize should be a positive value, or negative to disable",
            ),
            (self.configuration(kms(timeout="0s")), f"{first}.kms.timeout: timeout should be a positive value"),
            (self.configuration(kms(timeout="soon")), f'{first}.kms.timeout: "soon" is not a duration such as 3s'),
            (
                self.configuration({"identity": {}}, resources=[]),
                "resources[0].resources: at least one resources is required",
            ),
            (self.configuration(resources=[1]), "resources[0].resources: must be a list of strings"),
            (self.configuration(kind="Other"), "is not EncryptionConfiguration of apiserver.config.orch.io/v1"),
            (self.configuration(apiVersion="v1"), "is not EncryptionConfiguration of apiserver.config.orch.io/v1"),
            (self.configuration(more=1), 'unknown field "more"'),
            (self.file("[]"), "must be a mapping"),
        ):
            self.assertEqual(self.problem(given), problem)

    def test_without_library(self) -> None:
        """A provider whose library is missing ends in one line that names the extra to install."""
        with patch.dict(sys.modules, {"orchtw.storage.encryption.secretbox": None}):
            problem = self.problem(self.configuration({"secretbox": KEYS}))
        self.assertIn("provider secretbox needs PyNaCl: pip install 'orchtw[secretbox]'", problem)

    def test_unreadable(self) -> None:
        """A file that is not there, or is not YAML, is one line with the flag."""
        flag = "--encryption-provider-config: "
        self.assertTrue(self.problem(Path("/nowhere")).startswith(f"{flag}/nowhere: No such file"))
        self.assertIn("is neither YAML nor JSON", self.problem(self.file("{")))

    def test_no_secret_is_shown(self) -> None:
        """Errors about keys do not show them."""
        text = self.problem(self.configuration({"aescbc": {"keys": [{"name": "a", "secret": "c2VjcmV0"}]}}))
        self.assertNotIn("c2VjcmV0", text)
        self.assertNotIn("secret'", text)
