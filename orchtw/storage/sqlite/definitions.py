"""Check of a store's definitions against those that this program makes: a file from outside is data, not code.

A trigger or a view in it would run when the tables are used, so a file with anything of another definition is
refused before its tables are touched (reference STORE-38).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from typing import Final

from orchtw.naming.naming import VOCABULARIES
from orchtw.storage.sqlite.schema import EXPIRY, FROM_1, HISTORY, INDEX, META

Definitions = dict[tuple[str, str], str]

_LARGEST: Final = 2**62
_ROWS: Final = """
SELECT count(*) FROM history WHERE NOT (
    rev BETWEEN 1 AND ?1 AND typeof(key) = 'text' AND substr(key, 1, 1) = '/' AND instr(key, char(0)) = 0
    AND typeof(created) = 'integer' AND created BETWEEN 0 AND rev
    AND typeof(prev) = 'integer' AND prev >= 0 AND prev < rev
    AND typeof(size) = 'integer' AND typeof(value) IN ('blob', 'null') AND typeof(sum) IN ('integer', 'null')
)
"""
_ENDS: Final = "SELECT count(*) FROM expiry WHERE NOT (typeof(at) = 'integer' AND typeof(sum) = 'integer')"
_ENCODING: Final = "UTF-8"
_SPACE: Final = re.compile(r"\s+")
_BESIDE_SIGNS: Final = re.compile(r" ?([(),]) ?")
_META: Final = "SELECT id, vocabulary, compacted, swept, probe, unsealed FROM meta"


def foreign(connection: sqlite3.Connection) -> str:
    """Return the first definition that is not of a store, or "". Reads the definitions only."""
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    if encoding != _ENCODING:
        return f"its text encoding is {encoding}"
    found = _definitions(connection)
    if found in (known := _known()):
        return ""
    ours = {name for each in known for name in each}
    for kind, name in sorted(found):
        if (kind, name) not in ours:
            return f"has a {kind} {name[:100]!r}, which no store has"
    for kind, name in sorted(found):
        if all(each.get((kind, name)) != found[kind, name] for each in known):
            return f"its {kind} {name!r} is not that of a store"
    return "its tables are not those of a store"


def odd_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield findings about rows that no server writes, whatever their checksums; reads the whole file."""
    rows = connection.execute(_META).fetchall()
    if len(rows) != 1 or not _is_head(*rows[0]):
        yield "it does not record its vocabulary and revisions"
    for query, arguments, what in ((_ROWS, (_LARGEST,), "states"), (_ENDS, (), "expiry times")):
        (count,) = connection.execute(query, arguments).fetchone()
        if count:
            yield f"{count} {what} that no server writes"


def _is_head(number: object, vocabulary: object, *marks: object) -> bool:
    compacted, swept, probe, unsealed = marks
    numbers = (compacted, swept, unsealed)
    return (
        number == 1
        and vocabulary in VOCABULARIES
        and all(isinstance(each, int) and 0 <= each <= _LARGEST for each in numbers)
        and (probe is None or isinstance(probe, bytes))
    )


def _definitions(connection: sqlite3.Connection) -> Definitions:
    """Return everything that the file defines, except for SQLite's own additions.

    White space counts where it separates words: an `INTEGERPRIMARYKEY` is another type than the key it looks like.
    """
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master")
    return {(str(kind), str(name)): _plain(str(sql)) for kind, name, sql in rows if sql is not None}


def _plain(sql: str) -> str:
    return _BESIDE_SIGNS.sub(r"\1", _SPACE.sub(" ", sql)).strip()


@cache
def _known() -> tuple[Definitions, ...]:
    """Return the definitions of new files, and of older formats before and after they were brought up to date."""
    old_meta = META.replace(", unsealed INTEGER NOT NULL DEFAULT 0", "")
    old_history = HISTORY.replace(", sum INTEGER", "")
    return tuple(
        _made(script)
        for script in (
            (META, HISTORY, INDEX, EXPIRY),
            (META, HISTORY, INDEX),
            (old_meta, old_history, INDEX),
            (old_meta, old_history, INDEX, FROM_1),
            (old_meta, old_history, INDEX, FROM_1, EXPIRY),
        )
    )


def _made(script: Iterable[str]) -> Definitions:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("".join(script))
        return _definitions(connection)
