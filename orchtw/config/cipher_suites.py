"""TLS 1.2 cipher suites by IANA name, as in `--tls-cipher-suites`, with their OpenSSL names.

Only suites with forward secrecy and authenticated encryption are supported. TLS 1.3 suites are not configurable.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CIPHER_SUITES: Mapping[str, str] = MappingProxyType(
    {
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    }
)


def openssl_names(suites: tuple[str, ...]) -> str:
    """Return the OpenSSL cipher list for IANA names, in the same order; empty for no names (the defaults)."""
    return ":".join(CIPHER_SUITES[name] for name in suites)
