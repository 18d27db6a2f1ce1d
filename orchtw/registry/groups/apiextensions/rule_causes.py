"""Validation of rules in schemas: texts, expressions and costs (reference CRD-31)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.config.releases import LAST, Release
from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.schema.cel.field_paths import PathFault, field_path
from orchtw.schema.cel.verdict import RuleVerdict
from orchtw.schema.custom.extensions import Extensions, Schema, extensions
from orchtw.values.causes import forbidden, go_quote, invalid, not_supported, required

RULE_LIMIT: Final = 10_000_000
"""Estimated steps of one rule for all its values in a request."""

SCHEMA_LIMIT: Final = 100_000_000
"""Estimated steps of all rules of a schema."""

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_SHOWN: Final = (("rule", "Rule"), ("message", "Message"))
_ANYWHERE: Final = Path(None, "")
_MOST_EXPENSIVE: Final = 4  # rules that are named when all together are too much
_DEAR: Final = 1_000_000  # estimated steps from which on a rule is named
_ADVICE: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)


class Before(msgspec.Struct, frozen=True):
    """The old definition: its expressions, and its schemas by the name of their version."""

    expressions: frozenset[str] = frozenset()
    schemas: Mapping[str, Schema] = {}

    @classmethod
    def of(cls, spec: Mapping[str, Any] | None, naming: Naming) -> Before:
        """Return the expressions and schemas of a definition's spec; both are empty for None, a create."""
        expressions, schemas, keys = set[str](), {}, extensions(naming)
        for version in (spec or {}).get("versions") or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if schema is None:
                continue
            schemas[version.get("name", "")] = schema
            for node in walk(schema, _ANYWHERE, keys):
                for rule in node.schema.get(keys.validations) or ():
                    expressions.update((rule.get("rule") or "", rule.get("messageExpression") or ""))
        return cls(frozenset(expressions), schemas)

    def has(self, version: Mapping[str, Any]) -> bool:
        """Report whether a version had the schema that it has now."""
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        return schema is not None and self.schemas.get(version.get("name", "")) == schema


class RuleTerms(msgspec.Struct, frozen=True):
    """Conditions that the rules of one schema are checked under.

    `stored`: expressions that the definition had before, which may use everything that is known; `unchanged`: the
    schema is as it was, and no rule of it is too expensive; `release`: whose language new expressions have.
    """

    stored: frozenset[str] = frozenset()
    unchanged: bool = False
    release: Release = LAST


class _Place(msgspec.Struct, frozen=True):
    """A schema outside of conditions.

    `most`: how many values of it an object may have; None: no schema limits it. `uncorrelated`: the list from which
    on old and new values cannot be told to be the same.
    """

    schema: Schema
    path: Path
    names_itself: bool
    most: int | None
    uncorrelated: Path | None


def rule_causes(schema: Schema, path: Path, naming: Naming, terms: RuleTerms) -> Iterator[Cause]:
    """Yield the causes that reject rules in a structural schema."""
    keys = extensions(naming)
    waiting = [_Place(schema, path, True, 1, None)]
    costs: list[tuple[int, Path]] = []
    while waiting:
        place = waiting.pop()
        waiting.extend(reversed(list(_below(place, keys))))
        if rules := place.schema.get(keys.validations):
            yield from _rules_causes(rules, place, naming, terms, costs)
    yield from _total_causes(costs, path, keys)


def _rules_causes(
    rules: Sequence[Mapping[str, Any]],
    place: _Place,
    naming: Naming,
    terms: RuleTerms,
    costs: list[tuple[int, Path]],
) -> Iterator[Cause]:
    """Yield the causes that reject the rules of one schema; add their costs to `costs`."""
    from orchtw.schema.custom.rules import Judge  # time that the start is spared

    judge = Judge(place.schema, naming, names_itself=place.names_itself, release=terms.release)
    for index, rule in enumerate(rules):
        where = place.path.inside(extensions(naming).validations, index)
        yield from _text_causes(rule, where)
        yield from _member_causes(rule, where, place.schema)
        if not rule.get("rule", "").strip():
            continue
        source, optional = rule["rule"], bool(rule.get("optionalOldSelf"))
        verdict = judge.verdict(source, optional=optional, stored=source in terms.stored)
        yield from _causes(rule, where, place, verdict, terms, costs)
        if (text := rule.get("messageExpression", "")).strip():
            verdict = judge.message_verdict(text, optional=optional, stored=text in terms.stored)
            yield from _message_causes(rule, where / "messageExpression", verdict, costs)


def _below(place: _Place, keys: Extensions) -> Iterator[_Place]:
    schema, path, old = place.schema, place.path, place.uncorrelated
    for name, member in (schema.get("properties") or {}).items():
        yield _step(member, path.inside("properties", name), place.most, old, keys)
    if isinstance(more := schema.get("additionalProperties"), dict):
        most = _product(place.most, schema.get("maxProperties"))
        yield _step(more, path / "additionalProperties", most, old, keys)
    if isinstance(items := schema.get("items"), dict):
        if old is None and schema.get(keys.list_type) != "map":
            old = path
        yield _step(items, path / "items", _product(place.most, schema.get("maxItems")), old, keys)


def _step(schema: Schema, path: Path, most: int | None, uncorrelated: Path | None, keys: Extensions) -> _Place:
    return _Place(schema, path, bool(schema.get(keys.embedded)), most, uncorrelated)


def _product(most: int | None, limit: int | None) -> int | None:
    return None if most is None or limit is None else most * int(limit)


def _text_causes(rule: Mapping[str, Any], path: Path) -> Iterator[Cause]:
    """Yield the cause that rejects the texts of a rule: the first only."""
    source, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not source:
        yield required(str(path / "rule"), "rule is not specified")
    elif message and not message.strip():
        yield invalid(str(path / "message"), message, "message must be non-empty if specified")
    elif _breaks(message):
        yield invalid(str(path / "message"), message, "message must not contain line breaks")
    elif _breaks(source) and not message:
        yield required(str(path / "message"), "message must be specified if rule contains line breaks")


def _member_causes(rule: Mapping[str, Any], path: Path, schema: Schema) -> Iterator[Cause]:
    """Yield the causes that reject the members of rules that newer releases added."""
    wording, reason, place = (rule.get(key, "") for key in ("messageExpression", "reason", "fieldPath"))
    if wording and not wording.strip():
        yield required(str(path / "messageExpression"), "messageExpression must be non-empty if specified")
    if reason is not None and "reason" in rule and reason not in _REASONS:
        yield not_supported(str(path / "reason"), reason, _REASONS)
    if not place:
        return
    field = str(path / "fieldPath")
    if not place.strip():
        yield invalid(field, place, "fieldPath must be non-empty if specified")
    if _breaks(place):
        yield invalid(field, place, "fieldPath must not contain line breaks")
    try:
        field_path(place, schema)
    except PathFault:
        yield invalid(field, place, "fieldPath must be a valid path")


def _message_causes(
    rule: Mapping[str, Any], path: Path, verdict: RuleVerdict, costs: list[tuple[int, Path]]
) -> Iterator[Cause]:
    """Yield the cause that rejects the expression for a message; add its cost to `costs`."""
    if verdict.fault:
        yield _fault(rule, path, verdict)
        return
    costs.append((verdict.estimate, path))
    if verdict.estimate > RULE_LIMIT:
        yield forbidden(str(path), _excess("estimated messageExpression cost", verdict.estimate, RULE_LIMIT))


def _fault(rule: Mapping[str, Any], path: Path, verdict: RuleVerdict) -> Cause:
    """Return the cause of an expression that cannot run, which shows the rule as the release does."""
    shown = ", ".join(f"{name}:{go_quote(rule.get(key, ''))}" for key, name in _SHOWN)
    value = f"apiextensions.ValidationRule{{{shown}}}"
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {verdict.fault}", str(path))


def _breaks(text: str) -> bool:
    return any(sign in text.strip() for sign in "\n\r")


def _causes(
    rule: Mapping[str, Any],
    path: Path,
    place: _Place,
    verdict: RuleVerdict,
    terms: RuleTerms,
    costs: list[tuple[int, Path]],
) -> Iterator[Cause]:
    """Yield the causes that reject the expression of a rule; add its cost to `costs`."""
    source, where = rule["rule"], path / "rule"
    if verdict.fault:
        yield _fault(rule, where, verdict)
        return
    cost = _cost(verdict, place)
    costs.append((cost, where))
    if cost > RULE_LIMIT and not terms.unchanged:
        yield forbidden(str(where), _excess("estimated rule cost", cost, RULE_LIMIT))
    optional = rule.get("optionalOldSelf")
    if verdict.is_transition and place.uncorrelated is not None and not optional:
        why = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        yield invalid(str(where), source, f"{why} {place.uncorrelated}")
    if not verdict.is_transition and optional is not None:
        yield invalid(str(path / "optionalOldSelf"), optional, "may not be set if oldSelf is not used in rule")


def _cost(verdict: RuleVerdict, place: _Place) -> int:
    """Return the cost for all values of a request: as many as the schema allows, else as fit into a request."""
    return verdict.estimate * (verdict.repeats if place.most is None else place.most)


def _total_causes(costs: list[tuple[int, Path]], path: Path, keys: Extensions) -> Iterator[Cause]:
    total = sum(cost for cost, _ in costs)
    if total <= SCHEMA_LIMIT:
        return
    dear = [each for each in sorted(costs, key=lambda each: -each[0])[:_MOST_EXPENSIVE] if each[0] >= _DEAR]
    for _, where in dear:
        why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        yield forbidden(str(where), why)
    name = f"{keys.validations} estimated rule cost total for entire OpenAPIv3 schema"
    yield forbidden(str(path), _excess(name, total, SCHEMA_LIMIT))


def _excess(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} ({_ADVICE})"
