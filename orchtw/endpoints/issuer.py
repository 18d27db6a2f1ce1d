"""OIDC discovery document and JWKS of the service account issuer (reference AUTHN-31)."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

import orjson

from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.request import Request, Response

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
_CACHED = ("Cache-Control", "public, max-age=3600")


class IssuerDiscovery:
    """Endpoint of both documents, served only if the issuer is an https URL without query and fragment."""

    methods = frozenset({"GET"})

    def __init__(self, tokens: AccountTokens) -> None:
        issuer, keys = tokens.issuers[0], tokens.keys.verifying
        document = {
            "issuer": issuer,
            "jwks_uri": tokens.jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
        }
        answers = {
            CONFIGURATION: ("application/json", orjson.dumps(document)),
            KEYS: ("application/jwk-set+json", orjson.dumps({"keys": [dict(key.jwk()) for key in keys]})),
        }
        parts = urlsplit(issuer)
        discoverable = parts.scheme == "https" and not parts.query and not parts.fragment
        self._answers = answers if discoverable else {}

    def paths(self) -> Iterable[str]:
        """Return both paths, or none if the issuer is not discoverable."""
        return tuple(self._answers)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return no aliases for these paths."""
        return ()

    async def handle(self, request: Request, path: str) -> Response:
        """Return the discovery document or the keys, cacheable for an hour."""
        content_type, body = self._answers[path]
        return Response(content_type=content_type, body=body, headers=[_CACHED])
