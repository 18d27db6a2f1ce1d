"""APIs that a server serves: the release's defaults, changed by `--runtime-config` (reference VER-2)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchtw.errors import ConfigError
from orchtw.flags.flag import parse_boolean
from orchtw.schema.catalogue import Catalogue, ResourceType

_ALL = "api/all"
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?(/|$)")
_LEVELS = ("api/ga", "api/beta", "api/alpha")
_SENT_ONLY = "imagepolicy.orch.io/v1alpha1"
"""Version that the server only sends to webhooks: the flag may name it, without effect (reference PLUG-50)."""

_POLICIES = "{}policies.admissionregistration.orch.io", "{}policybindings.admissionregistration.orch.io"
GATED = {
    name.format(f"{word.lower()}admission"): f"{word}AdmissionPolicy"
    for word in ("Mutating", "Validating")
    for name in _POLICIES
} | {"selfsubjectreviews.authentication.orch.io": "APISelfSubjectReview"}
"""Feature gates of whole resources, by the resource's qualified name in the neutral vocabulary."""


def enabled(catalogue: Catalogue, settings: Iterable[tuple[str, str]]) -> tuple[ResourceType, ...]:
    """Return the resources to serve, in the catalogue's order.

    `settings` are the flag's (key, value) pairs. The most specific key that matches a resource wins:
    `<group>/<version>/<resource>`, `<group>/<version>`, `api/ga|beta|alpha`, `api/all`. Versions of the core group
    may be written with or without `api/`. Raises ConfigError with every problem: unknown keys, values that are not
    booleans, contradictory values of a key, and `api/all=false` alone.
    """
    problems: list[str] = []
    chosen: dict[str, bool] = {}
    for key, text in settings:
        try:
            value = parse_boolean(text)
        except ValueError as error:
            problems.append(f"invalid value of {key}={text}: {error}")
            continue
        if chosen.setdefault(_full(key), value) != value:
            problems.append(f"contradictory values of {key}")
    problems += [problem for key in chosen if (problem := _unknown(catalogue, key))]
    if chosen == {_ALL: False}:
        problems.append(f"invalid key with only {_ALL}=false")
    if problems:
        raise ConfigError(*(f"--runtime-config: {problem}" for problem in problems))
    return tuple(each for each in catalogue.resources if _is_on(each, chosen))


def _full(key: str) -> str:
    """Return the key with `api/` before a version of the core group: `v1/pods` becomes `api/v1/pods`."""
    return f"api/{key}" if _VERSION.match(key) else key


def _is_on(resource: ResourceType, chosen: dict[str, bool]) -> bool:
    version = f"{resource.group or 'api'}/{resource.version}"
    for key in (f"{version}/{resource.plural}", version, f"api/{level(resource.version)}", _ALL):
        if key in chosen:
            return chosen[key]
    return resource.default_on


def level(version: str) -> str:
    """Return the stability level of a version by its name: `alpha`, `beta` or `ga` (reference VER-1)."""
    return next((word for word in ("alpha", "beta") if word in version), "ga")


def _unknown(catalogue: Catalogue, key: str) -> str:
    """Return the error for a malformed or unknown key, or ""."""
    if key == _ALL or key in _LEVELS or key == catalogue.naming.api_version(_SENT_ONLY):
        return ""
    group, _, rest = key.partition("/")
    version, slash, plural = rest.partition("/")
    if not version or (slash and not plural):
        return f"invalid key {key}"
    if group == "api":
        group = "" if version == "v1" else key
    known = next((each for each in catalogue.groups if each.name == group), None)
    if known is None:
        return f"unknown api groups {group}"
    if version not in known.versions:
        return f"unknown api version {key}"
    if plural and catalogue.find(group, version, plural) is None:
        return f"unknown api resource {key}"
    return ""
