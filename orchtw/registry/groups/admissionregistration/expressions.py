"""Expressions in policies and webhooks: conditions, variables and audit annotations (reference POLICY-4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.words import KEYWORDS, RESERVED
from orchtw.values.causes import duplicate, invalid, required, too_many
from orchtw.values.names import qualified_name

MOST_CONDITIONS: Final = 64
"""Limit of match conditions."""
MOST_ANNOTATIONS: Final = 20
"""Limit of audit annotations."""
LONGEST_VALUE: Final = 5 * 1024
"""Limit of the expression of an audit annotation, in bytes."""

_SOURCES: Final = ("expression", "messageExpression", "valueExpression")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def expression_causes(path: str, source: str, fault: str) -> list[Cause]:
    """Return the cause of an expression that cannot be compiled, if it has a fault."""
    return [invalid(path, source, fault)] if fault else []


def sources(parts: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the expressions of stored conditions, variables, validations, annotations or mutations."""
    return frozenset(
        text
        for part in parts
        for each in (part, part.get("applyConfiguration") or {}, part.get("jsonPatch") or {})
        for key in _SOURCES
        for text in (each.get(key) or "", (each.get(key) or "").strip())
    )


def condition_causes(
    conditions: Sequence[Mapping[str, Any]], check: Callable[[str], Checked], path: str
) -> list[Cause]:
    """Validate match conditions: their number, unique qualified names, and expressions, which `check` compiles."""
    causes = []
    if len(conditions) > MOST_CONDITIONS:
        causes.append(too_many(path, len(conditions), MOST_CONDITIONS))
    seen: set[str] = set()
    for index, each in enumerate(conditions):
        if len(causes) > MAX_CAUSES:
            break
        name, source = each.get("name", ""), each.get("expression", "").strip()
        at = f"{path}[{index}]"
        if not source:
            causes.append(required(f"{at}.expression"))
        else:
            causes += expression_causes(f"{at}.expression", source, check(source).fault)
        if not name:
            causes.append(required(f"{at}.name"))
            continue
        causes += [invalid(f"{at}.name", name, text) for text in qualified_name(name)]
        if name in seen:
            causes.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return causes


def variable_name_causes(name: str, path: str) -> list[Cause]:
    """Validate the name of a variable."""
    if not name.strip():
        return [required(path, "name is not specified")]
    if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS or name in RESERVED:
        return [invalid(path, name, "name is not a valid CEL identifier")]
    return []


def annotation_key_causes(policy: str, key: str, path: str) -> list[Cause]:
    """Validate the key of an audit annotation, which the policy's name becomes the prefix of."""
    whole = f"{policy}/{key}" if policy else key
    return [invalid(path, key, text) for text in qualified_name(whole)]
