"""Top-level members of custom objects, such as spec, that are known by their text (see `KnownParts`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

import orjson

from orchtw.schema.known_parts import Key, KnownParts, text_of

_KINDS: Final = count()


class KnownMembers:
    """Cache of the members of objects of one kind, under one schema.

    `name` is that of the function of a member's schema, which is called for members that are not known.
    """

    def __init__(self, known: KnownParts) -> None:
        self._known = known
        self._schema = f"custom {next(_KINDS)}"  # another schema is another codec: nothing is known of its members

    def fits(self, name: str, check: Callable[[Any], bool], member: Any) -> bool:
        """Return the result of `check`; that a member fits is known. Raises what `check` raises."""
        key = self._key(f"fits {name}", member)
        if key is not None and self._known.get(key) is not None:
            return True
        is_fit = check(member)
        if is_fit and key is not None:
            self._known.put(key, b"")
        return is_fit

    def shaped(
        self, name: str, shape: Callable[[Any, bool, list[str]], Any], member: Any, fill: bool, lost: list[str]
    ) -> Any:
        """Return the result of `shape`; that of a member that loses nothing is known. Raises what `shape` raises.

        A member that is known to be canonical comes back itself, so that an unchanged one of an update stays the live
        object's own: later comparisons end at once.
        """
        key = self._key(f"filled {name}" if fill else f"shaped {name}", member)
        if key is not None and (canonical := self._known.get(key)) is not None:
            return member if canonical == key[2] else orjson.loads(canonical)
        before = len(lost)
        found = shape(member, fill, lost)
        if key is not None and len(lost) == before and (canonical := text_of(found)) is not None:
            self._known.put(key, canonical)
        return found

    def _key(self, question: str, member: Any) -> Key | None:
        text = text_of(member)
        return None if text is None else (self._schema, question, text)
