"""File of `--authorization-config`: authorizers in order, among them several webhooks (reference AUTHZ-40)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec

from orchtw.authz.match_conditions import condition_of
from orchtw.flags.flag import parse_duration_s
from orchtw.outbound.configuration_file import Mistakes, configuration
from orchtw.outbound.fields import Fields
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.environment import Environment
from orchtw.values.causes import duplicate, invalid, not_supported, required, too_many
from orchtw.values.names import dns_subdomain

FLAG: Final = "--authorization-config"
KIND: Final = "AuthorizationConfiguration"
WEBHOOK: Final = "Webhook"
LONGEST_S: Final = 30.0
MOST_CONDITIONS: Final = 64
AUTHORIZED_S, UNAUTHORIZED_S = 300.0, 30.0
"""Times for which decisions are kept, unless the file sets others."""

_VERSIONS: Final = ("v1", "v1beta1")
_POLICIES: Final = ("NoOpinion", "Deny")
_KUBECONFIG: Final = "KubeConfigFile"
_IN_CLUSTER: Final = "InClusterConfig"


class WebhookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one webhook; `denies`: a failure is a refusal, not no opinion."""

    kubeconfig: Path
    version: str
    timeout_s: float
    authorized_ttl_s: float
    unauthorized_ttl_s: float
    denies: bool
    conditions: Sequence[Checked]


class Entry(msgspec.Struct, frozen=True):
    """One authorizer of the file: a mode, and the settings of a webhook."""

    mode: str
    name: str
    webhook: WebhookEntry | None


def read(path: Path, environment: Environment, modes: Collection[str]) -> Sequence[Entry]:
    """Return the authorizers of a file; `modes` are the known types.

    Raises ConfigError with one line for each mistake.
    """
    file = configuration(FLAG, path, KIND, "v1", "v1beta1", "v1alpha1")
    reader = _Reader(environment, tuple(sorted(modes)))
    entries: list[Entry] = []
    with reader.part():
        file.only("apiVersion", "kind", "authorizers")
        given = list(file.sections("authorizers"))
        if not given:
            reader.wrong(required("authorizers", "at least one authorization mode must be defined"))
        for each in given:
            with reader.part():
                entries.append(reader.entry(each))
    reader.check(FLAG, path)
    return tuple(entries)


class _Reader(Mistakes):
    """Reader of the file's parts, with the mistakes in them."""

    def __init__(self, environment: Environment, modes: Sequence[str]) -> None:
        super().__init__()
        self._environment = environment
        self._modes = modes
        self._types: set[str] = set()
        self._names: set[str] = set()

    def entry(self, fields: Fields) -> Entry:
        """Return one authorizer. Raises ConfigError for a field of a wrong type."""
        fields.only("type", "name", "webhook")
        mode, name = fields.text("type"), fields.text("name")
        where = fields.where
        if not mode:
            self.wrong(required(f"{where}.type"))
        elif mode not in self._modes:
            self.wrong(not_supported(f"{where}.type", mode, self._modes))
        elif mode in self._types and mode != WEBHOOK:
            self.wrong(duplicate(f"{where}.type", mode))
        self._types.add(mode)
        if not name:
            self.wrong(required(f"{where}.name"))
        elif name in self._names:
            self.wrong(duplicate(f"{where}.name", name))
        elif errors := dns_subdomain(name):
            self.wrong(invalid(f"{where}.name", name, ", ".join(errors)))
        self._names.add(name)
        given = fields.value.get("webhook") is not None
        if mode == WEBHOOK and not given:
            self.wrong(required(f"{where}.webhook", "required when type=Webhook"))
        elif mode != WEBHOOK and given:
            self.wrong(invalid(f"{where}.webhook", "non-null", "may only be specified when type=Webhook"))
        return Entry(mode, name, self._webhook(fields.section("webhook")) if mode == WEBHOOK and given else None)

    def _webhook(self, fields: Fields) -> WebhookEntry:
        fields.only(
            "timeout",
            "authorizedTTL",
            "unauthorizedTTL",
            "cacheAuthorizedRequests",
            "cacheUnauthorizedRequests",
            "subjectAccessReviewVersion",
            "matchConditionSubjectAccessReviewVersion",
            "failurePolicy",
            "connectionInfo",
            "matchConditions",
        )
        timeout_s = self._duration(fields, "timeout", 0.0)
        where = f"{fields.where}.timeout"
        if not fields.text("timeout"):
            self.wrong(required(where))
        elif not 0 < timeout_s <= LONGEST_S:
            self.wrong(invalid(where, fields.text("timeout"), "must be > 0s and <= 30s"))
        allowed_s = self._ttl(fields, "authorizedTTL", AUTHORIZED_S, "cacheAuthorizedRequests")
        others_s = self._ttl(fields, "unauthorizedTTL", UNAUTHORIZED_S, "cacheUnauthorizedRequests")
        version = self._one_of(fields, "subjectAccessReviewVersion", _VERSIONS)
        policy = self._one_of(fields, "failurePolicy", _POLICIES)
        return WebhookEntry(
            kubeconfig=self._kubeconfig(fields.section("connectionInfo")),
            version=version,
            timeout_s=timeout_s,
            authorized_ttl_s=allowed_s,
            unauthorized_ttl_s=others_s,
            denies=policy == "Deny",
            conditions=self._conditions(fields),
        )

    def _ttl(self, fields: Fields, name: str, default_s: float, switch: str) -> float:
        """Return how long decisions are kept; 0: they are not."""
        ttl_s = self._duration(fields, name, default_s)
        if ttl_s <= 0:
            self.wrong(invalid(f"{fields.where}.{name}", fields.text(name), "must be > 0s"))
        return 0.0 if fields.value.get(switch) is not None and not fields.flag(switch) else ttl_s

    def _duration(self, fields: Fields, name: str, default_s: float) -> float:
        text = fields.text(name)
        try:
            return parse_duration_s(text) if text else default_s
        except ValueError as error:
            raise fields.wrong(name, str(error)) from None

    def _one_of(self, fields: Fields, name: str, values: Sequence[str]) -> str:
        found = fields.text(name)
        if not found:
            self.wrong(required(f"{fields.where}.{name}"))
        elif found not in values:
            self.wrong(not_supported(f"{fields.where}.{name}", found, values))
        return found

    def _kubeconfig(self, fields: Fields) -> Path:
        fields.only("type", "kubeConfigFile")
        kind, file = fields.text("type"), fields.text("kubeConfigFile")
        where = f"{fields.where}.kubeConfigFile"
        if not kind:
            self.wrong(required(f"{fields.where}.type"))
        elif kind == _IN_CLUSTER:
            self.wrong(invalid(f"{fields.where}.type", kind, "the server does not run in a pod"))
        elif kind != _KUBECONFIG:
            self.wrong(not_supported(f"{fields.where}.type", kind, (_IN_CLUSTER, _KUBECONFIG)))
        elif not file:
            self.wrong(required(where))
        elif not Path(file).is_absolute():
            self.wrong(invalid(where, file, "must be an absolute path"))
        elif not Path(file).is_file():
            self.wrong(invalid(where, file, "must be a regular file"))
        return Path(file)

    def _conditions(self, fields: Fields) -> list[Checked]:
        found: list[Checked] = []
        where, version = f"{fields.where}.matchConditions", "matchConditionSubjectAccessReviewVersion"
        given = list(fields.sections("matchConditions"))
        if len(given) > MOST_CONDITIONS:
            self.wrong(too_many(where, len(given), MOST_CONDITIONS))
            return found
        if given or fields.text(version):
            self._one_of(fields, version, ("v1",))
        seen: set[str] = set()
        for each in given:
            each.only("expression")
            source, place = each.text("expression"), f"{each.where}.expression"
            if not source.strip():
                self.wrong(required(place, "expression is required"))
            elif source in seen:
                self.wrong(duplicate(place, source))
            elif (condition := condition_of(source, self._environment)).fault:
                self.wrong(invalid(place, source, condition.fault))
            else:
                found.append(condition)
            seen.add(source)
        return found
