"""The administrator's client configuration file (reference CLIENT-9, DESIGN-20)."""

from __future__ import annotations

import base64

import yaml


def compose(*, cluster: str, user: str, server: str, ca_pem: bytes, certificate_pem: bytes, key_pem: bytes) -> bytes:
    """A file with one cluster, user and context, everything embedded; the context is `user@cluster`."""
    context = f"{user}@{cluster}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _base64(ca_pem)}}],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _base64(certificate_pem), "client-key-data": _base64(key_pem)},
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
        "preferences": {},
    }
    return yaml.safe_dump(document, sort_keys=False, width=2**20).encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
