"""The rules of a structural schema, compiled, and their evaluation on objects (reference CRD-28 to CRD-32)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.names import Naming
from orchtw.schema.cel.compiler import Compiled, compiled
from orchtw.schema.cel.declarations import Extensions, Read, Structure, declared, reader
from orchtw.schema.cel.equality import key_of
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.frames import STEPS
from orchtw.schema.cel.sizes import most_values
from orchtw.schema.cel.types import BOOL, Type
from orchtw.schema.cel.verdict import RuleVerdict
from orchtw.schema.validation.problems import at
from orchtw.values.causes import invalid

RULE_STEPS: Final = 1_000_000
"""Steps that one evaluation may take: a tenth of a second."""

OBJECT_STEPS: Final = 10_000_000
"""Steps that all rules of an object may take together."""

INLINE_STEPS: Final = 200_000
"""Steps that may be taken while other requests wait: some 20 ms."""

_SHORTEST_ELEMENT: Final = 2  # bytes of a list's element in JSON, with its comma
_ROOT: Final = "<nil>"


class _Rule(msgspec.Struct, frozen=True):
    """One rule, and the texts of its causes."""

    source: str
    message: str
    expression: Compiled | None
    fault: str

    @property
    def shown(self) -> str:
        return (self.message or self.source).strip()


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    """A schema with rules in it or below. `keys`: the keys that tell elements of a list apart; None: nothing does."""

    rules: tuple[_Rule, ...]
    type: str
    read: Read | None
    members: tuple[tuple[str, _Node], ...]
    values: _Node | None
    items: _Node | None
    keys: tuple[str, ...] | None


def variables(schema: Structure, keys: Extensions, *, names_itself: bool) -> dict[str, Type]:
    """Return the variables of a schema's rules; none if expressions cannot see its values."""
    kind = declared(schema, keys, "self", names_itself=names_itself)
    return {} if kind is None else {"self": kind, "oldSelf": kind}


class Judge:
    """Checks the rules of one schema before they run."""

    def __init__(self, schema: Structure, naming: Naming, *, names_itself: bool) -> None:
        self._repeats = most_values(schema)
        self._known = variables(schema, Extensions.of(naming), names_itself=names_itself)

    def verdict(self, source: str) -> RuleVerdict:
        """Return the verdict on one rule."""
        try:
            found = compiled(source, self._known)
        except Fault as fault:
            return RuleVerdict(f"compilation failed: {fault.shown(source)}")
        if found.code.type != BOOL:
            return RuleVerdict("cel expression must evaluate to a bool")
        return RuleVerdict("", "oldSelf" in found.names, found.code.estimate.cost, self._repeats)


class CelRules:
    """Rules of a kind in one version; calling them with an object and perhaps the old one returns the causes."""

    def __init__(self, root: Any) -> None:
        self._root: _Node = root
        self._steps = _steps(root)

    def __call__(self, new: Any, old: Any = None) -> list[Cause]:
        """Return the causes why the object, or its change from `old`, is invalid; in the order of the schema."""
        check = _Check()
        check.node(self._root, new, old, "")
        return check.causes

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
    known = variables(schema, keys, names_itself=names_itself) if found else {}
    for each in found:
        source, message = each.get("rule") or "", each.get("message") or ""
        if not source.strip():
            continue
        try:
            yield _Rule(source, message, compiled(source, known), "")
        except Fault as fault:
            yield _Rule(source, message, None, f"rule compile error: compilation failed: {fault.shown(source)}")


def _steps(root: _Node) -> tuple[float, ...]:
    """Return the coefficients of the worst-case steps, by power of the size: the macros and lists around a rule."""
    found: dict[int, float] = {}
    waiting = [(root, 0)]
    while waiting:
        node, order = waiting.pop()
        for rule in node.rules:
            for depth, steps in enumerate(rule.expression.code.steps if rule.expression else ()):
                found[depth + order] = found.get(depth + order, 0) + steps / (_SHORTEST_ELEMENT if order else 1)
        waiting += ((each, order) for _, each in node.members)
        # Elements share the object: in all, no more of them are visited than it has room for.
        waiting += ((each, max(order, 1)) for each in (node.values, node.items) if each is not None)
    return tuple(found.get(order, 0) for order in range(max(found, default=0) + 1))


class _Check:
    """One pass over an object, with the budget of steps that is left for its rules."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self._left = OBJECT_STEPS

    def node(self, node: _Node, new: Any, old: Any, path: str) -> None:
        """Evaluate the rules of a value, then those below it; null has none."""
        if new is None or self._left < 0 or len(self.causes) > MAX_CAUSES:
            return
        if node.rules:
            self._evaluate(node, new, old, path or _ROOT)
        if isinstance(new, dict):
            self._object(node, new, old if isinstance(old, dict) else {}, path)
        elif isinstance(new, list) and node.items is not None:
            self._list(node, node.items, new, old, path)

    def _object(self, node: _Node, new: dict[str, Any], old: dict[str, Any], path: str) -> None:
        for key, member in node.members:
            if key in new:
                self.node(member, new[key], old.get(key), f"{path}.{key}" if path else key)
        if node.values is not None:
            for key, value in new.items():
                self.node(node.values, value, old.get(key), path + at(key))

    def _list(self, node: _Node, items: _Node, new: list[Any], old: Any, path: str) -> None:
        before: dict[Any, Any] = {}
        keys = node.keys
        if keys is not None and isinstance(old, list):
            before = {key_of(each, keys): each for each in old if isinstance(each, dict)}
        for index, each in enumerate(new):
            match = before.get(key_of(each, keys)) if keys is not None and before else None
            self.node(items, each, match, f"{path}[{index}]")

    def _evaluate(self, node: _Node, new: Any, old: Any, path: str) -> None:
        read = node.read
        try:
            value = new if read is None else read(new)
            before = old if read is None or old is None else read(old)
        except Failure as failure:
            self._tell(node, path, f"{failure} evaluating rule: {node.rules[0].shown}")
            return
        for rule in node.rules:
            if self._left < 0:
                return
            if rule.expression is None:
                self._tell(node, path, rule.fault)
            elif old is not None or "oldSelf" not in rule.expression.names:
                self._run(node, rule, rule.expression, value, before, path)

    def _run(self, node: _Node, rule: _Rule, expression: Compiled, value: Any, before: Any, path: str) -> None:
        allowed = min(RULE_STEPS, self._left)
        frame = expression.frame(value, before, allowed)
        try:
            if expression.run(frame) is not True:
                self._tell(node, path, rule.message or f"failed rule: {rule.shown}")
        except CostExceeded:
            self._exceeded(node, rule, path)
            return
        except Failure as failure:
            self._tell(node, path, _why(failure, rule))
        self._left -= allowed - frame[STEPS]

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
        self.causes.append(invalid(path, node.type, why))


def _why(failure: Failure, rule: _Rule) -> str:
    if str(failure).startswith("no such overload"):
        tail = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{failure}': {tail}: {rule.shown}"
    return f"{failure} evaluating rule: {rule.shown}"
