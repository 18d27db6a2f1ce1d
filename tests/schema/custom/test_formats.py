"""Formats of texts (reference CRD-33)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.formats import find

GOOD: dict[str, tuple[str, ...]] = {
    "bsonobjectid": ("507f1f77bcf86cd799439011",),
    "uri": ("http://a.b/c?d=e f", "/a/b", "*", "mailto:x@y", "http://u:p@[::1]:80/%20"),
    "email": ("a@b", "a.b+c@d.example", "Some One <a@b.example>", '"q q"@b', '"Q, R" <a@b>'),
    "hostname": ("a", "localhost", "a-b.example.com", "1.example.io", "é.example", "my-host"),
    "ipv4": ("1.2.3.4", "::ffff:1.2.3.4"),
    "ipv6": ("::1", "fe80::1:2", "::ffff:1.2.3.4"),
    "cidr": ("10.0.0.0/8", "::/0", "1.2.3.4/32"),
    "mac": ("01:23:45:67:89:ab", "01-23-45-67-89-ab-cd-ef", "0123.4567.89ab"),
    "uuid": ("a8098c1a-f86e-11da-bd1a-00112444be1e", "A8098C1AF86E11DABD1A00112444BE1E"),
    "uuid3": ("bcd02e22-68f0-3046-a512-327cca9def8f",),
    "uuid4": ("025b0d74-00a2-4048-bf57-227c5111bb34",),
    "uuid5": ("886313e1-3b8a-5372-9b90-0c9aee199e5d",),
    "isbn": ("0321751043", "978-0321751041"),
    "isbn10": ("0321751043", "0-8044-2957-X"),
    "isbn13": ("978-0321751041", "978 3401013190"),
    "k8s-short-name": ("a", "a-b", "1" * 63),
    "k8s-long-name": ("a", "a.b-c", "1" * 253),
    "creditcard": ("4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005"),
    "ssn": ("111-22-3333", "111 22 3333", "111223333"),
    "hexcolor": ("#FFFFFF", "fff"),
    "rgbcolor": ("rgb(255, 0,99)",),
    "byte": ("YQ==", "YWI=", "YWJj"),
    "password": ("", "anything"),
    "date": ("2006-01-02", "2000-02-29", "0000-01-01"),
    "duration": ("1h", "-1.5h", "22 ns", "3 days 1 hour", "0"),
    "datetime": ("2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00"),
    "date-time": ("2014-12-15T19:30:20Z",),
}
BAD: dict[str, tuple[str, ...]] = {
    "bsonobjectid": ("507f1f77bcf86cd79943901", "x" * 24),
    "uri": ("", "a/b", "http://a b/", "/a%zz", "http://a:b/", "\x01"),
    "email": ("", "a", "a@", "@b", "a b@c", "One, Two <a@b>", "<a@b"),
    "hostname": ("", "-a.b", "a_b", "a..bc", "a.b", "x" * 64, "a." * 128 + "bc", "a b"),
    "ipv4": ("1.2.3", "01.2.3.4", "::1", "1.2.3.4/8"),
    "ipv6": ("1.2.3.4", "fe80::1%eth0", ":::"),
    "cidr": ("10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "::/129"),
    "mac": ("01:23:45:67:89", "01:23:45:67:89:zz", "0123456789ab"),
    "uuid": ("a8098c1a", "", "g8098c1a-f86e-11da-bd1a-00112444be1e"),
    "uuid3": ("025b0d74-00a2-4048-bf57-227c5111bb34",),
    "uuid4": ("025b0d74-00a2-4048-cf57-227c5111bb34",),
    "uuid5": ("025b0d74-00a2-4048-bf57-227c5111bb34",),
    "isbn": ("0321751044", "978-0321751042", ""),
    "isbn10": ("978-0321751041", "032175104"),
    "isbn13": ("0321751043",),
    "k8s-short-name": ("", "A", "a.b", "-a", "1" * 64),
    "k8s-long-name": ("", "A", "a..b", "a_b", "1" * 254),
    "creditcard": ("4111 1111 1111 1112", "1", ""),
    "ssn": ("11-22-3333", "111-22-33333"),
    "hexcolor": ("#FFFF", "#gggggg"),
    "rgbcolor": ("rgb(256,0,0)", "rgb(1,2)", "255,0,0"),
    "byte": ("", "YQ=", "YQ==\n", "Y Q="),
    "date": ("2006-1-2", "2001-02-29", "20060102", "2006-01-02T00:00:00Z"),
    "duration": ("", "x", "5", "5 parsecs"),
    "datetime": ("2014-12-15", "2014-12-15 19:30:20Z", "2014-12-15T24:00:00Z", "2014-12-15T19:30:20"),
}


class FormatTests(SynchronousTestCase):
    def test_good(self) -> None:
        """Texts of each format."""
        self.check(GOOD, True)

    def test_bad(self) -> None:
        """Texts that are not."""
        self.check(BAD, False)

    def check(self, texts: dict[str, tuple[str, ...]], expected: bool) -> None:
        for name, each in texts.items():
            check = find(name)
            assert check is not None
            for text in each:
                self.assertEqual((name, text, check(text)), (name, text, expected))

    def test_unknown(self) -> None:
        """Unknown formats are ignored; hyphens do not count."""
        for name in ("int32", "int64", "float", "double", "quantity", "", None, 5):
            self.assertIsNone(find(name))
        self.assertIs(find("date-time"), find("datetime"))
