"""Paths in volumes and on nodes (reference KIND-35). Each check returns the texts of errors."""

from __future__ import annotations


def no_backsteps(value: str) -> tuple[str, ...]:
    """Return why a path contains `..`."""
    return ("must not contain '..'",) if ".." in value and ".." in value.split("/") else ()


def descending_path(value: str) -> tuple[str, ...]:
    """Return why a path is not relative, or contains `..`."""
    absolute = ("must be a relative path",) if value.startswith("/") else ()
    return (*absolute, *no_backsteps(value))


def file_path(value: str) -> tuple[str, ...]:
    """Return why a path is not that of a file in a volume: two dots at the start are reserved for the node agent."""
    reserved = value.startswith("..") and not value.startswith("../")
    return (*descending_path(value), *(("must not start with '..'",) if reserved else ()))


def absolute_path(value: str) -> tuple[str, ...]:
    """Return why a path is not absolute."""
    return () if value.startswith("/") else ("must be an absolute path",)
