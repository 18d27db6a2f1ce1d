"""Flow schemas: assignment of requests to priority levels (reference FLOW-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import EXEMPT, FLOW_SCHEMAS, fixed_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.names import dns_label, dns_subdomain
from orchtw.wire.objects import Object

_MAX_PRECEDENCE: Final = 10_000
_PRECEDENCE: Final = "spec.matchingPrecedence"
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}


def validate_flow_schema(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that the schema named exempt comes before all others."""
    precedence, causes = new["spec"].get("matchingPrecedence", 0), []
    if precedence <= 0:
        causes.append(invalid(_PRECEDENCE, precedence, "must be a positive value"))
    elif precedence > _MAX_PRECEDENCE:
        causes.append(invalid(_PRECEDENCE, precedence, f"must not be greater than {_MAX_PRECEDENCE}"))
    elif precedence == 1 and new["metadata"].get("name") != EXEMPT:
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        causes.append(invalid(_PRECEDENCE, precedence, text))
    return causes + fixed_causes(new, FLOW_SCHEMAS)


def check_rules(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a rule matches some requests."""
    if new.get("resourceRules") or new.get("nonResourceRules"):
        return []
    return [required("", "at least one of resourceRules and nonResourceRules has to be non-empty")]


def check_subject(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a subject has the part that belongs to its kind, and none of the others."""
    kind = new.get("kind", "")
    if kind not in _SUBJECTS:
        return [not_supported("kind", kind, sorted(_SUBJECTS))]
    key = _SUBJECTS[kind]
    causes = [
        forbidden(other, f"{other} is forbidden when subject kind is not '{of}'")
        for of, other in _SUBJECTS.items()
        if other != key and new.get(other) is not None
    ]
    part = new.get(key)
    if part is None:
        return [*causes, required(key, f"{key} is required when subject kind is '{kind}'")]
    if not part.get("name"):
        causes.append(required(f"{key}.name"))
    return causes + _account_causes(part) if key == "serviceAccount" else causes


def _account_causes(account: Object) -> list[Cause]:
    name, namespace = account.get("name", ""), account.get("namespace", "")
    causes = []
    if name not in ("", "*"):
        causes += [invalid("serviceAccount.name", name, text) for text in dns_subdomain(name)]
    if namespace:
        return causes + [invalid("serviceAccount.namespace", namespace, text) for text in dns_label(namespace)]
    return [*causes, required("serviceAccount.namespace", "must specify namespace for service account")]


def check_resource_rule(new: Object, old: Object | None) -> list[Cause]:
    """Validate verbs, groups, resources and namespaces: lists, or `*`."""
    causes = _verb_causes(new.get("verbs") or ())
    group = "resource rules must supply at least one api group"
    causes += _list_causes(new.get("apiGroups") or (), "apiGroups", group, "api groups")
    resource = "resource rules must supply at least one resource"
    causes += _list_causes(new.get("resources") or (), "resources", resource, "resources")
    namespaces = new.get("namespaces") or ()
    if namespaces or not new.get("clusterScope"):
        namespace = "resource rules that are not cluster scoped must supply at least one namespace"
        causes += _list_causes(namespaces, "namespaces", namespace, "namespaces")
    if "*" in namespaces:
        return causes
    for index, name in enumerate(namespaces):
        if len(causes) > MAX_CAUSES:
            break
        for text in dns_label(name):
            text = f"each member of this list must be '*' or a DNS-1123 label; {text}"
            causes.append(invalid(f"namespaces[{index}]", name, text))
    return causes


def check_path_rule(new: Object, old: Object | None) -> list[Cause]:
    """Validate verbs and paths: lists, or `*`."""
    paths = new.get("nonResourceURLs") or ()
    causes = _verb_causes(new.get("verbs") or ())
    missing = "nonResourceURLs must contain at least one value"
    causes += _list_causes(paths, "nonResourceURLs", missing, "non-resource URLs")
    if "*" in paths:
        return causes
    for index, path in enumerate(paths):
        if len(causes) > MAX_CAUSES:
            break
        if why := _why_no_path(path):
            causes.append(invalid(f"nonResourceURLs[{index}]", path, why))
    return causes


def _verb_causes(verbs: Sequence[str]) -> list[Cause]:
    causes = _list_causes(verbs, "verbs", "verbs must contain at least one value", "verbs")
    if "*" in verbs or set(verbs) <= set(_VERBS):
        return causes
    return [*causes, not_supported("verbs", verbs, _VERBS)]


def _list_causes(values: Sequence[str], key: str, missing: str, others: str) -> list[Cause]:
    """Return the causes for an empty list, and for `*` beside other values."""
    if not values:
        return [required(key, missing)]
    if len(values) > 1 and "*" in values:
        return [invalid(key, values, f"if '*' is present, must not specify other {others}")]
    return []


def _why_no_path(path: str) -> str:
    """Return the first fault of a path, or an empty text."""
    if not path:
        return "must not be empty"
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    stars = path.count("*")
    return "" if not stars or (stars == 1 and path.endswith("/*")) else "wildcard can only do suffix matching"


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    package = "orch.io.api.flowcontrol.v1beta2."
    return {
        f"{package}PolicyRulesWithSubjects": check_rules,
        f"{package}Subject": check_subject,
        f"{package}ResourcePolicyRule": check_resource_rule,
        f"{package}NonResourcePolicyRule": check_path_rule,
    }


FLOW_SCHEMA = KindRecord(
    group="flowcontrol.apiserver.orch.io",
    kind="FlowSchema",
    generation=SPEC,
    status_ignores=("spec", "metadata"),
    validate=validate_flow_schema,
    cells=cells_cluster.flow_schema,
)
