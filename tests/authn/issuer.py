"""An OpenID Connect issuer: a small HTTPS server with keys, in the test's own process."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from orchtw.testing.webhook import Reply, WebhookRequest, WebhookServer
from orchtw.wire.objects import Object

NOW = 1_700_000_000.0
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


@cache
def key_of(kid: str, algorithm: str = "RS256") -> Any:
    """A private key, the same each time."""
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm])
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk(kid: str, algorithm: str = "RS256", /, **more: Any) -> Object:
    """The public half as issuers publish it."""
    public = key_of(kid, algorithm).public_key()
    kind = ECAlgorithm if algorithm in CURVES else RSAAlgorithm
    return {**orjson.loads(kind.to_jwk(public)), "kid": kid, "use": "sig", **more}


def signed(claims: Object, kid: str = "one", algorithm: str = "RS256", /, **header: Any) -> str:
    """Return a signed token in JWT form."""
    payload = orjson.dumps(claims)
    return jwt.PyJWS().encode(payload, key_of(kid, algorithm), algorithm, headers={"kid": kid, **header})


def encoded(value: Any) -> str:
    """A part of a token."""
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


class Issuer:
    """Token issuer.

    It publishes `keys`; `discovery` and `jwks` replace the true answers.
    """

    def __init__(self, reactor: Any) -> None:
        self.server = WebhookServer(reactor, self.answer)
        self.url = self.server.url
        self.keys = [jwk("one")]
        self.discovery: Any = None
        self.jwks: Any = None
        self.max_age = ""

    def answer(self, asked: WebhookRequest) -> Any:
        if asked.target == "/.well-known/openid-configuration":
            return self.discovery or {"issuer": self.url, "jwks_uri": f"{self.url}/keys?v=1"}
        if asked.target == "/keys?v=1":
            headers = (("Cache-Control", self.max_age),) if self.max_age else ()
            return self.jwks or Reply(body=orjson.dumps({"keys": self.keys}), headers=headers)
        return Reply(code=404)

    def claims(self, **more: Any) -> Object:
        """Return claims that are valid at NOW; a value of None removes a claim."""
        found = {"iss": self.url, "aud": "client", "sub": "alice", "exp": NOW + 600, **more}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def fetches(self) -> int:
        """Return the number of times that keys have been read."""
        return sum(asked.target.startswith("/keys") for asked in self.server.asked)
