"""Description of the server's command line, from its flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.assembly.flags import choices
from orchtw.commands.shell.description import CommandLine, Form, Option, Value
from orchtw.config import checks
from orchtw.config.audit_checks import FORMATS as AUDIT_FORMATS
from orchtw.config.audit_checks import MODES as AUDIT_MODES
from orchtw.config.cipher_suites import CIPHER_SUITES
from orchtw.config.cluster import ADDRESS_TYPES
from orchtw.config.feature_gates import GATES
from orchtw.config.releases import RELEASES
from orchtw.flags.exit_status import SERVER, exit_status_text
from orchtw.flags.flag import Flag
from orchtw.naming.naming import VOCABULARIES
from orchtw.plugins.entry_points import Plugins

SUMMARY: Final = "run the API server in the foreground"
DESCRIPTION: Final = "Runs the API server in the foreground until a signal ends it."
_FOLDERS: Final = frozenset({"data-dir", "cert-dir"})
_PATHS: Final = frozenset({"audit-log-path"})
_NAMES: Final = {"": "", "strings": "LIST", "mapStringBool": "NAME=true|false,..."}
"""Names of values that differ from their kind in capitals."""


def words_of_flags(plugins: Plugins) -> dict[str, tuple[str, ...]]:
    """Return the values that each flag with a fixed set of them accepts."""
    found = choices(plugins)
    return {
        "vocabulary": VOCABULARIES,
        "logging-format": checks.LOG_FORMATS,
        "tls-min-version": checks.TLS_VERSIONS,
        "tls-cipher-suites": tuple(CIPHER_SUITES),
        "storage-backend": found.stores,
        "authorization-mode": found.authorization_modes,
        "enable-admission-plugins": found.admission_plugins,
        "disable-admission-plugins": found.admission_plugins,
        "admission-control": found.admission_plugins,
        "controllers": ("*", *found.controllers),
        "feature-gates": tuple(sorted(GATES)),
        "emulated-version": tuple(RELEASES),
        "endpoint-reconciler-type": checks.RECONCILER_TYPES,
        "orchlet-preferred-address-types": tuple(ADDRESS_TYPES),
        "oidc-signing-algs": checks.SIGNING_ALGORITHMS,
        "authentication-token-webhook-version": checks.REVIEW_VERSIONS,
        "authorization-webhook-version": checks.REVIEW_VERSIONS,
        "audit-log-format": tuple(AUDIT_FORMATS),
        "audit-log-mode": tuple(AUDIT_MODES),
        "audit-webhook-mode": tuple(AUDIT_MODES),
    }


def server(name: str, flags: Sequence[Flag], plugins: Plugins, commands: tuple[CommandLine, ...]) -> CommandLine:
    """Return the description of the server's command under one of its names."""
    words = words_of_flags(plugins)
    own = (
        Option(names=("-h", "--help"), help="Print all flags and exit.", section="Other"),
        Option(names=("--version",), help="Print the version and exit.", section="Other"),
    )
    return CommandLine(
        name=name,
        summary=SUMMARY,
        description=DESCRIPTION,
        exit_status=exit_status_text(SERVER),
        options=(*(_option(flag, words) for flag in flags), *own),
        commands=commands,
    )


def _option(flag: Flag, words: Mapping[str, tuple[str, ...]]) -> Option:
    shown = flag.kind.show(flag.default)
    return Option(
        names=(f"--{flag.name}", *((f"-{flag.short}",) if flag.short else ())),
        help=f"{flag.help} (default {shown})" if shown else flag.help,
        value=Value(
            name=_NAMES.get(flag.kind.name, flag.kind.name.upper()),
            form=_form(flag, words),
            words=words.get(flag.name, ()),
        ),
        section=flag.section,
    )


def _form(flag: Flag, words: Mapping[str, tuple[str, ...]]) -> Form:
    if flag.kind.alone:
        return Form.SWITCH
    if flag.name in words:
        return {"strings": Form.LIST, "mapStringBool": Form.SWITCHES}.get(flag.kind.name, Form.CHOICE)
    if flag.name in _FOLDERS:
        return Form.FOLDER
    return Form.FILE if flag.kind.name in ("file", "files") or flag.name in _PATHS else Form.TEXT
