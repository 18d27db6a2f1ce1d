"""The namespaces that every client relies on (reference CTRL-6)."""

from __future__ import annotations

from orchtw.bootstrap.ensurer import Ensurer


async def create_namespaces(ensurer: Ensurer) -> None:
    """Create the four namespaces where they are missing."""
    naming = ensurer.naming
    names = (naming.default_namespace, naming.system_namespace, naming.public_namespace, naming.node_lease_namespace)
    for name in names:
        await ensurer.ensure("", "v1", "namespaces", {"metadata": {"name": name}})
