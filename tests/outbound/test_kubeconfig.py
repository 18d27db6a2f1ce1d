"""Client configuration files (reference CLIENT-8)."""
# covers: orchtw.outbound.credentials, orchtw.outbound.fields

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.credentials import REREAD_S, Credentials, ShownHeaders
from orchtw.outbound.exec_plugin import ExecPlugin
from orchtw.outbound.kubeconfig import load, load_users
from orchtw.outbound.remote import Remote
from orchtw.pki import certificates
from tests.properties import examples

AUTHORITY = certificates.new_authority("ca", datetime.now(UTC))
CA = certificates.pem(AUTHORITY.certificate)
KEY = certificates.new_key()
CERTIFICATE = certificates.pem(
    certificates.issue(AUTHORITY, KEY, "me", certificates.CLIENT, datetime.now(UTC))
)
KEY_PEM = certificates.key_pem(KEY)
EXEC = {"apiVersion": "client.authentication.orch.io/v1", "command": "it", "interactiveMode": "Never"}


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def config(cluster: Any = None, user: Any = None, **more: Any) -> dict[str, Any]:
    """A file with one of each."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://there:8443/x/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }


class KubeconfigCase(SynchronousTestCase):
    """Files in a folder of the test's own."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.path = self.folder / "config.yaml"
        self.clock = Clock()

    def load(self, document: Any, vocabulary: str = "orch") -> Remote:
        self.path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
        return load(self.path, Naming.of(vocabulary), self.clock)

    def shown(self, remote: Remote) -> ShownHeaders:
        assert remote.credentials is not None
        try:
            remote.credentials.current().send(None)
        except StopIteration as end:
            found: ShownHeaders = end.value
            return found
        raise AssertionError("there is something to wait for")

    def refusal(self, document: Any) -> str:
        """Return the problem with a file, without the file's name before it."""
        problem = self.assertRaises(ConfigError, self.load, document)
        (line,) = problem.problems
        self.assertTrue(line.startswith(f"{self.path}: "), line)
        return str(line.removeprefix(f"{self.path}: "))


class ServerTests(KubeconfigCase):
    """The server of a kubeconfig, and its trust roots."""

    def test_current_context(self) -> None:
        """The current context says which cluster and user."""
        other = {"name": "d", "cluster": {"server": "https://other"}}
        document = config()
        document["clusters"].append(other)
        document["contexts"].append({"name": "y", "context": {"cluster": "d"}})
        self.assertEqual(self.load(document).url, "https://there:8443/x")
        document["current-context"] = "y"
        remote = self.load(document)
        self.assertEqual((remote.url, remote.credentials), ("https://other/", None))
        del document["current-context"]
        self.assertEqual(self.refusal(document), "current-context: is missing, and there is not exactly one context")

    def test_only_entry(self) -> None:
        """Without a current context the only one is taken, or the only cluster and user."""
        document = config(user={"token": "t"})
        del document["current-context"]
        self.assertEqual(self.load(document).url, "https://there:8443/x")
        del document["contexts"]
        self.assertEqual(self.shown(self.load(document)).headers, (("Authorization", "Bearer t"),))
        del document["users"]
        self.assertIsNone(self.load(document).credentials)

    def test_tls(self) -> None:
        """Data win over files, relative paths begin at the file's folder, and the name may be another."""
        (self.folder / "ca.crt").write_bytes(CA)
        remote = self.load(config({"certificate-authority": "ca.crt", "tls-server-name": "name"}))
        self.assertEqual((remote.tls.authorities, remote.tls.server_name), (CA, "name"))
        cluster = {"certificate-authority": "none", "certificate-authority-data": base64(CA)}
        self.assertEqual(self.load(config(cluster)).tls.authorities, CA)
        self.assertTrue(self.load(config({"insecure-skip-tls-verify": True})).tls.insecure)

    def test_certificate(self) -> None:
        """A client certificate and its key."""
        user = {"client-certificate-data": base64(CERTIFICATE), "client-key-data": base64(KEY_PEM)}
        remote = self.load(config(user=user))
        self.assertEqual((remote.tls.certificate, remote.tls.key), (CERTIFICATE, KEY_PEM))
        self.assertIsNone(remote.credentials)

    def test_refused(self) -> None:
        """Each bad file is one clear line."""
        self.assertIn("is not YAML: ", self.refusal("a: ["))
        self.assertEqual(self.refusal("[]"), "must be a mapping")
        self.assertEqual(self.refusal(config(kind="Pod")), "kind: must be Config")
        self.assertEqual(self.refusal({**config(), "clusters": {}}), "clusters: must be a list")
        self.assertEqual(self.refusal(config(**{"current-context": "z"})), "current-context: there is no context 'z'")
        self.assertEqual(self.refusal({**config(), "users": []}), "contexts[0].context.user: there is no user 'u'")
        where = "clusters[0].cluster"
        url = f"{where}.server: must be a URL such as https://host:port/path"
        for server in ("", "there", "ftp://there", "https://", "https://a:b", "https://u:p@a", "https://a?b"):
            self.assertEqual(self.refusal(config({"server": server})), url)
        self.assertEqual(
            self.refusal(config({"proxy-url": "http://p"})),
            f"{where}.proxy-url: is not supported: servers are reached directly",
        )
        both = {"insecure-skip-tls-verify": True, "certificate-authority-data": base64(CA)}
        self.assertIn("with the insecure flag is not allowed", self.refusal(config(both)))
        self.assertEqual(
            self.refusal(config({"certificate-authority": "none"})),
            f"{where}.certificate-authority: {self.folder}/none: No such file or directory",
        )
        self.assertIn("is not base64", self.refusal(config({"certificate-authority-data": "%"})))
        self.assertEqual(
            self.refusal(config({"certificate-authority-data": base64(b"x")})),
            f"{where}: unable to load root certificates: unable to parse bytes as PEM block",
        )

    def test_missing(self) -> None:
        """A file that is not there."""
        with self.assertRaises(ConfigError) as raised:
            load(self.folder / "none", Naming.orch(), self.clock)
        self.assertEqual(str(raised.exception), f"{self.folder}/none: No such file or directory")


class UserTests(KubeconfigCase):
    """Credentials of the user section."""

    def test_basic(self) -> None:
        """A name and password become basic authentication, and are hidden from `repr`."""
        remote = self.load(config(user={"username": "me", "password": "pw"}))
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Basic bWU6cHc="),))
        self.assertNotIn("bWU6", repr(self.shown(remote)))

    def test_token_file(self) -> None:
        """A token file is reread after a minute; if it is gone, the last token stays."""
        token = self.folder / "token"
        token.write_text("one\n")
        remote = self.load(config(user={"tokenFile": "token"}))
        token.write_text("two\n")
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Bearer one"),))
        self.clock.advance(REREAD_S)
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Bearer two"),))
        token.unlink()
        self.clock.advance(REREAD_S)
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Bearer two"),))

    def write_pair(self, name: str) -> tuple[bytes, bytes]:
        """Another certificate and key, in the files."""
        key = certificates.new_key()
        made = certificates.issue(AUTHORITY, key, name, certificates.CLIENT, datetime.now(UTC))
        pair = certificates.pem(made), certificates.key_pem(key)
        (self.folder / "me.crt").write_bytes(pair[0])
        (self.folder / "me.key").write_bytes(pair[1])
        return pair

    def pair(self, remote: Remote) -> tuple[bytes, bytes]:
        shown = self.shown(remote)
        return shown.certificate, shown.key

    def test_certificate_files(self) -> None:
        """The files of a certificate are read again after a minute; halves of a change leave the last (CLIENT-14)."""
        first = self.write_pair("first")
        user = {"client-certificate": "me.crt", "client-key": "me.key", "token": "t"}
        remote = self.load(config(user=user))
        self.assertEqual((remote.tls.certificate, remote.tls.key), first)
        second = self.write_pair("second")
        self.assertEqual(self.pair(remote), first)
        self.clock.advance(REREAD_S)
        self.assertEqual(self.pair(remote), second)
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Bearer t"),))
        self.write_pair("third")
        for content in (KEY_PEM, b"", None):
            path = self.folder / "me.key"
            path.unlink() if content is None else path.write_bytes(content)
            self.clock.advance(REREAD_S)
            self.assertEqual(self.pair(remote), second)

    def test_refused_certificate(self) -> None:
        """After a 401 the files are read at once; the same certificate is not worth another try (CLIENT-14)."""
        self.write_pair("first")
        remote = self.load(config(user={"client-certificate": "me.crt", "client-key": "me.key"}))
        assert remote.credentials is not None
        shown = self.shown(remote)
        self.assertFalse(remote.credentials.refused(shown))
        second = self.write_pair("second")
        self.assertTrue(remote.credentials.refused(shown))
        self.assertEqual(self.pair(remote), second)

    def test_data_before_files(self) -> None:
        """Inline data stay as they are, and win over files (CLIENT-8)."""
        data = {"client-certificate-data": base64(CERTIFICATE), "client-key-data": base64(KEY_PEM)}
        remote = self.load(config(user={**data, "client-certificate": "none", "client-key": "none"}))
        self.assertEqual((remote.tls.certificate, remote.credentials), (CERTIFICATE, None))

    def test_refused_token(self) -> None:
        """After a 401 the file is read at once; the same token is not worth another try."""
        token = self.folder / "token"
        token.write_text("one\n")
        remote = self.load(config(user={"tokenFile": "token"}))
        assert remote.credentials is not None
        shown = self.shown(remote)
        self.assertFalse(remote.credentials.refused(shown))
        token.write_text("two\n")
        self.assertTrue(remote.credentials.refused(shown))
        self.assertEqual(self.shown(remote).headers, (("Authorization", "Bearer two"),))

    def test_refused(self) -> None:
        """Each bad user is one clear line, which shows no secret."""
        where = "users[0].user"
        self.assertEqual(
            self.refusal(config(user={"auth-provider": {"name": "oidc"}})),
            f"{where}.auth-provider: no Auth Provider found for name 'oidc'; use exec",
        )
        self.assertEqual(
            self.refusal(config(user={"token": "t", "username": "u", "password": "p"})),
            f"{where}: more than one authentication method found; found [token basicAuth], only one is allowed",
        )
        self.assertEqual(
            self.refusal(config(user={"token": "a\nb"})), f"{where}.token: holds characters that no header can have"
        )
        self.assertEqual(
            self.refusal(config(user={"tokenFile": "none"})),
            f"{where}.tokenFile: {self.folder}/none: No such file or directory",
        )
        self.assertIn("as: is not supported", self.refusal(config(user={"as": "you"})))
        half = {"client-certificate-data": base64(CERTIFICATE)}
        self.assertIn("must be given together", self.refusal(config(user=half)))
        other = base64(certificates.key_pem(certificates.new_key()))
        wrong = {**half, "client-key-data": other}
        self.assertEqual(
            self.refusal(config(user=wrong)), f"{where}: tls: private key does not match public key"
        )
        self.assertEqual(self.refusal(config(user={"token": 1})), f"{where}.token: must be a string")


class UsersTests(KubeconfigCase):
    """Credentials by name of user, for different servers (reference ADM-13)."""

    def users(self, *users: dict[str, Any]) -> dict[str, Credentials]:
        self.path.write_text(yaml.safe_dump({"kind": "Config", "users": [*users]}))
        return load_users(self.path, Naming.of("orch"), self.clock)

    def test_all_kinds(self) -> None:
        """A user may have a certificate, a token or both; one without credentials is left out."""
        pair = {"client-certificate-data": base64(CERTIFICATE), "client-key-data": base64(KEY_PEM)}
        found = self.users(
            {"name": "certificate", "user": pair},
            {"name": "token", "user": {"token": "t"}},
            {"name": "both", "user": {**pair, "token": "t"}},
            {"name": "none", "user": {}},
        )
        self.assertEqual(set(found), {"certificate", "token", "both"})
        bearer = (("Authorization", "Bearer t"),)
        for name, headers, certificate, key in (
            ("certificate", (), CERTIFICATE, KEY_PEM),
            ("token", bearer, b"", b""),
            ("both", bearer, CERTIFICATE, KEY_PEM),
        ):
            shown = self.shown(Remote(url="", credentials=found[name]))
            self.assertEqual((shown.headers, shown.certificate, shown.key), (headers, certificate, key))
            self.assertFalse(found[name].refused(shown))

    def test_refused(self) -> None:
        """A user that cannot be used is one line."""
        other = base64(certificates.key_pem(certificates.new_key()))
        for user in ({"client-key-data": other}, {"token": "a", "username": "b"}, {"token": "a\nb"}):
            self.assertRaises(ConfigError, self.users, {"name": "u", "user": user})


class ExecTests(KubeconfigCase):
    """The `exec` section (reference CLIENT-10)."""

    def plugin(self, section: dict[str, Any], cluster: Any = None, vocabulary: str = "orch") -> Any:
        remote = self.load(config(cluster, {"exec": section}), vocabulary)
        assert isinstance(remote.credentials, ExecPlugin)
        return remote.credentials._plugin

    def test_command(self) -> None:
        """A path begins at the file's folder, a name is looked for later."""
        self.assertEqual(self.plugin({**EXEC, "command": "it"}).command, "it")
        self.assertEqual(self.plugin({**EXEC, "command": "bin/it"}).command, os.path.abspath(self.folder / "bin/it"))
        made = self.plugin({**EXEC, "args": ["a"], "env": [{"name": "A", "value": "b"}], "installHint": "get it"})
        self.assertEqual((made.args, made.env, made.install_hint, made.cluster), (("a",), {"A": "b"}, "get it", None))

    def test_absolute(self) -> None:
        """A path from the root stays, and so does a name that lies beside the file (reference CLIENT-10)."""
        self.assertEqual(self.plugin({**EXEC, "command": "/usr/bin/it"}).command, "/usr/bin/it")
        (self.folder / "it").write_text("")
        self.assertEqual(self.plugin({**EXEC, "command": "it"}).command, "it")
        self.assertEqual(self.plugin({**EXEC, "command": "./it"}).command, os.path.abspath(self.folder / "it"))

    def test_environment(self) -> None:
        """Of a variable that is named twice the last value counts; one without a value is empty."""
        env = [{"name": "A", "value": "b"}, {"name": "A", "value": "c"}, {"name": "B"}]
        self.assertEqual(self.plugin({**EXEC, "env": env}).env, {"A": "c", "B": ""})

    def test_modes(self) -> None:
        """Each interactiveMode with each version: v1 must say one, v1beta1 means IfAvailable; nobody is there to ask
        (reference CLIENT-11).
        """
        alone = "exec plugin cannot support interactive mode: standard input is not a terminal"
        unknown = "must be one of Never, IfAvailable, Always"
        for version, mode, why in (
            ("v1", "Never", ""),
            ("v1", "IfAvailable", ""),
            ("v1", "Always", alone),
            ("v1", None, unknown),
            ("v1", "", unknown),
            ("v1", "never", unknown),
            ("v1beta1", "Never", ""),
            ("v1beta1", "IfAvailable", ""),
            ("v1beta1", "Always", alone),
            ("v1beta1", None, ""),
            ("v1beta1", "Sometimes", unknown),
        ):
            name = f"client.authentication.orch.io/{version}"
            section = {**EXEC, "apiVersion": name, "interactiveMode": mode}
            if why:
                expected = f"users[0].user.exec.interactiveMode: {why}"
                self.assertEqual(self.refusal(config(user={"exec": section})), expected)
            else:
                self.assertEqual(self.plugin(section).api_version, name)

    def test_versions(self) -> None:
        """There are two versions; older ones, other groups and none are refused (reference CLIENT-10)."""
        text = "must be client.authentication.orch.io/v1 or client.authentication.orch.io/v1beta1"
        for version in ("client.authentication.orch.io/v1alpha1", "client.authentication.k8s.io/v1", "v1", ""):
            section = {**EXEC, "apiVersion": version}
            expected = f"users[0].user.exec.apiVersion: {text}"
            self.assertEqual(self.refusal(config(user={"exec": section})), expected)

    def test_no_cluster(self) -> None:
        """Unless provideClusterInfo is true, the plugin gets no cluster information, whatever the extension says."""
        extension = {"name": "client.authentication.orch.io/exec", "extension": {"a": "b"}}
        for section in (EXEC, {**EXEC, "provideClusterInfo": False}):
            self.assertIsNone(self.plugin(section, {"extensions": [extension]}).cluster)

    def test_whole_cluster(self) -> None:
        """All that the plugin may be told: an authority of a file goes along as data (reference CLIENT-10)."""
        (self.folder / "ca.crt").write_bytes(CA)
        cluster = {"certificate-authority": "ca.crt", "tls-server-name": "name"}
        expected = {
            "server": "https://there:8443/x/",
            "tls-server-name": "name",
            "certificate-authority-data": base64(CA),
        }
        self.assertEqual(self.plugin({**EXEC, "provideClusterInfo": True}, cluster).cluster, expected)
        made = self.plugin({**EXEC, "provideClusterInfo": True}, {"insecure-skip-tls-verify": True})
        self.assertEqual(made.cluster, {"server": "https://there:8443/x/", "insecure-skip-tls-verify": True})

    def test_beside_others(self) -> None:
        """A plugin and another method are one too many (reference CLIENT-14)."""
        for other, shown in (({"token": "t"}, "token exec"), ({"username": "u"}, "basicAuth exec")):
            text = f"more than one authentication method found; found [{shown}], only one is allowed"
            refusal = self.refusal(config(user={"exec": EXEC, **other}))
            self.assertEqual(refusal, f"users[0].user: {text}")

    def test_cluster(self) -> None:
        """With provideClusterInfo the plugin gets the server's data and its extension."""
        name = "client.authentication.orch.io/exec"
        cluster = {
            "certificate-authority-data": base64(CA),
            "extensions": [{"name": "other", "extension": 1}, {"name": name, "extension": {"audience": "a"}}],
        }
        made = self.plugin({**EXEC, "provideClusterInfo": True}, cluster)
        expected = {
            "server": "https://there:8443/x/",
            "certificate-authority-data": base64(CA),
            "config": {"audience": "a"},
        }
        self.assertEqual(made.cluster, expected)

    def test_vocabulary(self) -> None:
        """The group is spelt as the vocabulary spells it."""
        section = {**EXEC, "apiVersion": "client.authentication.k8s.io/v1beta1"}
        del section["interactiveMode"]
        self.assertEqual(self.plugin(section, vocabulary="kubernetes").api_version, section["apiVersion"])
        text = "must be client.authentication.orch.io/v1 or client.authentication.orch.io/v1beta1"
        self.assertEqual(self.refusal(config(user={"exec": section})), f"users[0].user.exec.apiVersion: {text}")

    def test_refused(self) -> None:
        """An invalid plugin configuration is refused with the reason (reference CLIENT-11)."""
        where = "users[0].user.exec"
        for changed, text in (
            ({"command": ""}, "command: must be specified to use exec authentication plugin"),
            ({"interactiveMode": None}, "interactiveMode: must be one of Never, IfAvailable, Always"),
            (
                {"interactiveMode": "Always"},
                "interactiveMode: exec plugin cannot support interactive mode: standard input is not a terminal",
            ),
            ({"args": [1]}, "args: must be a list of strings"),
            ({"env": [{"value": "x"}]}, "env[0].name: must be the name of a variable"),
        ):
            self.assertEqual(self.refusal(config(user={"exec": {**EXEC, **changed}})), f"{where}.{text}")

    def test_unwritable(self) -> None:
        """An extension that cannot be written as JSON is refused."""
        name = "client.authentication.orch.io/exec"
        cluster = {"extensions": [{"name": name, "extension": {1, 2}}]}
        text = self.refusal(config(cluster, {"exec": {**EXEC, "provideClusterInfo": True}}))
        self.assertTrue(text.startswith("clusters[0].cluster.extensions: cannot be written as JSON: "), text)


_NAMES = ("apiVersion", "kind", "clusters", "users", "contexts", "current-context", "name", "cluster", "user")
_MORE = ("context", "server", "exec", "token", "tokenFile", "certificate-authority-data", "args", "env", "extensions")
_LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(("x", "https://a", "Config", "", "v1"))
_DOCUMENTS = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(_NAMES + _MORE), inner, max_size=6),
    max_leaves=20,
)


class AnyFileTests(KubeconfigCase):
    """Whatever a file holds."""

    @examples(200)
    @given(_DOCUMENTS, st.booleans())
    def test_any(self, found: Any, inside: bool) -> None:
        """It is understood, or refused in one line."""
        document = config(found if isinstance(found, dict) else None, found) if inside else found
        try:
            self.load(document)
        except ConfigError as problem:
            self.assertEqual(len(str(problem).splitlines()), 1)
