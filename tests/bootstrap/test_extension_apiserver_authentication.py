"""Authentication data for extension servers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.bootstrap.extension_apiserver_authentication import AuthenticationInfo
from orchtw.pki import certificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OURS, THEIRS = (certificates.pem(certificates.new_authority(name, NOW).certificate).decode() for name in "ab")
LATER = certificates.pem(certificates.new_authority("c", NOW + timedelta(days=1)).certificate).decode()
INFO = AuthenticationInfo(
    client_ca=OURS,
    proxy_ca=OURS,
    username_headers=("X-Remote-User",),
    uid_headers=("X-Remote-Uid",),
    group_headers=("X-Remote-Group",),
    extra_prefixes=("X-Remote-Extra-",),
    allowed_names=("front-proxy-client",),
)


class AuthenticationInfoTests(SynchronousTestCase):
    def test_new(self) -> None:
        """Authorities as PEM, lists as JSON text (reference AGG-7)."""
        self.assertEqual(
            INFO.merged({}, NOW),
            {
                "client-ca-file": OURS,
                "requestheader-client-ca-file": OURS,
                "requestheader-username-headers": '["X-Remote-User"]',
                "requestheader-uid-headers": '["X-Remote-Uid"]',
                "requestheader-group-headers": '["X-Remote-Group"]',
                "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
                "requestheader-allowed-names": '["front-proxy-client"]',
            },
        )

    def test_merged(self) -> None:
        """Entries of others stay, and existing ones are not repeated (reference AGG-12, CTRL-27)."""
        theirs = AuthenticationInfo(client_ca=THEIRS, proxy_ca=OURS, allowed_names=("other", "front-proxy-client"))
        found = INFO.merged({**theirs.merged({}, NOW), "more": "kept"}, NOW)
        self.assertEqual(found["client-ca-file"], THEIRS + OURS)
        self.assertEqual(found["requestheader-client-ca-file"], OURS)
        self.assertEqual(orjson.loads(found["requestheader-allowed-names"]), ["other", "front-proxy-client"])
        self.assertEqual(found["more"], "kept")
        self.assertEqual(INFO.merged(found, NOW), found)

    def test_expired(self) -> None:
        """Expired authorities are removed (reference AGG-7)."""
        info = AuthenticationInfo(client_ca=LATER)
        end = NOW + certificates.CA_LIFE + timedelta(hours=1)
        self.assertEqual(info.merged({"client-ca-file": OURS}, end), {"client-ca-file": LATER})

    def test_unreadable(self) -> None:
        """Unreadable data is replaced (reference AGG-7)."""
        odd = {"client-ca-file": "x", "requestheader-client-ca-file": "-----", "requestheader-allowed-names": "{}"}
        self.assertEqual(INFO.merged(odd, NOW), INFO.merged({}, NOW))

    def test_without_a_proxy(self) -> None:
        """A server without authorities of proxies says nothing of their headers (reference AGG-7)."""
        self.assertEqual(AuthenticationInfo(client_ca=OURS).merged({}, NOW), {"client-ca-file": OURS})
