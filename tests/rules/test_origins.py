"""Origins of web pages: the server's own, and those that the operator allows."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.origins import LONGEST_ORIGIN, AllowedOrigins, same_origin

# An Origin header, a Host header, whether they are one.
SAME = (
    ("https://api.example.com", "api.example.com", True),
    ("https://api.example.com", "API.example.com:443", True),
    ("https://api.example.com:6443", "api.example.com:6443", True),
    ("https://[::1]:6443", "[::1]:6443", True),
    ("https://api.example.com", "api.example.com:6443", False),
    ("https://api.example.com.evil.org", "api.example.com", False),
    ("http://api.example.com:6443", "api.example.com:6443", False),
    ("null", "null", False),
    ("", "", False),
    ("https://", "", False),
    ("https://a:b:c", "a", False),
    ("https://[::1", "[::1", False),
    (f"https://{'a' * LONGEST_ORIGIN}", "a" * LONGEST_ORIGIN, False),
)


class SameOriginTests(SynchronousTestCase):
    def test_pairs(self) -> None:
        """Scheme, host and port decide; the scheme is HTTPS, which is all that is served (RFC 6454 §5)."""
        for origin, host, same in SAME:
            self.assertEqual(same_origin(origin, host), same, (origin, host))


class AllowedOriginsTests(SynchronousTestCase):
    def test_anywhere(self) -> None:
        """An expression matches anywhere in an origin, as the reference server's do, unless it is anchored."""
        self.assertTrue(AllowedOrigins(["example.com"]).allow("https://www.example.com:8443"))
        self.assertFalse(AllowedOrigins(["^https://example.com$"]).allow("https://www.example.com"))

    def test_linear_time(self) -> None:
        """An expression that backtracks elsewhere is cheap here; one that RE2 cannot read is refused."""
        self.assertFalse(AllowedOrigins(["(a+)+$"]).allow(f"https://{'a' * 400}!"))
        self.assertIn("perl operator", str(self.assertRaises(ValueError, AllowedOrigins, ["(?=a)"])))

    def test_any_of_several(self) -> None:
        """One expression that matches is enough; without any, no origin is allowed."""
        self.assertTrue(AllowedOrigins(["//a$", "//b$"]).allow("https://b"))
        self.assertFalse(AllowedOrigins().allow("https://b"))
        self.assertEqual((bool(AllowedOrigins()), bool(AllowedOrigins(["a"]))), (False, True))

    def test_no_origin(self) -> None:
        """Nothing, a list and a text that is too long to be an origin match no expression."""
        allowed = AllowedOrigins([""])
        for origin in ("", "https://a, https://b", "a" * (LONGEST_ORIGIN + 1)):
            self.assertFalse(allowed.allow(origin), origin[:20])
