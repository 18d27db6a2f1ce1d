"""Rules of the built-in signers, and of nodes' own requests (reference CSR-13, CTRL-31)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from orchtw.pki.cluster_signing import CLIENT, LEGACY, NODE_CLIENT, NODE_SERVING
from orchtw.rules.certificate_requests import DNS, EMAIL, IP, URI, CertificateRequest

_NODES: Final = "system:nodes"
_NODE: Final = "system:node:"
_NODE_USAGES: Final = ("digital signature", "key encipherment")
_KIND_NAMES: Final = ((DNS, "DNS"), (EMAIL, "Email"), (IP, "IP"), (URI, "URI"))

Rule = Callable[[CertificateRequest, Collection[str]], str]
"""Returns why a request with these usages is not signed; empty: it is."""


def _client(asked: CertificateRequest, usages: Collection[str]) -> str:
    for usage in usages:
        if usage not in (*_NODE_USAGES, "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def why_not_node_client(asked: CertificateRequest, usages: Collection[str]) -> str:
    """Return why a request is not that of a node for its client certificate; empty: it is one."""
    if asked.organizations != (_NODES,):
        return f"subject organization is not {_NODES}"
    for kind, shown in _KIND_NAMES:
        if asked.has_names(kind):
            return f"{shown} subjectAltNames are not allowed"
    return _why_no_node(asked) or _why_other_usages(usages, "client auth")


def _node_serving(asked: CertificateRequest, usages: Collection[str]) -> str:
    if asked.organizations != (_NODES,):
        return f"subject organization is not {_NODES}"
    if not asked.has_names(DNS, IP):
        return "DNS or IP subjectAltName is required"
    for kind, shown in ((EMAIL, "Email"), (URI, "URI")):
        if asked.has_names(kind):
            return f"{shown} subjectAltNames are not allowed"
    return _why_other_usages(usages, "server auth") or _why_no_node(asked)


def _why_no_node(asked: CertificateRequest) -> str:
    return "" if asked.common_name.startswith(_NODE) else f"subject common name does not begin with {_NODE}"


def _why_other_usages(usages: Collection[str], purpose: str) -> str:
    wanted = sorted((*_NODE_USAGES, purpose))
    return "" if set(usages) == set(wanted) else f"usages did not match [{' '.join(wanted)}]"


def _anything(asked: CertificateRequest, usages: Collection[str]) -> str:
    return ""


RULES: Final[Mapping[str, Rule]] = {
    CLIENT: _client,
    NODE_CLIENT: why_not_node_client,
    NODE_SERVING: _node_serving,
    LEGACY: _anything,
}
"""Rules by the signers' neutral names."""
