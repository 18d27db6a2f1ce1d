"""Labels by which Leases of servers are recognised (reference CTRL-40)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.naming.names import Naming


def labels_of_server(naming: Naming) -> dict[str, str]:
    """Return the labels of a server's Lease."""
    return {f"{naming.api_domain}/component": naming.api_server}


def is_of_server(labels: Mapping[str, str], naming: Naming) -> bool:
    """Report whether labels are those of a server's Lease."""
    return all(labels.get(key) == value for key, value in labels_of_server(naming).items())
