"""Users that a proxy names in headers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.request_headers import HeaderNames, RequestHeaders
from orchtw.config.authentication import RequestHeaderOptions
from orchtw.errors import ConfigError
from orchtw.pki import certificates
from orchtw.request import UNREADABLE, Peer, Request, UserInfo

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORITY = certificates.new_authority("front-proxy-ca", NOW)
OTHER = certificates.new_authority("front-proxy-ca", NOW)
NAMES = HeaderNames.of(
    RequestHeaderOptions(
        username_headers=("X-Remote-User", "X-Other-User"),
        uid_headers=("X-Remote-Uid",),
        group_headers=("X-Remote-Group",),
        extra_headers_prefix=("X-Remote-Extra-",),
    )
)


def certificate(
    name: str = "front-proxy-client",
    authority: certificates.Authority = AUTHORITY,
    usage: x509.ObjectIdentifier = certificates.CLIENT,
) -> x509.Certificate:
    """Return a certificate, a proxy's by default."""
    return certificates.issue(authority, certificates.new_key(), name, usage, NOW)


PROXY = certificate()


class RequestHeadersTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_bytes(certificates.pem(AUTHORITY.certificate))
        self.now = NOW + timedelta(days=1)

    def method(self, *allowed: str) -> RequestHeaders:
        return RequestHeaders(self.path, NAMES, allowed, lambda: self.now.timestamp())

    def request(self, shown: object = PROXY, repeated: Any = None, **headers: str) -> Request:
        """One with these headers, on a connection with that certificate."""
        peer = Peer(address="10.0.0.1", port=1, certificate=shown)  # type: ignore[arg-type]
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return Request(method="GET", path="/", headers=named, repeated=repeated, peer=peer)

    def test_user(self) -> None:
        """The headers name user, uid, groups and extra values, and are then removed (reference AUTHN-38)."""
        request = self.request(
            x_remote_user="jan\xc3\xa9",
            x_remote_uid="7",
            x_remote_group="dev",
            **{"x-remote-extra-example.com%2fa": "1"},
            accept="x",
        )
        user = self.method().authenticate(request)
        groups = ("dev", "system:authenticated")
        self.assertEqual(user, UserInfo(name="jané", uid="7", groups=groups, extra={"example.com/a": ("1",)}))
        self.assertEqual(request.headers, {"accept": "x"})

    def test_first_name(self) -> None:
        """The first header that has a name counts (reference AUTHN-38)."""
        user = self.method().authenticate(self.request(x_remote_user="", x_other_user="jane"))
        assert user is not None
        self.assertEqual(user.name, "jane")
        self.assertIsNone(self.method().authenticate(self.request(x_remote_group="dev")))

    def test_groups_by_line(self) -> None:
        """A group may have a comma: each line is one (reference AUTHN-38)."""
        lines = {"x-remote-group": ["a, system:masters", "b"]}
        request = self.request(repeated=lines, x_remote_user="jane", x_remote_group="a, system:masters, b")
        user = self.method().authenticate(request)
        assert user is not None
        self.assertEqual(user.groups, ("a, system:masters", "b", "system:authenticated"))

    def test_others(self) -> None:
        """Headers count only with a valid client certificate of that authority and an allowed name.

        Otherwise the method has no opinion (reference AUTHN-38).
        """
        method = self.method("front-proxy-client")
        self.assertIsNotNone(method.authenticate(self.request(x_remote_user="jane")))
        for shown in (
            None,
            UNREADABLE,
            certificate("somebody"),
            certificate(authority=OTHER),
            certificate(usage=certificates.SERVER),
        ):
            request = self.request(shown, x_remote_user="jane")
            self.assertIsNone(method.authenticate(request))
        self.now = NOW + timedelta(days=3660)
        self.assertIsNone(method.authenticate(self.request(x_remote_user="jane")))

    def test_never_passed_on(self) -> None:
        """Proxy headers of an unauthenticated sender are dropped from the request.

        No backend can thus mistake them for this server's word (reference AUTHN-38).
        """
        said: dict[str, Any] = {"x-other-user": "root", "x-remote-group": "system:masters", "x-remote-extra-a": "b"}
        request = self.request(None, **said, x_remote_uid="0", accept="x")
        self.assertIsNone(self.method().authenticate(request))
        self.assertEqual(request.headers, {"accept": "x"})

    def test_any_name(self) -> None:
        """Without a list of names any will do (reference AUTHN-38)."""
        self.assertIsNotNone(self.method().authenticate(self.request(certificate("somebody"), x_remote_user="jane")))

    def test_authority_expires(self) -> None:
        """A proxy that was trusted before is not trusted once its authority has expired."""
        short = certificates.new_authority("front-proxy-ca", NOW - timedelta(days=3649))
        self.path.write_bytes(certificates.pem(short.certificate))
        method, shown = self.method(), certificate(authority=short)
        end = min(short.certificate.not_valid_after_utc, shown.not_valid_after_utc)
        for seconds, trusted in ((-1, True), (1, False)):
            self.now = end + timedelta(seconds=seconds)
            found = method.authenticate(self.request(shown, x_remote_user="jane"))
            self.assertEqual(found is not None, trusted)

    def test_read_again(self) -> None:
        """Another file counts once it has been read; one that cannot be used changes nothing (reference FLAG-2)."""
        method = self.method()
        self.path.write_bytes(certificates.pem(OTHER.certificate))
        method.read()
        self.assertIsNone(method.authenticate(self.request(x_remote_user="jane")))
        self.path.write_text("nothing")
        self.assertRaises(ConfigError, method.read)
        self.path.unlink()
        self.assertRaises(ConfigError, method.read)
        self.assertIsNotNone(method.authenticate(self.request(certificate(authority=OTHER), x_remote_user="jane")))
