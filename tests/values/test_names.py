"""Syntax of names and labels (reference OBJ-20, OBJ-25, OBJ-26)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values import names

ENDS = "and must start and end with an alphanumeric character"
SUBDOMAIN = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {ENDS} (e.g. "
    "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {ENDS} (e.g. 'my-name',  "
    "or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    f"name part must consist of alphanumeric characters, '-', '_' or '.', {ENDS} (e.g. 'MyName',  or 'my.name',  or "
    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


class FormTests(SynchronousTestCase):
    """Forms that names must have."""

    def test_good(self) -> None:
        """Values within the form have no errors."""
        for check, values in [
            (names.dns_label, ["a", "0-9", "x" * 63]),
            (names.dns_subdomain, ["a.b-c.d", "x" * 253]),
            (names.dns_1035_label, ["a", "a-1"]),
            (names.label_value, ["", "A_b.c-1", "x" * 63]),
            (names.qualified_name, ["a", "A.b_c-1", "ex.io/" + "n" * 63]),
            (names.config_key, ["a.b", "_x", "-", "...a"[3:]]),
            (names.path_segment, ["system:x", "A b", "..."]),
        ]:
            for value in values:
                self.assertEqual(check(value), (), value)

    def test_bad(self) -> None:
        """Values outside have the API's texts, length first."""
        for check, value, errors in [
            (names.dns_subdomain, "A_B", (SUBDOMAIN,)),
            (names.dns_subdomain, "a\n", (SUBDOMAIN,)),
            (names.dns_subdomain, "a" * 254, ("must be no more than 253 characters",)),
            (names.dns_label, "a.b", (LABEL,)),
            (names.dns_label, "-" * 64, ("must be no more than 63 characters", LABEL)),
            (names.qualified_name, "-a", (QUALIFIED,)),
            (names.qualified_name, "", ("name part must be non-empty", QUALIFIED)),
            (names.qualified_name, "/a", ("prefix part must be non-empty",)),
            (names.qualified_name, "A/a", (f"prefix part {SUBDOMAIN}",)),
            (names.qualified_name, "n" * 64, ("name part must be no more than 63 characters",)),
            (names.path_segment, ".", ("may not be '.'",)),
            (names.path_segment, "..", ("may not be '..'",)),
            (names.path_segment, "a/%", ("may not contain '/'", "may not contain '%'")),
            (names.config_key, "..", ("must not be '..'",)),
            (names.config_key, "..a", ("must not start with '..'",)),
        ]:
            self.assertEqual(check(value), errors, value)

    def test_digits_first(self) -> None:
        """A DNS-1035 label starts with a letter."""
        self.assertTrue(names.dns_1035_label("1a")[0].startswith("a DNS-1035 label must consist of lower case"))

    def test_two_slashes(self) -> None:
        """A qualified name has at most one slash."""
        self.assertTrue(names.qualified_name("a/b/c")[0].startswith("a qualified name must consist of"))


class NameFormTests(SynchronousTestCase):
    """Variations of forms (`NameForm`)."""

    def test_shorter(self) -> None:
        """A kind may allow fewer characters than its form."""
        form = names.SUBDOMAIN_NAME.shorter(52)
        self.assertEqual(form.check("a" * 52), ())
        self.assertEqual(form.check("a" * 53), ("must be no more than 52 characters",))
        self.assertEqual(form.prefix("a" * 53), ())

    def test_prefixes(self) -> None:
        """A generateName may end in one dash where the form is DNS; a path segment may begin with dots."""
        for form, prefix, good in [
            (names.SUBDOMAIN_NAME, "web-", True),
            (names.SUBDOMAIN_NAME, "web--", True),
            (names.SUBDOMAIN_NAME, "-", False),
            (names.SUBDOMAIN_NAME, "Web-", False),
            (names.LABEL_1035_NAME, "1x-", False),
            (names.PATH_SEGMENT_NAME, "..", True),
            (names.PATH_SEGMENT_NAME, "a/", False),
        ]:
            self.assertEqual(not form.prefix(prefix), good, prefix)


class DomainTests(SynchronousTestCase):
    """Names of several parts."""

    def test_wildcards(self) -> None:
        """A star stands for the whole first part."""
        self.assertEqual(names.wildcard_subdomain("*.a.b"), ())
        for value in ("*", "a.*", "**.a", "*.A", "*a.b", "*." + "a." * 126 + "a"):
            self.assertEqual(len(names.wildcard_subdomain(value)), 1, value)

    def test_identifiers(self) -> None:
        """Identifiers have neither dots nor dashes."""
        (found,) = names.c_identifier("my-name")
        self.assertEqual(
            found,
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
            "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            "'[A-Za-z_][A-Za-z0-9_]*')",
        )

    def test_fully_qualified(self) -> None:
        """Three parts are enough; all that is wrong is one text."""
        self.assertEqual(names.fully_qualified_name("a.b.c"), ())
        for value, text in (("a.b", "at least three segments"), ("A", "RFC 1123"), ("A" * 254, "253 characters,a")):
            (found,) = names.fully_qualified_name(value)
            self.assertIn(text, found)

    def test_drivers(self) -> None:
        """Drivers of storage may have upper-case letters."""
        self.assertEqual(names.csi_driver("Ex.io"), ())
        self.assertEqual(len(names.csi_driver("a_b")), 1)
