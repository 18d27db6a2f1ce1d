"""Credentials that a command prints (reference CLIENT-10, CLIENT-11)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import orjson
from twisted.internet.defer import Deferred

from orchtw.naming.naming import Naming
from orchtw.outbound.command import Command, CommandFailed, run
from orchtw.outbound.credentials import CredentialsError, ShownHeaders, bearer
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.values.times import parse_time
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

VERSIONS: Final = ("v1", "v1beta1")
"""Versions of ExecCredential that a plugin may use."""

MODES: Final = ("Never", "IfAvailable", "Always")
"""Modes of interaction; a server has no terminal, so that plugins cannot prompt."""


class CredentialPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A valid `exec` section; `cluster` is the server's description for the command, None: none."""

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    install_hint: str = ""
    cluster: Object | None = None


class ExecPlugin:
    """Runs the command when credentials are needed and there are none that are valid.

    Concurrent callers share a run. It continues when no caller waits any more: a command that takes longer than a
    request may still help the next one.
    """

    def __init__(
        self, plugin: CredentialPlugin, naming: Naming, reactor: Any, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._plugin = plugin
        self._reactor = reactor
        self._wall_clock = wall_clock
        self._info_name = f"{naming.environment_prefix}EXEC_INFO"
        self._shown: ShownHeaders | None = None
        self._expires_s: float | None = None
        self._running: Deferred[None] | None = None
        self._waiting: list[Deferred[ShownHeaders]] = []

    async def current(self) -> ShownHeaders:
        """Return the credentials of the last run, or of a new one. Raises CredentialsError."""
        if self._shown is not None and (self._expires_s is None or self._wall_clock() <= self._expires_s):
            return self._shown
        waiting: Deferred[ShownHeaders] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        if self._running is None:
            running = Deferred.fromCoroutine(self._run())
            self._running = None if running.called else running
        return await waiting

    def refused(self, shown: ShownHeaders) -> bool:
        """Drop the refused credentials, unless they have been replaced; report True."""
        if self._shown == shown:
            self._shown = None
        return True

    async def _run(self) -> None:
        try:
            output = await run(self._reactor, self._command())
            self._shown, self._expires_s = credential(output, self._plugin.api_version)
        except (CommandFailed, CredentialsError) as problem:
            self._tell(CredentialsError(f"getting credentials: {problem}"))
        else:
            self._tell(self._shown)

    def _tell(self, found: ShownHeaders | CredentialsError) -> None:
        self._running = None
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if isinstance(found, ShownHeaders):
                each.callback(found)
            else:
                each.errback(found)

    def _command(self) -> Command:
        plugin = self._plugin
        spec: Object = {"interactive": False}
        if plugin.cluster is not None:
            spec = {"cluster": plugin.cluster, **spec}
        info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
        env = {**plugin.env, self._info_name: orjson.dumps(info).decode()}
        return Command(name=plugin.command, args=plugin.args, env=env, hint=plugin.install_hint)


def credential(output: bytes, api_version: str) -> tuple[ShownHeaders, float | None]:
    """Parse a plugin's output into credentials and their expiry by the wall clock. Raises CredentialsError."""
    try:
        found = loads(output)
    except ValueError as problem:
        raise CredentialsError(f"decoding stdout: {problem}") from None
    if not isinstance(found, dict) or found.get("kind") != "ExecCredential":
        raise CredentialsError("decoding stdout: not an ExecCredential")
    if found.get("apiVersion") != api_version:
        shown = str(found.get("apiVersion"))[:100]
        raise CredentialsError(
            f"exec plugin is configured to use API version {api_version}, plugin returned version {shown}"
        )
    status = found.get("status")
    if not isinstance(status, dict):
        raise CredentialsError("exec plugin didn't return a status field")
    return _shown(status), _expires(_text(status, "expirationTimestamp"))


def _shown(status: Object) -> ShownHeaders:
    token = _text(status, "token")
    certificate = _text(status, "clientCertificateData").encode()
    key = _text(status, "clientKeyData").encode()
    if not token and not certificate and not key:
        raise CredentialsError("exec plugin didn't return a token or cert/key pair")
    if bool(certificate) != bool(key):
        raise CredentialsError("exec plugin returned only certificate or key, not both")
    try:
        TLSPolicy(certificate=certificate, key=key).tls()
    except BadTLS as problem:
        raise CredentialsError(f"failed parsing client key/certificate: {problem}") from None
    headers = bearer(token).headers if token else ()
    return ShownHeaders(headers=headers, certificate=certificate, key=key)


def _expires(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(parse_time(text)[0])
    except ValueError:
        why = f"decoding stdout: expirationTimestamp: {text[:100]} is not an RFC 3339 time"
        raise CredentialsError(why) from None


def _text(status: Object, name: str) -> str:
    found = status.get(name)
    if found is not None and not isinstance(found, str):
        raise CredentialsError(f"decoding stdout: {name} is not a string")
    return found or ""
