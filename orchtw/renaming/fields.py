"""Translation of field sets (FieldsV1), whose path elements contain names of the vocabulary."""

from __future__ import annotations

from typing import Any

from orchtw.apply.path_element import SELF, FieldName, Key, PathElement, Value, element_text, order, parse_element
from orchtw.renaming.value_functions import Rename, ValueFunctions
from orchtw.schema.nodes import ListSchema, MapSchema, Node, Scalar, StructSchema
from orchtw.schema.values import in_order

Tree = dict[str, Any]


class Fields:
    """Translator of field sets, guided by the schema of their object."""

    def __init__(self, values: ValueFunctions) -> None:
        self._values = values

    def translate(self, tree: Tree, node: Node | None, rule: Rename | None = None) -> Tree:
        """Translate the field set `tree` of a value of `node`, to whose strings or keys `rule` applies.

        Returns the same tree if nothing changes. A path element whose new name is taken keeps the old one. Raises
        ValueError for anything that is not a field set.
        """
        out: Tree = {}
        for step, below in tree.items():
            element = None if step == SELF else parse_element(step)
            if element is None:
                out[step] = below
                continue
            renamed, inner, inner_rule = self._step(element, node, rule)
            text = step if renamed == element else element_text(renamed)
            if text != step and (text in tree or text in out):
                text = step
            out[text] = self.translate(below, inner, inner_rule) if below else below
        return tree if out == tree else {step: out[step] for step in in_order(out, order)}

    def _step(
        self, element: PathElement, node: Node | None, rule: Rename | None
    ) -> tuple[PathElement, Node | None, Rename | None]:
        if isinstance(element, FieldName):
            return self._name(element, node, rule)
        if not isinstance(node, ListSchema):
            return element, None, None
        item = node.element
        if isinstance(element, Key) and isinstance(item, StructSchema):
            return Key(tuple((name, self._key(item, name, value)) for name, value in element.fields)), item, None
        if isinstance(element, Value) and rule is not None and type(element.value) is str:
            return Value(rule(element.value)), None, None
        return element, item, rule

    def _name(
        self, element: FieldName, node: Node | None, rule: Rename | None
    ) -> tuple[PathElement, Node | None, Rename | None]:
        name = element.name
        if isinstance(node, MapSchema):
            return FieldName(rule(name)) if rule else element, node.value, None
        if not isinstance(node, StructSchema):
            return element, None, None
        if name not in node.keys:
            name = self._values.names.known(name)
        if name not in node.keys:
            return element, None, None
        return FieldName(name), node.keys[name].node, self._values.rule(node, name)

    def _key(self, item: StructSchema, name: str, value: Any) -> Any:
        if type(value) is not str or name not in item.keys or item.keys[name].node is not Scalar.STRING:
            return value
        rule = self._values.rule(item, name)
        return value if rule is None else rule(value)
