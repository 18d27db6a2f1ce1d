"""Parser of expressions: tokens → syntax tree, bounded in length and depth so that neither takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.syntax import CallExpression, Entries, Expression, Items, Literal, Message, Name, Select
from orchtw.schema.cel.tokens import Token, tokens
from orchtw.schema.cel.values import LARGEST
from orchtw.schema.cel.words import RESERVED

MAX_CHARACTERS: Final = 10_000
"""Limit of an expression's characters: three thousand parts are compiled in about 30 ms."""

MAX_DEPTH: Final = 80
"""Limit of nesting: each level takes a few frames of the interpreter's stack, which has a thousand."""

_RELATIONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_SUMS: Final = frozenset("+-")
_PRODUCTS: Final = frozenset("*/%")


def parse(source: str, *, optionals: bool = False) -> Expression:
    """Parse a text, perhaps with the syntax of optional values. Raises Fault."""
    if len(source) > MAX_CHARACTERS:
        why = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CHARACTERS}"
        raise Fault(why, 0)
    return _Parser(list(tokens(source)), optionals).whole()


def _above(at: int, *parts: Expression) -> int:
    depth = max((part.depth for part in parts), default=0) + 1
    if depth > MAX_DEPTH:
        raise _too_deep(at)
    return depth


def _too_deep(at: int) -> Fault:
    return Fault(f"expression recursion limit exceeded: {MAX_DEPTH}", at)


def call(function: str, at: int, *arguments: Expression, target: Expression | None = None) -> CallExpression:
    """Return a call of a function or operator."""
    parts = arguments if target is None else (target, *arguments)
    return CallExpression(function, target, arguments, at, _above(at, *parts))


class _Parser:
    """Recursive descent over the tokens; `_nested` counts the levels that are open, before their nodes exist."""

    def __init__(self, found: list[Token], optionals: bool) -> None:
        self._tokens = found
        self._optionals = optionals
        self._next = 0
        self._nested = 0

    def whole(self) -> Expression:
        result = self._expression()
        if self._peek() != "end":
            raise self._unexpected()
        return result

    def _peek(self) -> str:
        return self._tokens[self._next].kind

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._peek() == kind else None

    def _expect(self, kind: str) -> Token:
        if self._peek() != kind:
            raise self._unexpected(f" expecting '{kind}'" if kind != "name" else " expecting IDENTIFIER")
        return self._take()

    def _unexpected(self, tail: str = "") -> Fault:
        token = self._tokens[self._next]
        return Fault(f"Syntax error: mismatched input '{token.value}'{tail}", token.at)

    def _expression(self) -> Expression:
        """Parse a conditional expression, or one without a condition."""
        self._nested += 1
        if self._nested > MAX_DEPTH:
            raise _too_deep(self._tokens[self._next].at)
        result = self._junction("||", lambda: self._junction("&&", self._relation))
        if mark := self._accept("?"):
            yes = self._junction("||", lambda: self._junction("&&", self._relation))
            self._expect(":")
            result = call("_?_:_", mark.at, result, yes, self._expression())
        self._nested -= 1
        return result

    def _junction(self, sign: str, part: Callable[[], Expression]) -> Expression:
        """Parse operands joined by one sign as one call: however many there are, they nest no deeper."""
        first = part()
        if self._peek() != sign:
            return first
        at, parts = self._tokens[self._next].at, [first]
        while self._accept(sign):
            parts.append(part())
        return call(f"_{sign}_", at, *parts)

    def _relation(self) -> Expression:
        left = self._sum()
        while self._peek() in _RELATIONS:
            token = self._take()
            name = "@in" if token.kind == "in" else f"_{token.kind}_"
            left = call(name, token.at, left, self._sum())
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self._peek() in _SUMS:
            token = self._take()
            left = call(f"_{token.kind}_", token.at, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while self._peek() in _PRODUCTS:
            token = self._take()
            left = call(f"_{token.kind}_", token.at, left, self._unary())
        return left

    def _unary(self) -> Expression:
        sign = self._peek()
        if sign not in ("!", "-"):
            return self._member(self._primary())
        first, count = self._take(), 1
        while self._accept(sign):
            count += 1
        token = self._tokens[self._next]
        if sign == "-" and token.kind == "value" and type(token.value) in (int, float):
            self._take()  # the sign belongs to the number: the least one has no positive counterpart
            negative, count = self._member(Literal(-token.value, first.at)), count - 1
            return call("-_", first.at, negative) if count % 2 else negative
        operand = self._member(self._primary())
        if count % 2 == 0:
            return operand
        return call("!_" if sign == "!" else "-_", first.at, operand)

    def _primary(self) -> Expression:
        token = self._tokens[self._next]
        if token.kind == "value":
            self._take()
            if type(token.value) is int and token.value > LARGEST:
                raise Fault("invalid int literal", token.at)
            return Literal(token.value, token.at)
        if token.kind in ("true", "false", "null"):
            self._take()
            return Literal({"true": True, "false": False, "null": None}[token.kind], token.at)
        if token.kind in ("name", "."):
            return self._named()
        self._next += token.kind in "([{"
        if token.kind == "(":
            result = self._expression()
            self._expect(")")
            return result
        if token.kind == "[":
            return self._items(token.at)
        if token.kind == "{":
            return self._entries(token.at)
        raise self._unexpected()

    def _named(self) -> Expression:
        """Parse a variable, or a call of a function."""
        self._accept(".")
        token = self._expect("name")
        if token.value in RESERVED:
            raise Fault(f"reserved identifier: {token.value}", token.at)
        if opened := self._accept("("):
            return call(token.value, opened.at, *self._arguments(")"))
        return Name(token.value, token.at)

    def _member(self, operand: Expression) -> Expression:
        while self._peek() in (".", "["):
            token = self._take()
            optional = self._is_optional()
            if token.kind == "[":
                operand = call("_[?_]" if optional else "_[_]", token.at, operand, self._expression())
                self._expect("]")
                continue
            name = self._expect("name")
            if not optional and (opened := self._accept("(")):
                operand = call(name.value, opened.at, *self._arguments(")"), target=operand)
            else:
                operand = Select(operand, name.value, token.at, _above(token.at, operand), optional)
        return self._message(operand) if self._peek() == "{" else operand

    def _is_optional(self) -> bool:
        """Take the mark of an optional member, element or entry, if there is one."""
        return self._optionals and self._accept("?") is not None

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        """Parse expressions between commas, up to the closing sign."""
        found: list[Expression] = []
        while self._peek() != end:
            found.append(self._expression())
            if not self._accept(","):
                break
            if self._peek() == end:
                raise self._unexpected()
        self._expect(end)
        return tuple(found)

    def _items(self, at: int) -> Items:
        """Parse the elements of a list, which may have a comma after its last one."""
        found: list[Expression] = []
        optional = set()
        while self._peek() != "]":
            if self._is_optional():
                optional.add(len(found))
            found.append(self._expression())
            if not self._accept(","):
                break
        self._expect("]")
        return Items(tuple(found), at, _above(at, *found), frozenset(optional))

    def _entries(self, at: int) -> Entries:
        found: list[tuple[Expression, Expression]] = []
        optional = set()
        while self._peek() != "}":
            if self._is_optional():
                optional.add(len(found))
            key = self._expression()
            self._expect(":")
            found.append((key, self._expression()))
            if not self._accept(","):
                break
        self._expect("}")
        parts = [part for entry in found for part in entry]
        return Entries(tuple(found), at, _above(at, *parts), frozenset(optional))

    def _message(self, named: Expression) -> Expression:
        """Parse the fields of a message whose type has been named. Anything else goes with no brace."""
        name = qualified(named)
        if not name:
            raise self._unexpected()
        at, found = self._take().at, list[tuple[str, Expression]]()
        optional = set()
        while self._peek() != "}":
            if self._is_optional():
                optional.add(len(found))
            field = self._expect("name").value
            self._expect(":")
            found.append((field, self._expression()))
            if not self._accept(","):
                break
        self._expect("}")
        return Message(name, tuple(found), at, _above(at, *(value for _, value in found)), frozenset(optional))


def qualified(part: Expression) -> str:
    """Return the name that an expression spells, perhaps with dots; empty for anything else."""
    names = []
    while isinstance(part, Select) and not part.optional:
        names.append(part.member)
        part = part.operand
    return ".".join((part.name, *reversed(names))) if isinstance(part, Name) else ""
