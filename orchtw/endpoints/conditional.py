"""Conditional reads (RFC 9110 §13.1.2)."""

from __future__ import annotations


def names_tag(if_none_match: str, tag: str) -> bool:
    """Report whether an If-None-Match header names an entity tag, weakly or not."""
    given = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return tag in given or "*" in given
