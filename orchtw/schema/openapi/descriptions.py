"""Descriptions of types and fields from the protos' comments, in one vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from importlib import resources

from orchtw.naming.naming import Naming
from orchtw.schema.versions import maturity
from orchtw.wire.json_values import loads

FILE = "descriptions.json"

# Groups whose kinds have moved: their types are described in the groups that took them over.
_MOVED_TO = {"extensions": ("apps", "networking", "policy", "autoscaling"), "apps": ("autoscaling",)}
_PACKAGE = re.compile(r"(?P<base>.+\.)(?P<group>\w+)\.(?P<version>v\w+)")


class Descriptions:
    """Texts by message and field, read from the packaged file on first use.

    A version of a type without a text of its own shares that of its siblings: the types of the same name in other
    versions of the group, stable and new ones first, then in the groups that took it over. So each is written once.
    """

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._siblings: dict[str, list[Mapping[str, str]]] = {}

    def of_message(self, message: str) -> str:
        """Return the text about a message, or ""."""
        return self.of_field(message, "")

    def of_field(self, message: str, field: str) -> str:
        """Return the text about the field of this name in the proto, or ""."""
        siblings = self._siblings.get(message)
        if siblings is None:
            siblings = self._siblings[message] = self._related(message)
        return self._naming.translate_text(next((texts[field] for texts in siblings if field in texts), ""))

    @cached_property
    def _texts(self) -> dict[str, dict[str, str]]:
        loaded: dict[str, dict[str, str]] = loads(
            resources.files("orchtw.schema").joinpath(FILE).read_bytes()
        )
        return loaded

    @cached_property
    def _versions(self) -> dict[str, list[str]]:
        """Package without its version → the packages of its versions, the most mature first."""
        found: dict[str, list[str]] = {}
        for package in {message.rpartition(".")[0] for message in self._texts}:
            if match := _PACKAGE.fullmatch(package):
                found.setdefault(match["base"] + match["group"], []).append(package)
        return {group: sorted(packages, key=_maturity) for group, packages in found.items()}

    def _related(self, message: str) -> list[Mapping[str, str]]:
        """Return the texts that apply to a message, its own first."""
        package, _, name = message.rpartition(".")
        candidates = [package]
        if match := _PACKAGE.fullmatch(package):
            for group in (match["group"], *_MOVED_TO.get(match["group"], ())):
                candidates += self._versions.get(match["base"] + group, ())
        return [texts for each in candidates if (texts := self._texts.get(f"{each}.{name}"))]


def _maturity(package: str) -> tuple[int, int, int, str]:
    return maturity(package.rpartition(".")[2])
