"""Creation of a namespace for a plugin: as the server's user, by the same rules as for clients."""

from __future__ import annotations

from contextlib import suppress

from orchtw.bootstrap.ensurer import system_user
from orchtw.errors import AlreadyExists
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.registry.write import Write
from orchtw.schema.codec.body import fit_own
from orchtw.writes.write_path import WritePath


async def make_namespace(name: str, targets: Targets, writes: WritePath, naming: Naming) -> None:
    """Create a namespace if it is missing. Raises Invalid (422) for a bad name, and admission's errors."""
    target = targets.stored_target("", "v1", "namespaces")
    wanted = fit_own(target.codec, {"metadata": {"name": name}})
    write = Write(
        target=target, namespace="", name=name, user=system_user(naming), from_live=True, manager=naming.api_server
    )
    with suppress(AlreadyExists):
        await writes.create(write, wanted)
