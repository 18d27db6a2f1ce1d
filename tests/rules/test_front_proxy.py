"""Headers that say who asks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import UserInfo
from orchtw.rules.forwarding import aggregated_headers, has_passed
from orchtw.rules.front_proxy import escaped_key, identity_headers, unescaped_key
from tests.properties import examples


class IdentityTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """A line for the name, each group and each extra value; keys in lower case and escaped (reference AGG-5)."""
        user = UserInfo(name="jané", groups=("a, b", "c"), extra={"Example.com/Foo%": ("1", "2")})
        self.assertEqual(
            identity_headers(user),
            [
                ("X-Remote-User", "jan\xc3\xa9"),
                ("X-Remote-Group", "a, b"),
                ("X-Remote-Group", "c"),
                ("X-Remote-Extra-example.com%2Ffoo%25", "1"),
                ("X-Remote-Extra-example.com%2Ffoo%25", "2"),
            ],
        )

    def test_uid(self) -> None:
        """The uid has a line if it is asked for and not empty (reference AGG-5)."""
        user = UserInfo(name="jane", uid="7")
        self.assertEqual(identity_headers(user, uid=True), [("X-Remote-User", "jane"), ("X-Remote-Uid", "7")])
        self.assertEqual(identity_headers(user), [("X-Remote-User", "jane")])
        self.assertEqual(identity_headers(UserInfo(name="jane"), uid=True), [("X-Remote-User", "jane")])

    @examples(100)
    @given(st.text().map(str.lower))
    def test_keys(self, key: str) -> None:
        """Every key comes back as it was (reference AGG-5, AUTHN-38)."""
        self.assertEqual(unescaped_key(escaped_key(key)), key.lower())


class HeaderTests(SynchronousTestCase):
    def test_sent(self) -> None:
        """The client's headers are passed on, except those that identify the user (reference AGG-5)."""
        given_ = {
            "host": "front:6443",
            "accept": "application/json",
            "authorization": "Bearer x",
            "x-remote-user": "root",
            "x_remote_group": "system:masters",
            "via": "1.1 before",
            "impersonate-user": "root",
            "x-forwarded-for": "1.2.3.4",
            "x-forwarded-proto": "ftp",
            "audit-id": "mine",
            "connection": "keep-alive, x-hop",
            "x-hop": "y",
        }
        lines = aggregated_headers(
            given_, client="10.0.0.9", host="there:443", name="me", audit_id="id", size=0, upgrade=False
        )
        self.assertEqual(
            lines,
            [
                ("Host", "there:443"),
                ("accept", "application/json"),
                ("X-Forwarded-For", "1.2.3.4, 10.0.0.9"),
                ("X-Forwarded-Host", "front:6443"),
                ("X-Forwarded-Proto", "https"),
                ("Audit-Id", "id"),
                ("Via", "1.1 before, 1.1 me"),
            ],
        )

    def test_passed(self) -> None:
        """A server recognizes requests that it has passed on before (reference AGG-16)."""
        self.assertFalse(has_passed({}, "me"))
        self.assertFalse(has_passed({"via": "1.1 before, 1.1 mean, me"}, "me"))
        self.assertTrue(has_passed({"via": "1.1 before,1.1 me (words), 1.1 after"}, "me"))
