"""Labels that mark the Leases of API servers (reference CTRL-40)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.naming.naming import Naming


def labels_of_server(naming: Naming) -> dict[str, str]:
    """Return the labels of an API server's Lease."""
    return {f"{naming.api_domain}/component": naming.api_server}


def is_of_server(labels: Mapping[str, str], naming: Naming) -> bool:
    """Report whether labels include those of an API server's Lease."""
    return all(labels.get(key) == value for key, value in labels_of_server(naming).items())
