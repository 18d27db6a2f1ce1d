"""Names for values inside an expression: `cel.bind(name, value, expression about name)`."""

from __future__ import annotations

from typing import Any, Final

from orchtw.schema.cel.code import Code, Compiling, made
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.frames import Frame
from orchtw.schema.cel.syntax import CallExpression, Name

BIND: Final = ("cel", "bind")


def bound(compiler: Compiling, part: CallExpression) -> Code:
    """Compile an expression about a value that has a name. Raises Fault."""
    if len(part.arguments) != 3:
        raise Fault("undeclared reference to 'cel' (in container '')", part.at)
    variable, value, body = part.arguments
    if not isinstance(variable, Name):
        raise Fault("cel.bind() variable names must be simple identifiers", variable.at)
    given, place = compiler.code(value), compiler.depth
    [inner] = compiler.bodies([body], [variable.name], [given.type], [given.estimate.as_read()])

    def run(frame: Frame) -> Any:
        frame[place] = given.run(frame)
        return inner.run(frame)

    return made(inner.type, run, compiler.estimator.bound(given.estimate, inner.estimate), given, inner)
