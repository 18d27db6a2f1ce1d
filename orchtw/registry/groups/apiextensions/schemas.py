"""Validation of the schemas of a definition, with leniency for older ones (reference CRD-26)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from orchtw.config.releases import Release
from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions import structural
from orchtw.registry.groups.apiextensions.default_values import default_findings
from orchtw.registry.groups.apiextensions.rule_causes import Before, RuleTerms, rule_causes
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.registry.groups.apiextensions.schema_rules import is_supported, node_findings, root_causes
from orchtw.schema.custom import patterns
from orchtw.schema.custom.extensions import Extensions, Schema, extensions
from orchtw.values.causes import forbidden, invalid, required

Found = dict[str, list[Cause]]
"""Causes by the leniency of their rule: "" for rules that hold for all definitions."""

_STRUCTURAL = "structural"

MAX_STATES: Final = 1_000_000
"""States of all patterns of a definition: about a second of processor time when their first values come."""


def schema_causes(
    spec: Mapping[str, Any], old: Mapping[str, Any] | None, naming: Naming, release: Release
) -> list[Cause]:
    """Return the causes that reject the schemas of a definition.

    A rule that the old definition broke may stay broken, unless unknown fields are now dropped.
    """
    found = _found(spec, naming, Before.of(old, naming), release)
    if old is not None and any(found[leniency] for leniency in found if leniency):
        before = _found(old, naming, Before.of(old, naming), release)
        keeps = bool(spec.get("preserveUnknownFields")) and not _needs_structure(spec, extensions(naming))
        for leniency in list(found):
            if leniency and before[leniency] and (leniency != _STRUCTURAL or keeps):
                del found[leniency]
    causes = [cause for each in found.values() for cause in each]
    return _missing_causes(spec, old) + _default_causes(spec) + causes


def _found(spec: Mapping[str, Any], naming: Naming, before: Before, release: Release) -> Found:
    found: Found = defaultdict(list)
    states_left = MAX_STATES
    for index, version in enumerate(spec.get("versions") or ()):
        if sum(map(len, found.values())) > MAX_CAUSES:
            break
        schema = _schema_of(version)
        if schema is not None:
            has_status = (version.get("subresources") or {}).get("status") is not None
            path = Path(None, f"spec.versions[{index}].schema.openAPIV3Schema")
            terms = RuleTerms(before.expressions, before.has(version), release)
            states_left = _find(schema, path, has_status, found, naming, states_left, terms)
            if states_left < 0:
                found[""].append(forbidden(str(path), "its patterns take too much work to be compiled"))
                break
    return found


def _find(
    schema: Schema,
    path: Path,
    has_status: bool,
    found: Found,
    naming: Naming,
    states_left: int,
    terms: RuleTerms,
) -> int:
    """Add the causes of one schema to `found`. Defaults are checked once everything has a type.

    Returns the states left for the patterns of further schemas; below zero this one was not checked to the end.
    """
    keys = extensions(naming)
    found[""] += root_causes(schema, path, keys, has_status)
    supported, unstructured = True, list[Cause]()
    for node in walk(schema, path, keys):
        if len(unstructured) > MAX_CAUSES or any(len(causes) > MAX_CAUSES for causes in found.values()):
            break
        if pattern := node.schema.get("pattern"):
            states_left -= patterns.size(pattern)
            if states_left < 0:
                return states_left
        supported = supported and is_supported(node.schema)
        for leniency, cause in node_findings(node, keys):
            found[leniency].append(cause)
        if supported:
            unstructured += structural.node_causes(node, keys)
    if not supported:
        return states_left
    unstructured += islice(structural.completeness_causes(schema, path), MAX_CAUSES)
    found[_STRUCTURAL] += unstructured
    if not unstructured:
        for lenient, cause in islice(default_findings(schema, path, naming), MAX_CAUSES):
            found[lenient].append(cause)
        found[""] += islice(rule_causes(schema, path, naming, terms), MAX_CAUSES)
    return states_left


def _schema_of(version: Mapping[str, Any]) -> Schema | None:
    found: Schema | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def _missing_causes(spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[Cause]:
    """Return the causes for versions without a schema; if some lacked one before, only served ones may need it."""
    versions: Sequence[Mapping[str, Any]] = spec.get("versions") or ()
    if all(_schema_of(version) is not None for version in versions):
        return []
    spared = old is not None and any(_schema_of(version) is None for version in old.get("versions") or ())
    if spared and spec.get("preserveUnknownFields"):
        return []
    why = "because otherwise all fields are pruned" if spared else "schemas are required"
    return [
        required(f"spec.versions[{index}].schema.openAPIV3Schema", why)
        for index, version in enumerate(versions)
        if _schema_of(version) is None and (version.get("served") or not spared)
    ][: MAX_CAUSES + 1]


def _default_causes(spec: Mapping[str, Any]) -> list[Cause]:
    """Return the cause for defaults where unknown fields are preserved."""
    if not spec.get("preserveUnknownFields") or not _mentions(spec, frozenset(("default",))):
        return []
    why = "must be false in order to use defaults in the schema"
    return [invalid("spec.preserveUnknownFields", True, why)]


def _needs_structure(spec: Mapping[str, Any], keys: Extensions) -> bool:
    """Report whether the schemas have defaults or extensions, which only structural ones may."""
    own = (keys.embedded, keys.int_or_string, keys.list_keys, keys.list_type, keys.map_type, keys.preserve)
    return _mentions(spec, frozenset(("default", keys.validations, *own)))


def _mentions(spec: Mapping[str, Any], wanted: frozenset[str]) -> bool:
    """Report whether a schema anywhere in the definition has one of these keys."""
    waiting: list[Any] = [_schema_of(version) for version in spec.get("versions") or ()]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        if not wanted.isdisjoint(schema):
            return True
        for key in ("properties", "patternProperties", "definitions", "dependencies"):
            waiting += (schema.get(key) or {}).values()
        for key in ("allOf", "anyOf", "oneOf"):
            waiting += schema.get(key) or ()
        waiting += (schema.get("additionalProperties"), schema.get("not"))
        items = schema.get("items")
        waiting += items if isinstance(items, list) else [items]
    return False
