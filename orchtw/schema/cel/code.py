"""Parts of expressions that are compiled: their types, closures and costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import msgspec

from orchtw.schema.cel.cost import Estimate, Estimator
from orchtw.schema.cel.environment import Environment
from orchtw.schema.cel.frames import Run
from orchtw.schema.cel.syntax import Expression
from orchtw.schema.cel.types import Type


class Code(msgspec.Struct, frozen=True):
    """A part that is compiled: its type, its closure, and the steps of one run.

    `steps` are by the number of macros around them: `(3, 5)` are three steps, and five for each byte of an element.
    `estimate`: its cost by the release's rules, for values as large as their schemas let them be. `path`: the place
    of a variable and the keys that lead from there to the value, if that is all it does.
    """

    type: Type
    run: Run
    estimate: Estimate
    steps: tuple[float, ...] = (1,)
    path: tuple[int, tuple[str, ...]] | None = None


class Compiling(Protocol):
    """The compiler, as forms see it.

    `known`: the environment; `depth`: the next free place of the frame; `shares`: some value that it makes may have
    one with parts in it several times.
    """

    known: Environment
    estimator: Estimator
    depth: int
    shares: bool

    def code(self, part: Expression) -> Code:
        """Compile an expression. Raises Fault."""

    def as_type(self, code: Code, kind: Type) -> Code:
        """Return the code, in a place of the type: where that is dynamic, values have to tell their type."""

    def bodies(
        self, parts: Sequence[Expression], names: Sequence[str], kinds: Sequence[Type], estimates: Sequence[Estimate]
    ) -> list[Code]:
        """Compile parts with more variables, in the next places of the frame."""


def added(*steps: tuple[float, ...]) -> tuple[float, ...]:
    """Return the steps of parts that run one after the other."""
    most = max(map(len, steps))
    return tuple(sum(each[order] for each in steps if order < len(each)) for order in range(most))


def made(kind: Type, run: Run, estimate: Estimate, *parts: Code) -> Code:
    """Make code that runs its parts once, one after the other."""
    return Code(kind, run, estimate, added((1,), *(each.steps for each in parts)))


def with_steps(code: Code, more: tuple[float, ...]) -> Code:
    """Return code that takes more steps."""
    return code if more == (0,) else msgspec.structs.replace(code, steps=added(code.steps, more))


def estimates_of(parts: Sequence[Code]) -> list[Estimate]:
    """Return the estimates of several parts."""
    return [each.estimate for each in parts]


def types_of(parts: Sequence[Code]) -> list[Type]:
    """Return the types of several parts."""
    return [each.type for each in parts]


def written_out(kind: Type, count: int) -> Type:
    """Return the type of a list or map with so many elements in any object."""
    return attrs.evolve(kind, fixed=count, per_byte=0.0)


def as_many(kind: Type, like: Type) -> Type:
    """Return the type of a list with as many elements as another."""
    return attrs.evolve(kind, fixed=like.fixed, per_byte=like.per_byte)


def as_many_as_both(kind: Type, one: Type, other: Type) -> Type:
    """Return the type of a list with the elements of two."""
    fixed, per_byte = one.fixed + other.fixed, one.per_byte + other.per_byte
    return attrs.evolve(kind, fixed=fixed, per_byte=per_byte)


def repeated(steps: tuple[float, ...], over: Type) -> tuple[float, ...]:
    """Return the steps of a part that runs for each element."""
    fixed = tuple(each * over.fixed for each in steps)
    return added(fixed, (0, *(each * over.per_byte for each in steps)))
