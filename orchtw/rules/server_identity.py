"""How the Lease of a server is told from others (reference CTRL-40)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.naming.names import Naming


def labels_of_server(naming: Naming) -> dict[str, str]:
    """What such a Lease is labelled with."""
    return {f"{naming.api_domain}/component": naming.api_server}


def is_of_server(labels: Mapping[str, str], naming: Naming) -> bool:
    """Whether labels are those of such a Lease."""
    return all(labels.get(key) == value for key, value in labels_of_server(naming).items())
