"""The settings as flags and a file say them (reference FLAG-1, FLAG-2).

Which stores, modes and controllers there are is for their registries to say: the composition root hands their names
in as `Choices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import yaml

from orchtw.config.checks import Choices, check
from orchtw.config.feature_gates import notes_on_gates
from orchtw.config.notes import flags_without_effect, name_elsewhere, notes_on, refused_flags
from orchtw.config.settings import Config
from orchtw.errors import ConfigError
from orchtw.flags import flag as flags
from orchtw.flags.flag import Flag
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins


def _name(field: attrs.Attribute[Any]) -> str:
    return field.name.removesuffix("_s").replace("_", "-")


_FIELDS = {_name(field): field.name for field in attrs.fields(Config) if field.metadata}


def flags_of(choices: Choices, plugins: Plugins = NO_PLUGINS) -> tuple[Flag, ...]:
    """Every flag: in the order of the fields, then those of plugins, at the end those that mean nothing here."""
    named = {name: ", ".join(names) for name, names in attrs.asdict(choices).items()}
    own = tuple(
        Flag(
            name=name,
            also=name_elsewhere(name),
            default=field.default,
            **{**about, "help": about["help"].format_map(named)},
        )
        for field in attrs.fields(Config)
        if (about := field.metadata) and (name := _name(field))
    )
    return own + plugins.flags + flags_without_effect()


def parse(arguments: Sequence[str], choices: Choices, plugins: Plugins = NO_PLUGINS) -> Config:
    """The Config of a command line (without the program's name) and of the `--config` file it names.

    Raises ConfigError with every problem of both: unknown flags and keys, values that cannot be read, and
    values that do not fit together.
    """
    known = flags_of(choices, plugins)
    given, problems = flags.scan(arguments, known)
    path = given.get("config", [""])[-1]
    if path:
        found, more = _read_file(Path(path), known)
        given = {**found, **given}
        problems += more
    values, more = flags.convert(given, known)
    problems += more
    settings = {_FIELDS[name]: value for name, value in values.items() if name in _FIELDS}
    config = Config(**settings, plugins=plugins)
    given_to_plugins = {name: values[name] for name in config.plugin_flags if name in values}
    config = attrs.evolve(config, plugin_flags={**config.plugin_flags, **given_to_plugins})
    notes = (*notes_on(given), *notes_on_gates(config.gates, config.feature_gates), *plugins.notes)
    config = attrs.evolve(config, notes=notes)
    problems += [*refused_flags(given), *check(config, choices)]
    if problems:
        raise ConfigError(*problems)
    return config


def _read_file(path: Path, known: Sequence[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    source = f"--config {path}"
    try:
        document = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        return {}, [f"{source}: {error.strerror}"]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, [f"{source}: not valid YAML: {' '.join(str(error).split())}"]
    return flags.scan_mapping(document, [flag for flag in known if flag.name != "config"], source)
