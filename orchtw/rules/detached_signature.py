"""Detached JWS signatures with HS256 (reference AUTHN-45)."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode


def detached_signature(content: str, token_id: str, key: str) -> str:
    """Sign a content as `<header>..<signature>`; the header's `kid` is the token id."""
    header = _encoded(f'{{"alg":"HS256","kid":"{token_id}"}}'.encode())
    signed = f"{header}.{_encoded(content.encode())}"
    return f"{header}..{_encoded(hmac.digest(key.encode(), signed.encode(), 'sha256'))}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")
