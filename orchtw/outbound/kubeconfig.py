"""Reader of client configuration files, for webhooks and the like (reference CLIENT-8)."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import attrs
import orjson

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.certificate_files import CertificateFiles
from orchtw.outbound.credentials import Certified, Credentials, Fixed, ShownHeaders, TokenOf, basic, bearer
from orchtw.outbound.exec_plugin import MODES, VERSIONS, CredentialPlugin, ExecPlugin
from orchtw.outbound.fields import Fields
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.outbound.remote import Remote, server_url
from orchtw.wire.objects import Object


def load(path: Path, naming: Naming, reactor: Any) -> Remote:
    """Load the server of the current context, or of the only one, with its credentials.

    Files that it refers to are read now, those of the user again from time to time. Raises ConfigError with one line.
    """
    file = Fields(path, "", _document(path))
    if file.text("kind") not in ("", "Config"):
        raise file.wrong("kind", "must be Config")
    cluster, user = _selected(file)
    reader = _Reader(cluster, user, naming, reactor)
    return Remote(url=reader.url(), tls=reader.tls(), credentials=reader.credentials())


def load_users(path: Path, naming: Naming, reactor: Any) -> dict[str, Credentials]:
    """Load the credentials of the file's users by name; users without credentials are left out.

    Files that it refers to are read now, that of a token again from time to time. Raises ConfigError with one line.
    """
    file = Fields(path, "", _document(path))
    if file.text("kind") not in ("", "Config"):
        raise file.wrong("kind", "must be Config")
    nowhere = Fields(path, "clusters", {})
    readers = {
        name: _Reader(nowhere, user, naming, reactor) for name, user in file.named("users", "user").items()
    }
    found = {name: reader.identity() for name, reader in readers.items()}
    return {name: each for name, each in found.items() if each is not None}


def _document(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None


def _selected(file: Fields) -> tuple[Fields, Fields | None]:
    """Return the cluster and the user of the context."""
    clusters, users = file.named("clusters", "cluster"), file.named("users", "user")
    contexts = file.named("contexts", "context")
    chosen = file.text("current-context")
    if chosen and chosen not in contexts:
        raise file.wrong("current-context", f"there is no context {chosen!r}")
    if not chosen and not contexts and len(clusters) == 1 and len(users) < 2:
        return next(iter(clusters.values())), next(iter(users.values()), None)
    if not chosen and len(contexts) != 1:
        raise file.wrong("current-context", "is missing, and there is not exactly one context")
    context = contexts[chosen] if chosen else next(iter(contexts.values()))
    cluster, user = context.text("cluster"), context.text("user")
    if cluster not in clusters:
        raise context.wrong("cluster", f"there is no cluster {cluster!r}")
    if user and user not in users:
        raise context.wrong("user", f"there is no user {user!r}")
    return clusters[cluster], users[user] if user else None


class _Reader:
    """Reads the settings of a cluster and a user."""

    def __init__(self, cluster: Fields, user: Fields | None, naming: Naming, reactor: Any) -> None:
        self._cluster = cluster
        self._user = user if user is not None else Fields(cluster.path, "users", {})
        self._naming = naming
        self._reactor = reactor

    def url(self) -> str:
        """Return the URL of the server."""
        cluster, text = self._cluster, self._cluster.text("server")
        if cluster.text("proxy-url"):
            raise cluster.wrong("proxy-url", "is not supported: servers are reached directly")
        try:
            return server_url(text)
        except ValueError:
            raise cluster.wrong("server", "must be a URL such as https://host:port/path") from None

    def tls(self) -> TLSPolicy:
        """Return the TLS policy: trusted authorities, and the client certificate."""
        cluster = self._cluster
        authorities, insecure = cluster.content("certificate-authority"), cluster.flag("insecure-skip-tls-verify")
        if insecure and authorities:
            text = "specifying a root certificates file with the insecure flag is not allowed"
            raise cluster.wrong("insecure-skip-tls-verify", text)
        policy = attrs.evolve(
            self._pair(), authorities=authorities, insecure=insecure, server_name=cluster.text("tls-server-name")
        )
        try:
            policy.tls()
        except BadTLS as problem:
            place = cluster if authorities and not policy.certificate else self._user
            raise place.wrong("", str(problem)) from None
        return policy

    def credentials(self) -> Credentials | None:
        """Return the credentials beside a fixed client certificate."""
        user, others = self._user, self._shown()
        given = ("client-certificate", "client-key")
        if any(user.text(name) and not user.text(f"{name}-data") for name in given):
            return CertificateFiles(self._pair, others, self._reactor.seconds)
        return others

    def _pair(self) -> TLSPolicy:
        """Return the client certificate and key that the files hold now, if any."""
        certificate, key = self._user.content("client-certificate"), self._user.content("client-key")
        if bool(certificate) != bool(key):
            raise self._user.wrong("", "client-certificate and client-key must be given together")
        return TLSPolicy(certificate=certificate, key=key)

    def _shown(self) -> Credentials | None:
        user = self._user
        self._check_methods()
        if user.value.get("exec") is not None:
            return ExecPlugin(self._plugin(user.section("exec")), self._naming, self._reactor)
        if (file := user.file("tokenFile")) is not None:
            return TokenOf(file, self._read_token(file), self._reactor.seconds)
        if token := user.text("token"):
            return Fixed(_sendable(user, "token", bearer(token)))
        if name := user.text("username"):
            return Fixed(_sendable(user, "username", basic(name, user.text("password"))))
        return None

    def identity(self) -> Credentials | None:
        """Return the credentials with the client certificate."""
        policy, others = self.tls(), self.credentials()
        if not policy.certificate:
            return others
        return Certified(certificate=policy.certificate, key=policy.key, others=others)

    def _check_methods(self) -> None:
        user = self._user
        for name in ("as", "as-uid", "as-groups", "as-user-extra"):
            if user.value.get(name):
                raise user.wrong(name, "is not supported: the server does not impersonate users")
        if user.value.get("auth-provider") is not None:
            name = user.section("auth-provider").text("name")
            raise user.wrong("auth-provider", f"no Auth Provider found for name {name!r}; use exec")
        methods = {
            "token": user.text("token") or user.text("tokenFile"),
            "basicAuth": user.text("username") or user.text("password"),
            "exec": user.value.get("exec"),
        }
        found = [name for name, given in methods.items() if given]
        if len(found) > 1:
            text = f"more than one authentication method found; found [{' '.join(found)}], only one is allowed"
            raise user.wrong("", text)

    def _read_token(self, file: Path) -> str:
        try:
            token = file.read_text().strip()
        except OSError as error:
            raise self._user.wrong("tokenFile", f"{file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise self._user.wrong("tokenFile", f"{file}: is not UTF-8 text") from None
        if not token:
            raise self._user.wrong("tokenFile", f"{file}: read empty token")
        _sendable(self._user, "tokenFile", bearer(token))
        return token

    def _plugin(self, fields: Fields) -> CredentialPlugin:
        version = fields.text("apiVersion")
        group = f"client.authentication.{self._naming.api_domain}"
        if version not in {f"{group}/{each}" for each in VERSIONS}:
            raise fields.wrong("apiVersion", f"must be {group}/v1 or {group}/v1beta1")
        command = fields.text("command")
        if not command:
            raise fields.wrong("command", "must be specified to use exec authentication plugin")
        mode = fields.text("interactiveMode") or ("" if version.endswith("/v1") else "IfAvailable")
        if mode not in MODES:
            raise fields.wrong("interactiveMode", f"must be one of {', '.join(MODES)}")
        if mode == "Always":
            text = "exec plugin cannot support interactive mode: standard input is not a terminal"
            raise fields.wrong("interactiveMode", text)
        return CredentialPlugin(
            api_version=version,
            command=str(fields.path.parent.absolute() / command) if "/" in command else command,
            args=fields.texts("args"),
            env=self._environment(fields),
            install_hint=fields.text("installHint"),
            cluster=self._cluster_info(group) if fields.flag("provideClusterInfo") else None,
        )

    def _environment(self, fields: Fields) -> dict[str, str]:
        found = {}
        for each in fields.sections("env"):
            name = each.text("name")
            if not name or "=" in name:
                raise each.wrong("name", "must be the name of a variable")
            found[name] = each.text("value")
        return found

    def _cluster_info(self, group: str) -> Object:
        cluster = self._cluster
        extensions = {each.text("name"): each.value.get("extension") for each in cluster.sections("extensions")}
        info = {
            "server": cluster.text("server"),
            "tls-server-name": cluster.text("tls-server-name"),
            "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
            "certificate-authority-data": b64encode(cluster.content("certificate-authority")).decode(),
            "config": extensions.get(f"{group}/exec"),
        }
        found = {name: value for name, value in info.items() if value}
        try:
            orjson.dumps(found)
        except TypeError as problem:
            raise cluster.wrong("extensions", f"cannot be written as JSON: {problem}") from None
        return found


def _sendable(user: Fields, name: str, shown: ShownHeaders) -> ShownHeaders:
    """Raise ConfigError for a value that no header can hold, without repeating it."""
    for _, value in shown.headers:
        if not value.isascii() or not value.isprintable():
            raise user.wrong(name, "holds characters that no header can have")
    return shown
