"""Reader of `--admission-control-config-file`, the configurations of plugins (reference ADM-12, ADM-16)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.fields import Fields
from orchtw.schema.codec.json_text import parse_pairs
from orchtw.schema.codec.yaml_codec import parse_yaml
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

FLAG: Final = "--admission-control-config-file"
KIND: Final = "AdmissionConfiguration"
VERSIONS: Final = (
    "apiserver.config.orch.io/v1",
    "apiserver.config.orch.io/v1beta1",
    "apiserver.orch.io/v1alpha1",
    "apiserver.orch.io/v1beta1",
)
UNVERSIONED: Final = {"ImagePolicyWebhook": "imagePolicy", "PodNodeSelector": "podNodeSelectorPluginConfig"}
"""Plugins whose configuration has no kind, and its field: a file may also consist of such fields (reference ADM-17).
"""

_BOTH_VOCABULARIES: Final = Naming.kubernetes()


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of one plugin: a mapping whose apiVersion, if it has one, is in neutral names.

    `path` is its file and `where` its place in the file, both for messages; `directory` is the base of relative
    paths.
    """

    obj: Object
    path: str
    directory: str
    where: str = ""

    def fields(self) -> Fields:
        """Return the mapping as `Fields`, whose errors name the place."""
        return Fields(Path(self.path), self.where, self.obj)


class Configurations:
    """Configurations of plugins; the files that entries name are read on demand."""

    def __init__(self, found: Mapping[str, Callable[[], Given | None]] | None = None) -> None:
        self._found = found or {}

    def of(self, plugin: str) -> Given | None:
        """Return a plugin's configuration, or None. Raises ConfigError with one line for an unreadable file."""
        found = self._found.get(plugin)
        return None if found is None else found()


def read(path: Path | None, plugins: Collection[str]) -> Configurations:
    """Read the configurations in the file at `path`, which may name the plugins in `plugins` only.

    Raises ConfigError with one line for a file that cannot be read or is not an AdmissionConfiguration.
    """
    if path is None:
        return Configurations()
    value = _document(path, lambda why: ConfigError(f"{FLAG}: {path}: {why}"))
    file = Fields(path, "", value)
    bare = [name for name, field in UNVERSIONED.items() if field in file.value]
    if bare and not file.value.get("kind"):
        whole = Given(obj=file.value, path=str(path), directory=str(path.parent))
        return Configurations({name: lambda: whole for name in UNVERSIONED})
    _check_kind(file)
    file.only("apiVersion", "kind", "plugins")
    found: dict[str, Callable[[], Given | None]] = {}
    for entry in file.sections("plugins"):
        name = _checked_name(entry, plugins)
        found.setdefault(name, lambda entry=entry: _given(entry))  # type: ignore[misc]
    return Configurations(found)


def _check_kind(file: Fields) -> None:
    version, kind = file.text("apiVersion"), file.text("kind")
    if not version:
        raise file.wrong("", "Object 'apiVersion' is missing")
    if not kind:
        raise file.wrong("", "Object 'Kind' is missing")
    if kind != KIND or _neutral(version) not in VERSIONS:
        group = "apiserver.config.orch.io"
        if version != _neutral(version):
            group = _BOTH_VOCABULARIES.group(group)
        why = f"no kind {go_quote(kind)} is registered for version {go_quote(version)}: use {KIND} of {group}/v1"
        raise file.wrong("", why)


def _checked_name(entry: Fields, plugins: Collection[str]) -> str:
    """Return the name of an entry's plugin. Raises ConfigError unless all but the configuration itself is valid."""
    entry.only("name", "path", "configuration")
    name = entry.text("name")
    if not name:
        raise entry.wrong("name", "is missing")
    if name not in plugins:
        raise entry.wrong("name", f"admission plugin {go_quote(name)} is unknown")
    entry.section("configuration")
    if entry.text("path") and entry.value.get("configuration") is not None:
        raise entry.wrong("", "path and configuration are mutually exclusive")
    return name


def _given(entry: Fields) -> Given | None:
    directory = str(entry.path.parent)
    file = entry.file("path")
    if file is None:
        if entry.value.get("configuration") is None:
            return None
        inline = entry.section("configuration")
        return Given(obj=_renamed(inline.value), path=str(entry.path), directory=directory, where=inline.where)
    value = _document(file, lambda why: entry.wrong("path", f"{file}: {why}"))
    read = Fields(file, "", {} if value is None else value)
    return Given(obj=_renamed(read.value), path=str(file), directory=str(file.parent))


def _document(path: Path, wrong: Callable[[str], ConfigError]) -> Any:
    """Parse a file in JSON or YAML, encoded in UTF-8. Raises what `wrong` returns."""
    try:
        text = path.read_bytes().decode("utf-8-sig").encode()
        repeated: list[str] = []
        value = parse_pairs(text, _members) if text.lstrip()[:1] == b"{" else parse_yaml(text, repeated)
    except OSError as error:
        raise wrong(str(error.strerror)) from None
    except (ValueError, RecursionError) as error:
        raise wrong(f"is neither YAML nor JSON: {' '.join(str(error).split())}") from None
    if repeated:
        raise wrong(repeated[0])
    return value


def _members(pairs: list[tuple[str, Any]]) -> Object:
    found: Object = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {go_quote(key)} already set in map")
        found[key] = value
    return found


def _renamed(obj: Object) -> Object:
    version = obj.get("apiVersion")
    return {**obj, "apiVersion": _neutral(version)} if isinstance(version, str) else obj


def _neutral(api_version: str) -> str:
    """Translate an apiVersion of either vocabulary to neutral names."""
    group, slash, version = api_version.rpartition("/")
    return f"{_BOTH_VOCABULARIES.neutral(group)}{slash}{version}"
