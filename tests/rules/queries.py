"""Queries as the rules receive them: parsed into parameters."""

from __future__ import annotations

from urllib.parse import parse_qs


def params(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True)
