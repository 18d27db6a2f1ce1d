"""Which resources are served: the release's choice, changed by `--runtime-config` (seed 1 §9.2, supplement C9)."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.errors import ConfigError
from orchtw.schema.catalogue import Catalogue, ResourceType

LEVELS = ("api/all", "api/ga", "api/beta", "api/alpha")
CORE = "api"


def served(catalogue: Catalogue, settings: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str, str]]:
    """(group, version, plural) of every resource that is served.

    `settings` are the flag's (key, value) pairs; the more specific key wins. Raises ConfigError, all problems
    together: unknown keys, values that are not true or false, one key set both ways.
    """
    switches = _switches(catalogue, settings)
    return frozenset(_key(resource) for resource in catalogue.resources if _is_on(resource, switches))


def _key(resource: ResourceType) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural


def _is_on(resource: ResourceType, switches: dict[str, bool]) -> bool:
    group_version = f"{resource.group or CORE}/{resource.version}"
    level = "alpha" if "alpha" in resource.version else "beta" if "beta" in resource.version else "ga"
    for key in (f"{group_version}/{resource.plural}", group_version, f"api/{level}", "api/all"):
        if key in switches:
            return switches[key]
    return resource.default_on


def _switches(catalogue: Catalogue, settings: Iterable[tuple[str, str]]) -> dict[str, bool]:
    known = set(LEVELS)
    for resource in catalogue.resources:
        group_version = f"{resource.group or CORE}/{resource.version}"
        known |= {group_version, f"{group_version}/{resource.plural}"}
    switches: dict[str, bool] = {}
    problems: list[str] = []
    unknown: list[str] = []
    for written, value in settings:
        key = f"{CORE}/{written}" if written == "v1" or written.startswith("v1/") else written
        if key not in known:
            unknown.append(written)
        elif value.lower() not in ("true", "false"):
            problems.append(f'--runtime-config: invalid value "{value}" of {written}: must be true or false')
        elif switches.setdefault(key, value.lower() == "true") is not (value.lower() == "true"):
            problems.append(f"--runtime-config: {written} is set both true and false")
    if unknown:
        problems.append(f"--runtime-config: unknown api groups {','.join(unknown)}")
    if problems:
        raise ConfigError(*problems)
    return switches
