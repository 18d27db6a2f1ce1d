"""Kubeconfig files, such as the administrator's (reference CLIENT-9, DESIGN-20)."""

from __future__ import annotations

import base64
import json


def compose(*, cluster: str, user: str, server: str, ca_pem: bytes, certificate_pem: bytes, key_pem: bytes) -> bytes:
    """Return a kubeconfig with one cluster, one user and the context `user@cluster`, all credentials embedded.

    Every start compares it with the file that is there, so it is written without the YAML library.
    """
    context = _quoted(f"{user}@{cluster}")
    lines = (
        "apiVersion: v1",
        "kind: Config",
        "clusters:",
        f"- name: {_quoted(cluster)}",
        "  cluster:",
        f"    server: {_quoted(server)}",
        f"    certificate-authority-data: {_base64(ca_pem)}",
        "users:",
        f"- name: {_quoted(user)}",
        "  user:",
        f"    client-certificate-data: {_base64(certificate_pem)}",
        f"    client-key-data: {_base64(key_pem)}",
        "contexts:",
        f"- name: {context}",
        "  context:",
        f"    cluster: {_quoted(cluster)}",
        f"    user: {_quoted(user)}",
        f"current-context: {context}",
        "preferences: {}",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def _quoted(text: str) -> str:
    """Return a text as YAML; every JSON text is one."""
    return json.dumps(text)


def _base64(content: bytes) -> str:
    """Return PEM as kubeconfigs have it: its first characters, "LS0t", make it a text without quotation marks."""
    return base64.b64encode(content).decode()
