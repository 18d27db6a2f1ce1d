"""Parsing of the settings from flags and the `--config` file (reference FLAG-1, FLAG-2).

The names of stores, authorization modes and controllers come from their registries: the composition root passes them
as `Choices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from orchtw.config.checks import Choices, check
from orchtw.config.deprecated import flags_without_effect, name_elsewhere, notes_on, refused_flags
from orchtw.config.feature_gates import notes_on_gates
from orchtw.config.settings import SETTINGS, Config
from orchtw.config.subjects import replaced
from orchtw.errors import ConfigError
from orchtw.flags import flag as flags
from orchtw.flags.flag import Flag
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins


def flags_of(choices: Choices, plugins: Plugins = NO_PLUGINS) -> tuple[Flag, ...]:
    """Return all flags: in field order, then those of plugins, then those without effect."""
    named = {name: ", ".join(names) for name, names in msgspec.structs.asdict(choices).items()}
    own = tuple(
        Flag(
            name=setting.flag,
            also=about["also"] or name_elsewhere(setting.flag),
            default=setting.field.default,
            kind=about["kind"],
            section=about["section"],
            short=about["short"],
            help=about["help"].format_map(named),
        )
        for setting in SETTINGS.values()
        if (about := setting.field.metadata)
    )
    return own + plugins.flags + flags_without_effect()


def parse(arguments: Sequence[str], choices: Choices, plugins: Plugins = NO_PLUGINS) -> Config:
    """Parse a command line (without the program's name) and its `--config` file.

    Raises ConfigError with every problem of both: unknown flags and keys, malformed values, and values that
    contradict each other.
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
    settings = {name: values[setting.flag] for name, setting in SETTINGS.items() if setting.flag in values}
    given_to_plugins = {flag.name: values[flag.name] for flag in plugins.flags if flag.name in values}
    config = Config.of(plugins.with_values(given_to_plugins), **settings)
    notes = (*notes_on(given), *notes_on_gates(config.generic.gates, config.generic.feature_gates), *plugins.notes)
    config = replaced(config, notes=notes)
    problems += [*refused_flags(given), *check(config, choices)]
    if problems:
        raise ConfigError(*problems)
    return config


def _read_file(path: Path, known: Sequence[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    import yaml

    source = f"--config {path}"
    try:
        document = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        return {}, [f"{source}: {error.strerror}"]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, [f"{source}: not valid YAML: {' '.join(str(error).split())}"]
    return flags.scan_mapping(document, [flag for flag in known if flag.name != "config"], source)
