"""The rules of a structural schema, compiled, and their evaluation on objects (reference CRD-28 to CRD-32)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.cel.compiler import Compiled, compiled
from orchtw.schema.cel.declarations import Extensions, Read, Structure, declared, reader
from orchtw.schema.cel.environment import Release, compatible, environment
from orchtw.schema.cel.equality import key_of
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.field_paths import PathFault, field_path
from orchtw.schema.cel.frames import STEPS
from orchtw.schema.cel.sizes import most_values
from orchtw.schema.cel.types import BOOL, DYN, STRING, Type, optional_of
from orchtw.schema.cel.values import ABSENT, Optional
from orchtw.schema.cel.verdict import RuleVerdict
from orchtw.schema.custom import wording
from orchtw.schema.custom.outcome import Outcome
from orchtw.schema.custom.terms import DEFAULT, Forms, ValidationTerms
from orchtw.schema.validation.problems import at
from orchtw.values import utf8
from orchtw.values.causes import Literal, duplicate, forbidden, go_quote, invalid, required
from orchtw.wire.json_values import alike

RULE_STEPS: Final = 1_000_000
"""Steps that one evaluation may take: a tenth of a second."""

OBJECT_STEPS: Final = 10_000_000
"""Steps that all rules of an object may take together."""

INLINE_STEPS: Final = 200_000
"""Steps that may be taken while other requests wait: some 20 ms."""

MESSAGE_BYTES: Final = 5120
"""Size of the longest message that an expression may make."""

_SHORTEST_ELEMENT: Final = 2  # bytes of a list's element in JSON, with its comma
_ROOT: Final = "<nil>"
_PARTED: Final = ("object", "array")


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, and what its causes say.

    `wording`: the compiled messageExpression; None: the rule has no valid one. `place`: path of the error below the
    value. `always`: the rule also runs without an old value, which is then absent.
    """

    source: str
    message: str
    expression: Compiled | None
    fault: str
    wording: Compiled | None = None
    reason: str = ""
    place: str = ""
    always: bool = False

    @property
    def shown(self) -> str:
        return (self.message or self.source).strip()

    @property
    def compares(self) -> bool:
        """Report whether the rule refers to the old value."""
        return self.expression is not None and "oldSelf" in self.expression.names


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    """A schema with rules in it or below. `keys`: the map keys of a list; None: its elements are not correlated."""

    rules: tuple[_Rule, ...]
    type: str
    read: Read | None
    members: tuple[tuple[str, _Node], ...]
    values: _Node | None
    items: _Node | None
    keys: tuple[str, ...] | None


def variables(schema: Structure, keys: Extensions, *, names_itself: bool, optional: bool = False) -> dict[str, Type]:
    """Return the variables of a schema's rules; empty if expressions cannot refer to its values.

    `optional`: the old value may be absent.
    """
    kind = declared(schema, keys, "self", names_itself=names_itself)
    if kind is None:
        return {}
    return {"self": kind, "oldSelf": optional_of(kind) if optional else kind}


class Judge:
    """Checks the rules of one schema before they run, as new ones under a `release`; None: as stored ones."""

    def __init__(
        self, schema: Structure, naming: Naming, *, names_itself: bool, release: Release | None = None
    ) -> None:
        self._repeats = most_values(schema)
        keys = Extensions.of(naming)
        self._known = [
            variables(schema, keys, names_itself=names_itself, optional=optional) for optional in (False, True)
        ]
        self._environment = environment(None if release is None else compatible(release))

    def verdict(self, source: str, *, optional: bool = False, stored: bool = False) -> RuleVerdict:
        """Return the verdict on one rule; `stored`: it was there before."""
        try:
            found = compiled(source, self._known[optional], environment() if stored else self._environment)
        except Fault as fault:
            return RuleVerdict(f"compilation failed: {fault.shown(source)}")
        if found.code.type != BOOL:
            return RuleVerdict("cel expression must evaluate to a bool")
        return RuleVerdict("", "oldSelf" in found.names, found.code.estimate.cost, self._repeats)

    def message_verdict(self, source: str, *, optional: bool = False, stored: bool = False) -> RuleVerdict:
        """Return the verdict on the expression for a message."""
        try:
            found = compiled(source, self._known[optional], environment() if stored else self._environment)
        except Fault as fault:
            return RuleVerdict(f"messageExpression compilation failed: {fault.shown(source)}")
        if found.code.type != STRING:
            return RuleVerdict("messageExpression must evaluate to a string")
        return RuleVerdict("", "oldSelf" in found.names, found.code.estimate.cost)


class CelRules:
    """Rules of a kind in one version; calling them with an object and perhaps the old one returns the causes."""

    def __init__(self, root: Any) -> None:
        self._root: _Node = root
        self._steps = _steps(root)

    def __call__(self, new: Any, old: Any = None) -> list[Cause]:
        """Return the causes why the object, or its change from `old`, is invalid; in the order of the schema."""
        return self.outcome(new, old).causes

    def outcome(self, new: Any, old: Any = None, terms: ValidationTerms = DEFAULT) -> Outcome:
        """Return the causes; by terms that ratchet, those of unchanged values are excused instead."""
        check = _Check(terms.forms, ratchets=terms.ratchets and old is not None)
        check.node(self._root, new, old, "", False)
        return Outcome(check.causes, check.excused)

    def may_take_long(self, size_bytes: int) -> bool:
        """Report whether the rules may take longer than other requests should wait, for `size_bytes` of JSON."""
        return self.steps(size_bytes) > INLINE_STEPS

    def steps(self, size_bytes: int) -> int:
        """Return the most steps that the rules can take for an object of `size_bytes` of JSON."""
        total = sum(steps * float(size_bytes) ** order for order, steps in enumerate(self._steps))
        return int(min(OBJECT_STEPS, total))


def rules_of(structure: Structure, naming: Naming) -> CelRules | None:
    """Return the rules of a structural schema; None: it has none."""
    root = _compiled(structure, Extensions.of(naming), naming.extension_prefix, "", names_itself=True)
    return None if root is None else CelRules(root)


def _compiled(schema: Structure, keys: Extensions, prefix: str, name: str, *, names_itself: bool) -> _Node | None:
    """Compile the rules in a schema and below; its depth is bounded by the codec of definitions."""

    def below(part: Any, step: str) -> _Node | None:
        if not isinstance(part, dict):
            return None
        return _compiled(part, keys, prefix, step, names_itself=bool(part.get(keys.embedded)))

    found = ((key, below(part, key)) for key, part in (schema.get("properties") or {}).items())
    members = tuple((key, node) for key, node in found if node is not None)
    values, items = below(schema.get("additionalProperties"), "*"), below(schema.get("items"), "")
    rules = tuple(_rules(schema, keys, prefix, names_itself=names_itself))
    if not rules and not members and values is None and items is None:
        return None
    kind = declared(schema, keys, "self", names_itself=names_itself) if rules else None
    return _Node(
        rules=rules,
        type=schema.get("type") or "",
        read=None if kind is None else reader(kind, schema, keys),
        members=members,
        values=values,
        items=items,
        keys=tuple(schema.get(keys.list_keys) or ()) if schema.get(keys.list_type) == "map" else None,
    )


def _rules(schema: Structure, keys: Extensions, prefix: str, *, names_itself: bool) -> Iterator[_Rule]:
    found = schema.get(f"{prefix}validations") or ()
    known = [variables(schema, keys, names_itself=names_itself, optional=optional) for optional in (False, True)]
    for each in found:
        if (each.get("rule") or "").strip():
            yield _rule(each, known[bool(each.get("optionalOldSelf"))], schema)


def _rule(rule: Structure, known: dict[str, Type], schema: Structure) -> _Rule:
    source = rule["rule"]
    expression, fault = None, ""
    try:
        expression = compiled(source, known)
    except Fault as found:
        fault = f"rule compile error: compilation failed: {found.shown(source)}"
    return _Rule(
        source=source,
        message=rule.get("message") or "",
        expression=expression,
        fault=fault,
        wording=_wording(rule.get("messageExpression") or "", known),
        reason=rule.get("reason") or "",
        place=_place(rule.get("fieldPath") or "", schema),
        always=bool(rule.get("optionalOldSelf")),
    )


def _wording(source: str, known: dict[str, Type]) -> Compiled | None:
    if not source.strip():
        return None
    try:
        found = compiled(source, known)
    except Fault:
        return None
    return found if found.code.type in (STRING, DYN) else None


def _place(path: str, schema: Structure) -> str:
    if not path:
        return ""
    try:
        return field_path(path, schema).shown
    except PathFault:
        return ""


def _steps(root: _Node) -> tuple[float, ...]:
    """Return the coefficients of the worst-case steps, by power of the size: the macros and lists around a rule."""
    found: dict[int, float] = {}
    waiting = [(root, 0)]
    while waiting:
        node, order = waiting.pop()
        for rule in node.rules:
            for depth, steps in _steps_of(rule):
                found[depth + order] = found.get(depth + order, 0) + steps / (_SHORTEST_ELEMENT if order else 1)
        waiting += ((each, order) for _, each in node.members)
        # Elements share the object: in all, no more of them are visited than it has room for.
        waiting += ((each, max(order, 1)) for each in (node.values, node.items) if each is not None)
    return tuple(found.get(order, 0) for order in range(max(found, default=0) + 1))


def _steps_of(rule: _Rule) -> Iterator[tuple[int, float]]:
    for expression in (rule.expression, rule.wording):
        if expression is not None:
            yield from enumerate(expression.code.steps)


class _Place(msgspec.Struct, frozen=True):
    """A value with its path; `same`: it, or the nearest value around it whose old form is known, has not changed."""

    value: Any
    path: str
    same: bool


class _Check:
    """One pass over an object, with the budget of steps that is left for its rules."""

    def __init__(self, forms: Forms, *, ratchets: bool) -> None:
        self._forms = forms
        self.causes: list[Cause] = []
        self.excused: list[str] = []
        self._left = OBJECT_STEPS
        self._ratchets = ratchets

    def node(self, node: _Node, new: Any, old: Any, path: str, same: bool) -> None:
        """Evaluate the rules of a value, then those below it; those of null are not evaluated.

        `same`: the nearest value around it whose old form is known has not changed.
        """
        if new is None or self._left < 0 or len(self.causes) > MAX_CAUSES:
            return
        same = same or (self._ratchets and old is not None and alike(new, old))
        if node.rules:
            self._evaluate(node, new, old, path, same)
        if isinstance(new, dict):
            self._object(node, new, old if isinstance(old, dict) else {}, path, same)
        elif isinstance(new, list) and node.items is not None:
            self._list(node, node.items, new, old, path, same)

    def _object(self, node: _Node, new: dict[str, Any], old: dict[str, Any], path: str, same: bool) -> None:
        for key, member in node.members:
            if key in new:
                self.node(member, new[key], old.get(key), f"{path}.{key}" if path else key, same)
        if node.values is not None:
            for key, value in new.items():
                self.node(node.values, value, old.get(key), path + at(key), same)

    def _list(self, node: _Node, items: _Node, new: list[Any], old: Any, path: str, same: bool) -> None:
        before: dict[Any, Any] = {}
        keys = node.keys
        if keys is not None and isinstance(old, list):
            before = {key_of(each, keys): each for each in old if isinstance(each, dict)}
        for index, each in enumerate(new):
            match = before.get(key_of(each, keys)) if keys is not None and before else None
            self.node(items, each, match, f"{path}[{index}]", same)

    def _evaluate(self, node: _Node, new: Any, old: Any, path: str, same: bool) -> None:
        read = node.read
        try:
            value = new if read is None else read(new)
            before = old if read is None or old is None else read(old)
        except Failure as failure:
            self._tell(node, path, f"{failure} evaluating rule: {node.rules[0].shown}")
            return
        place = _Place(new, path, same)
        for rule in node.rules:
            if self._left < 0:
                return
            if rule.expression is None:
                self._tell(node, path, rule.fault)
            elif rule.always:
                self._run(node, rule, (value, ABSENT if old is None else Optional(before)), place)
            elif old is not None or not rule.compares:
                self._run(node, rule, (value, before), place)

    def _run(self, node: _Node, rule: _Rule, values: tuple[Any, Any], place: _Place) -> None:
        expression, allowed = rule.expression, min(RULE_STEPS, self._left)
        assert expression is not None
        frame = expression.frame(*values, allowed)
        holds, why = False, ""
        try:
            holds = expression.run(frame) is True
        except CostExceeded:
            self._exceeded(node, rule, place.path)
            return
        except Failure as failure:
            why = _why(failure, rule)
        self._left -= allowed - frame[STEPS]
        if why:
            self._tell(node, place.path, why)
        elif not holds:
            self._broken(node, rule, values, place)

    def _broken(self, node: _Node, rule: _Rule, values: tuple[Any, Any], place: _Place) -> None:
        """Record a rule that does not hold; it is excused for an unchanged value, unless it refers to the old one."""
        text = self._message(rule, values) or rule.message or f"failed rule: {rule.shown}"
        cause = _cause(rule, place.path, _shown(node.type, place.value, self._forms), text)
        if place.same and not rule.compares:
            self.excused.append(str(cause))
        else:
            self.causes.append(cause)

    def _message(self, rule: _Rule, values: tuple[Any, Any]) -> str:
        """Return the message that messageExpression makes; empty if it fails or its value cannot be shown."""
        if rule.wording is None:
            return ""
        allowed = min(RULE_STEPS, self._left)
        frame = rule.wording.frame(*values, allowed)
        try:
            found = rule.wording.run(frame)
        except (CostExceeded, Failure):
            found = ""
        self._left -= min(allowed, allowed - frame[STEPS])
        text = found.strip() if type(found) is str else ""
        return "" if utf8.size(text) > MESSAGE_BYTES or any(sign in text for sign in "\n\r") else text

    def _exceeded(self, node: _Node, rule: _Rule, path: str) -> None:
        """Record that a rule ran out of steps; no other rule is run."""
        whole, self._left = self._left < RULE_STEPS, -1
        if whole:
            why = "validation failed due to running out of cost budget, no further validation rules will be run"
        else:
            over = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run"
            why = f"{over} due to call cost exceeds limit for rule: {rule.shown}"
        self._tell(node, path, why)

    def _tell(self, node: _Node, path: str, why: str) -> None:
        self.causes.append(invalid(path or _ROOT, node.type, why))


def _shown(kind: str, value: Any, forms: Forms) -> Literal:
    """Return what the cause of a broken rule shows of a value of a type (reference CRD-72)."""
    if not forms.shows_values:
        return Literal(go_quote(kind))
    return Literal("" if kind in _PARTED else wording.shown(value, forms))


def _cause(rule: _Rule, path: str, shown: Literal, text: str) -> Cause:
    """Return the cause of a rule that does not hold, of the type and at the place that it asks for."""
    where = f"{path}{rule.place}" if path or not rule.place else rule.place.removeprefix(".")
    if rule.reason == "FieldValueForbidden":
        return forbidden(where or _ROOT, text)
    if rule.reason == "FieldValueRequired":
        return required(where or _ROOT, text)
    if rule.reason == "FieldValueDuplicate":
        return duplicate(where or _ROOT, shown)
    return invalid(where or _ROOT, shown, text)


def _why(failure: Failure, rule: _Rule) -> str:
    if str(failure).startswith("no such overload"):
        tail = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{failure}': {tail}: {rule.shown}"
    return f"{failure} evaluating rule: {rule.shown}"
