"""Reader of `--audit-policy-file` (reference AUDIT-8, AUDIT-10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from twisted.logger import Logger

from orchtw.audit.policy import LEVELS, NONE, STAGES, AuditPolicy, AuditRule, GroupResources, PolicyOutcome
from orchtw.errors import Cause, ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.fields import Fields
from orchtw.schema.codec.yaml_codec import parse_yaml
from orchtw.values.causes import go_quote, invalid, not_supported, required
from orchtw.values.names import dns_subdomain

FLAG: Final = "--audit-policy-file"
GROUP: Final = "audit.orch.io"
KIND: Final = "Policy"

_RULE: Final = (
    "level",
    "users",
    "userGroups",
    "verbs",
    "resources",
    "namespaces",
    "nonResourceURLs",
    "omitStages",
    "omitManagedFields",
)
_BOTH_VOCABULARIES: Final = Naming.kubernetes()
_log = Logger()


def load(path: Path, naming: Naming) -> AuditPolicy:
    """Return the policy in a file, YAML or JSON, in either vocabulary; API groups are translated to the server's.

    Unknown and repeated fields are logged. Raises ConfigError with a line for each problem.
    """
    repeated: list[str] = []
    try:
        value = parse_yaml(path.read_bytes(), repeated)
        file = Fields(path, "", value)
        _check_kind(file)
        _only(file, "apiVersion", "kind", "metadata", "omitStages", "omitManagedFields", "rules")
        given = [_Given.of(each) for each in file.sections("rules")]
        stages, fields = file.texts("omitStages"), file.flag("omitManagedFields")
    except OSError as error:
        raise ConfigError(f"{FLAG}: failed to read file path {go_quote(str(path))}: {error.strerror}") from None
    except ConfigError as error:
        raise ConfigError(*(f"{FLAG}: {problem}" for problem in error.problems)) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{FLAG}: failed decoding: {' '.join(str(error).split())}: from file {path}") from None
    for each in repeated:
        _log.warn("audit policy {path}: {what}", path=str(path), what=each)
    if not given:
        raise ConfigError(f"{FLAG}: loaded illegal policy with 0 rules: from file {path}")
    causes = [*_stages(stages, "omitStages"), *(cause for each in given for cause in each.causes())]
    if causes:
        raise ConfigError(*(f"{FLAG}: {cause}: from file {path}" for cause in causes))
    return AuditPolicy([each.rule(stages, fields, naming) for each in given])


def _check_kind(file: Fields) -> None:
    version, kind = file.text("apiVersion"), file.text("kind")
    if not version:
        raise file.wrong("", "Object 'apiVersion' is missing")
    if not kind:
        raise file.wrong("", "Object 'Kind' is missing")
    group, _, number = version.rpartition("/")
    if kind != KIND or _BOTH_VOCABULARIES.neutral(group) != GROUP or number != "v1":
        ours = group if _BOTH_VOCABULARIES.neutral(group) == GROUP else GROUP
        why = f"no kind {go_quote(kind)} is registered for version {go_quote(version)}: use {KIND} of {ours}/v1"
        raise file.wrong("", why)


def _only(fields: Fields, *names: str) -> None:
    """Log unknown fields, which the release tolerates too."""
    for name in fields.value:
        if name not in names:
            place = f"{fields.where}.{name}" if fields.where else name
            _log.warn(
                "audit policy {path}: unknown field {name} is ignored", path=str(fields.path), name=go_quote(place)
            )


class _GivenResources(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    resources: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, fields: Fields) -> _GivenResources:
        _only(fields, "group", "resources", "resourceNames")
        return cls(
            group=fields.text("group"), resources=fields.texts("resources"), names=fields.texts("resourceNames")
        )


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """Rule as given in the file, with fields of the right types."""

    where: str
    level: str
    users: tuple[str, ...]
    groups: tuple[str, ...]
    verbs: tuple[str, ...]
    resources: tuple[_GivenResources, ...]
    namespaces: tuple[str, ...]
    urls: tuple[str, ...]
    stages: tuple[str, ...]
    omit_managed_fields: bool | None

    @classmethod
    def of(cls, fields: Fields) -> _Given:
        _only(fields, *_RULE)
        omits = fields.flag("omitManagedFields")
        return cls(
            where=fields.where,
            level=fields.text("level"),
            users=fields.texts("users"),
            groups=fields.texts("userGroups"),
            verbs=fields.texts("verbs"),
            resources=tuple(map(_GivenResources.of, fields.sections("resources"))),
            namespaces=fields.texts("namespaces"),
            urls=fields.texts("nonResourceURLs"),
            stages=fields.texts("omitStages"),
            omit_managed_fields=omits if fields.value.get("omitManagedFields") is not None else None,
        )

    def causes(self) -> Iterator[Cause]:
        """Yield the causes that reject the rule."""
        place = f"{self.where}.level"
        if not self.level:
            yield required(place)
        elif self.level not in LEVELS:
            yield not_supported(place, self.level, LEVELS)
        yield from _urls(self.urls, f"{self.where}.nonResourceURLs")
        for at, each in enumerate(self.resources):
            yield from _resources(each, f"{self.where}.resources[{at}]")
        yield from _stages(self.stages, f"{self.where}.omitStages")
        if self.urls and (self.resources or self.namespaces):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{self.where}.nonResourceURLs", list(self.urls), why)

    def rule(self, stages: Sequence[str], omit_managed_fields: bool, naming: Naming) -> AuditRule:
        """Return the compiled rule, given the omitted stages and `omitManagedFields` of the policy."""
        level = LEVELS.index(self.level)
        fields = omit_managed_fields if self.omit_managed_fields is None else self.omit_managed_fields
        return AuditRule(
            outcome=PolicyOutcome(
                level=level,
                omit_stages=frozenset((*stages, *self.stages)) if level != NONE else frozenset(),
                omit_managed_fields=fields,
            ),
            users=frozenset(self.users),
            groups=frozenset(self.groups),
            verbs=frozenset(self.verbs),
            resources=tuple(
                GroupResources(
                    group=naming.group(_BOTH_VOCABULARIES.neutral(each.group)),
                    resources=each.resources,
                    names=frozenset(each.names),
                )
                for each in self.resources
            ),
            namespaces=frozenset(self.namespaces),
            urls=self.urls,
        )


def _urls(urls: Sequence[str], place: str) -> Iterator[Cause]:
    for at, url in enumerate(urls):
        if url == "*":
            continue
        if not url.startswith("/"):
            yield invalid(f"{place}[{at}]", url, "non-resource URL rules must begin with a '/' character")
        if "*" in url[:-1]:
            why = "non-resource URL wildcards '*' must be the final character of the rule"
            yield invalid(f"{place}[{at}]", url, why)


def _resources(given: _GivenResources, place: str) -> Iterator[Cause]:
    errors: Any = dns_subdomain(given.group) if given.group else ()
    if errors:
        yield invalid(f"{place}.group", given.group, ",".join(errors))
    if given.names and not given.resources:
        why = "using resourceNames requires at least one resource"
        yield invalid(f"{place}.resourceNames", list(given.names), why)


def _stages(stages: Sequence[str], place: str) -> Iterator[Cause]:
    for at, stage in enumerate(stages):
        if stage not in STAGES:
            yield invalid(f"{place}[{at}]", stage, f"allowed stages are {','.join(STAGES)}")
