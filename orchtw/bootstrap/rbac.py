"""RBAC bootstrap policy: roles and bindings of every installation, completed once in a process (reference ROLE-1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from orchtw.bootstrap.ensurer import Ensurer, together
from orchtw.naming.naming import Naming
from orchtw.rules.rbac import TooManyRules, rules_of, uncovered
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

GROUP: Final = "rbac.authorization.orch.io"
AUTOUPDATE: Final = "rbac.authorization.orch.io/autoupdate"
_ROLES: Final = frozenset({"clusterroles", "roles"})
_SOURCE: Final = Path(__file__).with_name("roles.json")

Gates = Mapping[str, bool]
ALL_GATES: Final[Gates] = {}

Merge = Callable[[Object, Object], Object | None]
"""Function of the live and the expected object that returns the one to store; None: no change."""


async def reconcile_roles(ensurer: Ensurer, gates: Gates = ALL_GATES) -> None:
    """Create missing objects and complete present ones, concurrently. Raises the store's errors."""
    expected = list(expected_objects(ensurer.naming, gates))
    await together(partial(_reconcile, ensurer, plural, obj) for plural, obj in expected if plural in _ROLES)
    await together(partial(_reconcile, ensurer, plural, obj) for plural, obj in expected if plural not in _ROLES)


async def _reconcile(ensurer: Ensurer, plural: str, obj: Object) -> None:
    """Reconcile one object; recreate a binding to another role, since that is immutable (reference ROLE-2)."""
    autoupdate = ensurer.naming.translate(AUTOUPDATE)
    if plural in _ROLES:
        await ensurer.complete(GROUP, "v1", plural, obj, partial(completed_role, autoupdate=autoupdate))
        return
    if await ensurer.complete(GROUP, "v1", plural, obj, partial(completed_binding, autoupdate=autoupdate)):
        return
    live = ensurer.find(GROUP, "v1", plural, obj)
    if live is not None and not _protected(live, autoupdate):
        await ensurer.remove_unless(GROUP, "v1", plural, obj, "roleRef")
        await ensurer.ensure(GROUP, "v1", plural, obj)


def expected_objects(naming: Naming, gates: Gates = ALL_GATES) -> Iterator[tuple[str, Object]]:
    """Yield each object with the plural of its kind, in the served vocabulary.

    Rules, roles and bindings of features whose gate is off are left out; `gates` are the states of those that may be.
    """
    source: dict[str, list[dict[str, Any]]] = loads(_SOURCE.read_bytes())
    for plural, records in source.items():
        for record in records:
            if not gates.get(record.get("gate", ""), True):
                continue
            content = _role(record, naming, gates) if plural in _ROLES else _binding(record, naming)
            yield plural, {"metadata": _metadata(record, naming), **content}


def completed_role(live: Object, expected: Object, *, autoupdate: str) -> Object | None:
    """Return the live role with its missing rules, selectors, labels and annotations; None: nothing is missing."""
    if _protected(live, autoupdate):
        return None
    wanted = {**live, "metadata": _completed_metadata(live, expected)}
    aggregation = expected.get("aggregationRule")
    if aggregation is None:
        if missing := _missing_rules(live, expected):
            wanted["rules"] = [*(live.get("rules") or ()), *missing]
    else:
        selectors = (live.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        lacking = [each for each in aggregation["clusterRoleSelectors"] if each not in selectors]
        if lacking:
            wanted["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *lacking]}
    return None if wanted == live else wanted


def completed_binding(live: Object, expected: Object, *, autoupdate: str) -> Object | None:
    """Return the live binding with its missing subjects, labels and annotations.

    None: nothing is missing, or it has another role.
    """
    if _protected(live, autoupdate) or live.get("roleRef") != expected["roleRef"]:
        return None
    subjects = live.get("subjects") or []
    lacking = [each for each in expected.get("subjects") or () if each not in subjects]
    wanted = {**live, "metadata": _completed_metadata(live, expected)}
    if lacking:
        wanted["subjects"] = [*subjects, *lacking]
    return None if wanted == live else wanted


def _missing_rules(live: Object, expected: Object) -> list[Object]:
    try:
        return [rule.to_json() for rule in uncovered(rules_of(live), rules_of(expected))]
    except TooManyRules:  # too many to compare: an administrator has added some
        held = live.get("rules") or []
        return [rule for rule in expected["rules"] if rule not in held]


def _protected(live: Object, autoupdate: str) -> bool:
    return (live["metadata"].get("annotations") or {}).get(autoupdate) == "false"


def _completed_metadata(live: Object, expected: Object) -> Object:
    meta = dict(live["metadata"])
    for key in ("labels", "annotations"):
        merged = {**(expected["metadata"].get(key) or {}), **(meta.get(key) or {})}
        if merged != meta.get(key):
            meta[key] = dict(sorted(merged.items()))
    return meta


def _metadata(record: dict[str, Any], naming: Naming) -> Object:
    meta: Object = {"name": naming.translate(record["name"])}
    if namespace := record.get("namespace"):
        meta["namespace"] = naming.translate(namespace)
    labels = {"orch.io/bootstrapping": "rbac-defaults", **record.get("labels", {})}
    meta["labels"] = dict(sorted((naming.translate(key), value) for key, value in labels.items()))
    meta["annotations"] = {naming.translate(AUTOUPDATE): "true"}
    return meta


def _role(record: dict[str, Any], naming: Naming, gates: Gates) -> Object:
    rules = [_rule(rule, naming) for rule in record.get("rules", ()) if gates.get(rule.get("gate", ""), True)]
    content: Object = {"rules": rules} if rules else {}
    if aggregation := record.get("aggregationRule"):
        selectors = [
            {"matchLabels": {naming.translate(key): value for key, value in selector["matchLabels"].items()}}
            for selector in aggregation["clusterRoleSelectors"]
        ]
        content["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return content


def _rule(rule: dict[str, Any], naming: Naming) -> Object:
    found = {key: value for key, value in rule.items() if key != "gate"}
    if "apiGroups" in rule:
        found["apiGroups"] = [naming.group(group) for group in rule["apiGroups"]]
    if "resourceNames" in rule:
        found["resourceNames"] = [naming.translate(name) for name in rule["resourceNames"]]
    return found


def _binding(record: dict[str, Any], naming: Naming) -> Object:
    group = naming.group(GROUP)
    role = {"apiGroup": group, "kind": record["kind"], "name": naming.translate(record["role"])}
    subjects = [_subject(subject, naming, group) for subject in record["subjects"]]
    return {"roleRef": role, **({"subjects": subjects} if subjects else {})}


def _subject(subject: dict[str, Any], naming: Naming, group: str) -> Object:
    found: Object = {"kind": subject["kind"]}
    if subject["kind"] != "ServiceAccount":
        found["apiGroup"] = group
    found["name"] = naming.translate(subject["name"])
    if "namespace" in subject:
        found["namespace"] = naming.translate(subject["namespace"])
    return found
