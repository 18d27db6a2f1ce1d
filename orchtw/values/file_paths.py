"""Paths in volumes and on nodes (reference KIND-35). Each check returns the texts of what is wrong."""

from __future__ import annotations


def no_backsteps(value: str) -> tuple[str, ...]:
    """A path may not lead upwards."""
    return ("must not contain '..'",) if ".." in value and ".." in value.split("/") else ()


def descending_path(value: str) -> tuple[str, ...]:
    """A path is relative and leads downwards."""
    absolute = ("must be a relative path",) if value.startswith("/") else ()
    return (*absolute, *no_backsteps(value))


def file_path(value: str) -> tuple[str, ...]:
    """A path of a file in a volume: what begins with two dots is the node's own."""
    reserved = value.startswith("..") and not value.startswith("../")
    return (*descending_path(value), *(("must not start with '..'",) if reserved else ()))


def absolute_path(value: str) -> tuple[str, ...]:
    """A path begins at the root."""
    return () if value.startswith("/") else ("must be an absolute path",)
