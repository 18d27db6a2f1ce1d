"""Descriptions of all installed programs."""

from __future__ import annotations

from orchtw.commands.shell.description import CommandLine, described
from orchtw.commands.shell.options import command_line
from orchtw.commands.shell.server import server

SERVER_NAMES = ("orchtw", "orch-apiserver")


def programs() -> tuple[CommandLine, ...]:
    """Return the description of every installed program: the server under both of its names, then the others."""
    from orchtw.assembly.flags import all_flags
    from orchtw.commands import envelope
    from orchtw.commands.envtest import assets
    from orchtw.commands.load import command as load
    from orchtw.commands.record import command as record
    from orchtw.commands.store import command as store
    from orchtw.pki import user_command
    from orchtw.plugins.entry_points import installed

    flags, plugins, own = all_flags(), installed(), described(command_line()).commands
    servers = (server(name, flags, plugins, own) for name in SERVER_NAMES)
    others = (envelope, assets, load, record, store, user_command)
    return (*servers, *(described(each.command_line()) for each in others))
