"""Conversion of objects between the served versions of a kind (reference VER-11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

Function = Callable[[Object, Naming], Object]
"""Function that returns an object with the fields of another version; its argument is unchanged."""


class Conversions(msgspec.Struct, frozen=True):
    """Conversions between the versions of one kind.

    `functions` are keyed by (from, to) apiVersion in neutral names. `hub` is the intermediate apiVersion of two that
    no function connects. Versions without a path have the same fields: only the apiVersion changes.
    """

    functions: Mapping[tuple[str, str], Function] = msgspec.field(default_factory=dict)
    hub: str = ""

    @property
    def same_fields(self) -> bool:
        """Report whether all versions have the same fields."""
        return not self.functions

    def converter(self, source: str, target: str, *, naming: Naming) -> Callable[[Object], Object]:
        """Return the function that turns an object of apiVersion `source` into `target`, both in `naming`'s names.

        It takes a canonical dict and returns a canonical one that shares unchanged parts with it.
        """
        neutral = {naming.api_version(name): name for pair in self.functions for name in pair}
        way = self._way(neutral.get(source, source), neutral.get(target, target))

        def convert(obj: Object) -> Object:
            for function in way:
                obj = function(obj, naming)
            return {**obj, "apiVersion": target}

        return convert

    def _way(self, source: str, target: str) -> tuple[Function, ...]:
        """Return the functions from `source` to `target` in neutral names; none when only the apiVersion changes."""
        functions, hub = self.functions, self.hub
        if (source, target) in functions:
            return (functions[source, target],)
        if (source, hub) not in functions or (hub, target) not in functions:
            return ()
        return functions[source, hub], functions[hub, target]


SAME_FIELDS = Conversions()
"""Conversions of a kind whose versions differ in nothing but the apiVersion."""
