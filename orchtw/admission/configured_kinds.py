"""Check of the kind of a plugin's configuration (reference ADM-12)."""

from __future__ import annotations

from orchtw.outbound.fields import Fields
from orchtw.values.causes import go_quote


def check_kind(file: Fields, kind: str, api_version: str) -> None:
    """Check that a configuration has this kind and apiVersion. Raises ConfigError."""
    given, version = file.text("kind"), file.text("apiVersion")
    if not version:
        raise file.wrong("", "Object 'apiVersion' is missing")
    if not given:
        raise file.wrong("", "Object 'Kind' is missing")
    if (given, version) != (kind, api_version):
        what = f"no kind {go_quote(given)} is registered for version {go_quote(version)}"
        raise file.wrong("", f"{what}: use {kind} of {api_version}")
