"""The formats of texts that schemas can name (reference CRD-33); whatever else they name means nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from unicodedata import category

from orchtw.values import names
from orchtw.values.times import parse_duration

_HOSTNAME_BYTES: Final = 255
_LABEL_BYTES: Final = 63
_NOT_DIGITS: Final = re.compile(r"\D+", re.ASCII)
_BLANKS: Final = re.compile(r"[\s-]+", re.ASCII)
_CARD: Final = re.compile(r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}"
                          r"|(2131|1800|35\d{3})\d{11}", re.ASCII)  # fmt: skip
_COLOUR: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_SPANS: Final = re.compile(r"\s*(?:\d+\s*[A-Za-zµ]+\s*)+", re.ASCII)
_SPAN: Final = re.compile(r"\d+\s*([A-Za-zµ]+)", re.ASCII)
_UNITS: Final = frozenset("ns us µs ms s sec m min h hr d w wk".split())
_UNIT_BEGINNINGS: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_ATOM: Final = r"[\w!#$%&'*+/=?^`{|}~-]+"
_QUOTED: Final = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*"'
_ADDRESS: Final = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\\s]*\])"
_MAILBOX: Final = re.compile(rf"\s*{_ADDRESS}\s*")
_NAMED_MAILBOX: Final = re.compile(rf"([^<]*)<{_ADDRESS}>\s*")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%@-]*")
_HOST: Final = re.compile(r"(?:\[[^\[\]/?#]*\]|[^\s\[\]<>\\^`{|}:/?#@]*)(?::\d*)?")


def _form(pattern: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    """Return a test of whether a whole text has this form; for patterns that read a text once."""
    fullmatch = re.compile(pattern, flags).fullmatch
    return lambda text: fullmatch(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _form(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}",
        re.ASCII | re.IGNORECASE,
    )


def _uri(text: str) -> bool:
    """Report whether a text is an absolute URI or an absolute path, as the target of an HTTP request."""
    if text == "*":
        return True
    if not text or _CONTROL.search(text):
        return False
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        well_formed = _USER.fullmatch(user) and _HOST.fullmatch(host)
        return bool(well_formed) and _BAD_ESCAPE.search(slash + path) is None
    return _BAD_ESCAPE.search(rest) is None


def _email(text: str) -> bool:
    """Report whether a text is a mail address, perhaps in angle brackets behind a name."""
    if _MAILBOX.fullmatch(text):
        return True
    named = _NAMED_MAILBOX.fullmatch(text)
    return named is not None and _is_display_name(named[1])


def _is_display_name(text: str) -> bool:
    if '"' not in text:
        return not re.search(r"[()<>\[\]:;@\\,\x00-\x08\x0a-\x1f\x7f]", text)
    return text.count('"') == 2 and re.fullmatch(rf"\s*{_QUOTED}\s*", text) is not None


def _hostname(text: str) -> bool:
    """Check labels of letters, digits and symbols of any script; the last of several has two characters or more."""
    if not text or len(text.encode()) > _HOSTNAME_BYTES:
        return False
    labels = text.split(".")
    return all(map(_is_label, labels)) and (len(labels) == 1 or len(labels[-1]) > 1)


def _is_label(text: str) -> bool:
    if not text or text[0] == "-" or text[-1] == "-" or len(text.encode()) > _LABEL_BYTES:
        return False
    return all((char.isascii() and (char.isalnum() or char == "-")) or category(char)[0] in "LS" for char in text)


def _ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return _ipv6(text) and "." in text
    return True


def _ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _cidr(text: str) -> bool:
    address, slash, prefix = text.partition("/")
    if not slash or not (prefix.isascii() and prefix.isdecimal()) or len(prefix) > 3:
        return False
    if ":" in address:
        return _ipv6(address) and int(prefix) <= 128
    return _ipv4(address) and int(prefix) <= 32


def _mac(text: str) -> bool:
    """6, 8 or 20 bytes in hexadecimal, in pairs with colons or hyphens, or in fours with dots."""
    for separator, digits in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(separator)
        if len(parts) * digits in (12, 16, 40):
            return all(len(part) == digits and _is_hexadecimal(part) for part in parts)
    return False


_is_hexadecimal: Final = _form(r"[0-9a-fA-F]+")


def _isbn10(text: str) -> bool:
    digits = _BLANKS.sub("", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = _BLANKS.sub("", text)
    if re.fullmatch(r"\d{13}", digits, re.ASCII) is None:
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    """Report whether a text is a card number of a usual issuer with the right check digit; separators are allowed."""
    digits = _NOT_DIGITS.sub("", text)
    if _CARD.fullmatch(digits) is None:
        return False
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(each - 9 if each > 9 else each for each in doubled)) % 10 == 0


def _date(text: str) -> bool:
    if len(text) != 10 or not text.isascii() or text[4] != "-":
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return text.startswith("0000-") and _date("2000" + text[4:])
    return True


def _date_time(text: str) -> bool:
    day, separator, clock = text.lower().partition("t")
    found = _CLOCK.fullmatch(clock)
    if not separator or not found or not _date(day):
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _duration(text: str) -> bool:
    """Report whether a text is a duration as Go has it, or numbers with names of units."""
    try:
        parse_duration(text)
    except ValueError:
        return _SPANS.fullmatch(text) is not None and any(map(_is_unit, _SPAN.findall(text)))
    return True


def _is_unit(text: str) -> bool:
    unit = text.lower()
    return unit in _UNITS or unit.startswith(_UNIT_BEGINNINGS)


def _anything(text: str) -> bool:
    return True


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _form(r"[0-9a-fA-F]{24}"),
    "uri": _uri,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _mac,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _form(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _form(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _form(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "byte": _form(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": _anything,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: not names.dns_label(text),
    "k8slongname": lambda text: not names.dns_subdomain(text),
}
_LATER: Final = {"k8sshortname": (1, 34), "k8slongname": (1, 34)}
"""Formats that came after release 1.24, with the release as (major, minor)."""

NEWEST: Final = max(_LATER.values())
"""Release from which on all formats are known."""


def find(name: object) -> Callable[[str], bool] | None:
    """Return the test of a format, whose name may have hyphens; None: there is no such format."""
    return _FORMATS.get(name.replace("-", "")) if isinstance(name, str) else None


def is_known(name: str, release: tuple[int, int]) -> bool:
    """Report whether a release validates a format."""
    plain = name.replace("-", "")
    return plain in _FORMATS and _LATER.get(plain, release) <= release
