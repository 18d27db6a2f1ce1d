"""Validators of structs, generated from the rules of their schema nodes and compiled on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs
import msgspec

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.schema.codec.generated import Functions, Writer
from orchtw.schema.known_parts import KnownParts
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Node, NodeForm, OneOf, Scalar, StructRules, StructSchema
from orchtw.schema.validation.formats import FORMATS
from orchtw.schema.validation.problems import GIVEN

Validator = Callable[[dict[str, Any], dict[str, Any] | None], list[Cause]]
"""Function of a canonical dict and, on update, the one that it replaces (else None): returns every cause in the order
of the fields; of very many, a few more than are shown."""

Check = Callable[[dict[str, Any], dict[str, Any] | None], list[Cause]]
"""Rule of a struct across several fields; called like a Validator, with fields as paths below the struct."""

Consequence = Callable[[dict[str, Any], list[Cause]], list[Cause]]
"""Function that returns further causes for a struct in which causes were found."""

NO_CHECKS: Final[Mapping[str, Check]] = {}
NO_CONSEQUENCES: Final[Mapping[str, Consequence]] = {}
_NO_RULES: Final = StructRules()
_SELECTOR: Final = "orch.io.apimachinery.pkg.apis.meta.v1.LabelSelector"  # a cause shows it as Go does
_NUMBERS: Final = frozenset({Scalar.INT32, Scalar.INT64, Scalar.DOUBLE, NodeForm.INT_OR_STRING})
_COUNTED: Final = {"min_items", "max_items", "item"}


class Validators:
    """The validators of all structs; each is compiled on first use, and one without rules never.

    `checks` are called for structs of that name at any place, after the rules that the struct declares. A struct
    inside a list or map has no counterpart before the update: its checks get None for it. `consequences` are called
    last, for structs with causes. Large structs right below a whole object, such as a spec, are not checked again
    while `known` has their text.
    """

    def __init__(
        self,
        checks: Mapping[str, Check] = NO_CHECKS,
        consequences: Mapping[str, Consequence] = NO_CONSEQUENCES,
        known: KnownParts | None = None,
    ) -> None:
        self._valid = (KnownParts() if known is None else known).valid
        self._checks = checks
        self._consequences = consequences
        self._functions = Functions(self._write, GIVEN)
        self._ruled: dict[StructSchema, bool] = {}

    def find(self, schema: StructSchema) -> Validator | None:
        """Return the validator of a struct; None: nothing in or below it has a rule.

        Raises ValueError for a rule that does not fit the type of its field, or a format that is unknown.
        """
        return self._functions[schema] if self._concerns(schema) else None

    def _concerns(self, node: Node) -> bool:
        """Report whether the struct in `node`, or any struct that it may contain, has a rule."""
        root = _struct_of(node)
        if root is None:
            return False
        known = self._ruled.get(root)
        if known is None:
            reached: set[StructSchema] = set()
            known = any(self._ruled.get(each) or self._has_rules(each) for each in _reachable(root, reached))
            self._ruled.update(dict.fromkeys((root,) if known else reached, known))
        return known

    def _write(self, schema: StructSchema, w: Writer) -> None:
        with w.block(f"def {w.name}(new, old):"):
            w("out = []")
            for field in schema.keys.values():
                self._write_field(field, w, of_object=schema.kind == "object")
            for part in _inlined(schema):
                for one_of in part.one_of:
                    _write_one_of(one_of, w)
                if (check := self._checks.get(part.name)) is not None:
                    w(f"out += {w.constant(check)}(new, old)")
            if (consequence := self._consequences.get(schema.name)) is not None:
                with w.block("if out:"):
                    w(f"out += {w.constant(consequence)}(new, out)")
            w("return out")

    def _has_rules(self, struct: StructSchema) -> bool:
        if struct.one_of or struct.name in self._checks:
            return True
        return any(field.rules is not None for field in struct.fields)

    def _write_field(self, field: Field, w: Writer, *, of_object: bool) -> None:
        rules = field.rules or _NO_RULES
        if field.unchecked or (field.rules is None and not self._concerns(field.node)):
            return
        key = repr(field.name)
        at = _Place("v0", f"None if old is None else old.get({key})", key, 0, of_object)
        if rules.required or rules.immutable:
            w(f"v0 = new.get({key})")
            self._write_present(field, rules, at, w)
        else:
            with w.block(f"if {key} in new:"):  # most fields of most structs are absent
                w(f"v0 = new[{key}]")
                self._write_present(field, rules, at, w)
        if rules.immutable:
            is_selector = isinstance(field.node, StructSchema) and field.node.name == _SELECTOR
            value = "selector(v0)" if is_selector else "v0"
            with w.block(f"if old is not None and old.get({key}) != v0:"):
                w(f"out.append(invalid({key}, {value}, IMMUTABLE))")

    def _write_present(self, field: Field, rules: StructRules, at: _Place, w: Writer) -> None:
        with _where_present(rules, field.pointer, at, w):
            self._write_value(field.node, rules, at, w)

    def _write_value(self, node: Node, rules: StructRules, at: _Place, w: Writer) -> None:
        _check_fit(node, rules)
        if isinstance(node, ListSchema):
            self._write_list(node, rules, at, w)
        elif isinstance(node, MapSchema):
            self._write_map(node, rules, at, w)
        elif isinstance(node, StructSchema):
            if self._concerns(node):
                call = f"{w.function(node)}({at.value}, {at.before})"
                if at.of_object:
                    known, name = w.constant(self._valid), w.function(node)
                    call = f"{known}({name!r}, {name}, {at.value}, {at.before})"
                with w.block(f"if found := {call}:"):
                    w(f"out += within({at.path}, found)")
        elif node in _NUMBERS:
            _write_number(node, rules, at, w)
        else:
            _write_text(rules, at, w)

    def _write_list(self, node: ListSchema, rules: StructRules, at: _Place, w: Writer) -> None:
        _write_counts(rules, at, w)
        unique = rules.unique or bool(rules.unique_by)
        if not (unique or rules.item or self._concerns(node.element)):
            return
        index, seen = f"i{at.depth}", f"seen{at.depth}"
        element = at.inner(index)
        if unique:
            w(f"{seen} = set()")
        with w.block(f"for {index}, {element.value} in enumerate({at.value}):"):
            if unique:
                _write_uniqueness((rules.unique_by,) if rules.unique_by else node.map_keys, seen, element, w)
            self._write_element(node.element, rules.item or _NO_RULES, element, w)

    def _write_map(self, node: MapSchema, rules: StructRules, at: _Place, w: Writer) -> None:
        _write_counts(rules, at, w)
        if not (rules.key or rules.item or self._concerns(node.value)):
            return
        key = f"k{at.depth}"
        value = at.inner(key)
        with w.block(f"for {key}, {value.value} in {at.value}.items():"):
            if rules.key is not None:
                _check_fit(Scalar.STRING, rules.key)
                _write_text(rules.key, msgspec.structs.replace(value, value=key), w)
            self._write_element(node.value, rules.item or _NO_RULES, value, w)

    def _write_element(self, node: Node, rules: StructRules, at: _Place, w: Writer) -> None:
        """Write the checks of an element: elements have no counterpart before the update."""
        if rules.immutable:
            raise ValueError(f"{at.path}: fields inside a list or map cannot be immutable")
        with _where_present(rules, False, at, w):
            self._write_value(node, rules, at, w)
        with w.block(f"if len(out) > {MAX_CAUSES}:"):
            w("break")


class _Place(msgspec.Struct, frozen=True):
    """Source of a value, of its value before the update, and of its path, inside `depth` lists and maps.

    `of_object`: it is a field of a whole object.
    """

    value: str
    before: str
    path: str
    depth: int
    of_object: bool = False

    def inner(self, key: str) -> _Place:
        """Return the place of the element whose index or key is in the variable `key`."""
        return _Place(f"v{self.depth + 1}", "None", f"{self.path} + at({key})", self.depth + 1)


@contextmanager
def _where_present(rules: StructRules, pointer: bool, at: _Place, w: Writer) -> Iterator[None]:
    """Write lines for a present value; an absent one may be required; without `pointer` zero counts as absent."""
    if rules.required:
        with w.block(f"if {at.value} is None:" if pointer else f"if not {at.value}:"):
            w(f"out.append(required({at.path}, {rules.required_detail!r}))")
    with w.block("else:" if rules.required else f"if {at.value} is not None:"):
        w("pass")
        yield


def _write_counts(rules: StructRules, at: _Place, w: Writer) -> None:
    if rules.min_items is not None:
        with w.block(f"if len({at.value}) < {rules.min_items}:"):
            w(f"out.append(too_few({at.path}, {at.value}, {rules.min_items}))")
    if rules.max_items is not None:
        with w.block(f"if len({at.value}) > {rules.max_items}:"):
            w(f"out.append(too_many({at.path}, len({at.value}), {rules.max_items}))")


def _write_uniqueness(keys: tuple[str, ...], seen: str, at: _Place, w: Writer) -> None:
    """Write the check for repeated elements, compared by `keys`, or as a whole without them."""
    path = at.path
    if len(keys) == 1:
        path += f" + {'.' + keys[0]!r}"
        w(f"key = shown = {at.value}.get({keys[0]!r})")
    elif keys:
        w(f"shown = {{{', '.join(f'{key!r}: {at.value}.get({key!r})' for key in keys)}}}", "key = identity(shown)")
    else:
        w(f"shown = {at.value}", "key = identity(shown)")
    with w.block(f"if key in {seen}:"):
        w(f"out.append(duplicate({path}, shown))")
    with w.block("elif key:"):
        w(f"{seen}.add(key)")


def _write_number(node: Node, rules: StructRules, at: _Place, w: Writer) -> None:
    limits = [(rules.minimum, "<"), (rules.maximum, ">")]
    tests = [f"{at.value} {sign} {limit!r}" for limit, sign in limits if limit is not None]
    if tests:
        is_number = f"type({at.value}) is int and " if node is NodeForm.INT_OR_STRING else ""
        with w.block(f"if {is_number}({' or '.join(tests)}):"):
            w(f"out.append(beyond({at.path}, {at.value}, {w.constant(rules)}))")
    _write_format(rules, at, w)


def _write_text(rules: StructRules, at: _Place, w: Writer) -> None:
    if rules.allowed:
        allowed = w.constant(rules.allowed)
        with w.block(f"if {at.value} not in {allowed}:"):
            w(f"out.append(not_supported({at.path}, {at.value}, sorted({allowed})))")
    if rules.max_length is not None:
        with w.block(f"if len({at.value}.encode()) > {rules.max_length}:"):
            w(f"out.append(too_long({at.path}, {rules.max_length}))")
    _write_format(rules, at, w)


def _write_format(rules: StructRules, at: _Place, w: Writer) -> None:
    if rules.format:
        with w.block(f"for text in {w.constant(FORMATS[rules.format])}({at.value}):"):
            w(f"out.append(invalid({at.path}, {at.value}, text))")


def _write_one_of(one_of: OneOf, w: Writer) -> None:
    given = " + ".join(f"({key!r} in new and new[{key!r}] not in UNSET)" for key in one_of.keys)
    with w.block(f"if {given} {'!=' if one_of.missing else '>'} 1:"):
        w(f"given = [key for key in {one_of.keys!r} if new.get(key) not in UNSET]")
        with w.block("for key in given[1:]:"):
            w(f"out.append(forbidden(key, {one_of.too_many!r}))")
        if one_of.missing:
            with w.block("if not given:"):
                w(f"out.append(required('', {one_of.missing!r}))")


def _check_fit(node: Node, rules: StructRules) -> None:
    """Raise ValueError for a rule that does not apply to values of this type."""
    if isinstance(node, ListSchema):
        fit = {*_COUNTED, "unique", "unique_by"}
    elif isinstance(node, MapSchema):
        fit = {*_COUNTED, "key"}
    elif node in _NUMBERS:
        fit = {"minimum", "maximum", "detail"} | ({"format"} if node is NodeForm.INT_OR_STRING else set())
    elif node is Scalar.STRING:
        fit = {"allowed", "max_length", "format"}
    else:
        fit = {"format"} if node is NodeForm.QUANTITY else set()
    fit |= {"required", "required_detail", "immutable"}
    for field in attrs.fields(StructRules):
        if field.name not in fit and getattr(rules, field.name) != field.default:
            raise ValueError(f"a rule of {field.name} does not fit {node}")
    if rules.format and rules.format not in FORMATS:
        raise ValueError(f"no format is called {rules.format}")


def _inlined(struct: StructSchema) -> Iterator[StructSchema]:
    """Yield the struct, and those that are inline in it."""
    yield struct
    for field in struct.fields:
        if field.inline and isinstance(field.node, StructSchema):
            yield from _inlined(field.node)


def _struct_of(node: Node) -> StructSchema | None:
    while isinstance(node, ListSchema | MapSchema):
        node = node.element if isinstance(node, ListSchema) else node.value
    return node if isinstance(node, StructSchema) else None


def _reachable(root: StructSchema, reached: set[StructSchema]) -> Iterator[StructSchema]:
    """Yield `root` and every struct below it, each once; they are added to `reached`."""
    waiting = [root]
    while waiting:
        struct = waiting.pop()
        if struct not in reached:
            reached.add(struct)
            yield struct
            parts = (_struct_of(field.node) for field in struct.fields if not field.unchecked)
            waiting.extend(part for part in parts if part is not None)
