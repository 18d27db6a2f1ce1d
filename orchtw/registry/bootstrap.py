"""Objects that exist from the first start on (supplement A14)."""

from __future__ import annotations

from orchtw.errors import AlreadyExists
from orchtw.naming import Naming
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.registry.write_path import Write, WritePath
from orchtw.request import UserInfo
from orchtw.storage.cache_resource import DamagedObject


def system_user(naming: Naming) -> UserInfo:
    """The server itself, as the writer of its own objects."""
    return UserInfo(name=naming.api_server_user, groups=(naming.administrators_group,))


async def create_namespaces(targets: Targets, writes: WritePath, naming: Naming) -> None:
    """Make the four namespaces that every client relies on, where they are missing; a damaged one is not missing."""
    target = targets.stored_target("", "v1", "namespaces")
    names = (naming.default_namespace, naming.system_namespace, naming.public_namespace, naming.node_lease_namespace)
    for name in names:
        if _is_there(target, name):
            continue
        obj = target.codec.normalise({"metadata": {"name": name}})
        target.codec.default(obj)
        write = Write(target=target, namespace="", name=name, user=system_user(naming), manager=naming.api_server)
        try:
            await writes.create(write, obj)
        except AlreadyExists:
            continue


def _is_there(target: Target, name: str) -> bool:
    try:
        return target.stored.get("", name) is not None
    except DamagedObject:
        return True
