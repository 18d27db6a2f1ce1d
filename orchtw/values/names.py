"""Syntax of names, label keys and label values, and the forms of objects' names (reference OBJ-20, OBJ-25).

Each check returns the texts of errors, none for a valid value. Lengths count bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from orchtw.values import utf8

Check = Callable[[str], tuple[str, ...]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_VARIABLE = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_HEADER = "[-A-Za-z0-9]+"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_KEPT = 4096  # label keys, values and names repeat; this many short ones take about 1 MiB
_LONGEST_MATCHED = 4096  # characters: for longer ones the error about the length suffices
_LONGEST_KEPT = 320  # characters: every valid value is shorter, and a client's long ones are not worth the memory


def regex_text(message: str, pattern: str, *examples: str) -> str:
    """Return a syntax error's text with examples and the pattern, punctuated as in the API."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def max_length_text(limit: int) -> str:
    """Return the text for a value that is too long."""
    return f"must be no more than {limit} characters"


_ENDS = "and must start and end with an alphanumeric character"
_LABEL_TEXT = regex_text(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TEXT = regex_text(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
_WILDCARD_TEXT = regex_text(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_LABEL_1035_TEXT = regex_text(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_TEXT = regex_text(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}", _QUALIFIED, "MyName", "my.name", "123-abc"
)
_LABEL_VALUE_TEXT = regex_text(
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_TEXT = regex_text(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_VARIABLE_TEXT = regex_text(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    _VARIABLE,
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
_HEADER_TEXT = regex_text(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
)
_IDENTIFIER_TEXT = regex_text(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_is_variable = re.compile(_VARIABLE).fullmatch
_is_header = re.compile(_HEADER).fullmatch
_is_identifier = re.compile(_IDENTIFIER).fullmatch


def _form(pattern: str, limit: int, text: str) -> Check:
    matches = re.compile(pattern).fullmatch
    too_long = max_length_text(limit)

    def check(value: str) -> tuple[str, ...]:
        errors = []
        if utf8.size(value) > limit:
            errors.append(too_long)
        if len(value) <= _LONGEST_MATCHED and matches(value) is None:
            errors.append(text)
        return tuple(errors)

    return _remembering(check)


def _remembering(check: Check) -> Check:
    """Add a cache of recent results for short values to `check`."""
    kept = lru_cache(maxsize=_KEPT)(check)

    def remembered(value: str) -> tuple[str, ...]:
        return kept(value) if len(value) <= _LONGEST_KEPT else check(value)

    return remembered


dns_label = _form(_LABEL, 63, _LABEL_TEXT)
dns_subdomain = _form(_SUBDOMAIN, 253, _SUBDOMAIN_TEXT)
wildcard_subdomain = _form(_WILDCARD, 253, _WILDCARD_TEXT)
dns_1035_label = _form(_LABEL_1035, 63, _LABEL_1035_TEXT)
label_value = _form(_LABEL_VALUE, 63, _LABEL_VALUE_TEXT)
_config_key = _form(_CONFIG_KEY, 253, _CONFIG_KEY_TEXT)
_qualified_part = _form(_QUALIFIED, 63, _QUALIFIED_TEXT)


def _qualified_errors(value: str) -> tuple[str, ...]:
    """Return why `value` is not `[prefix/]name`."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a qualified name {_QUALIFIED_TEXT}{tail}",)
    errors: list[str] = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors.extend(f"prefix part {text}" for text in dns_subdomain(prefix))
    if not name:
        errors.append("name part must be non-empty")
    errors.extend(f"name part {text}" for text in _qualified_part(name))
    return tuple(errors)


_qualified = _remembering(_qualified_errors)


def qualified_name(value: str) -> tuple[str, ...]:
    """Return why `value` is not `[prefix/]name`: the form of label and annotation keys and of finalizers."""
    return _qualified(value)


def csi_driver(value: str) -> tuple[str, ...]:
    """Return why `value` is not the name of a CSI driver: a subdomain with letters of either case."""
    return dns_subdomain(value.lower())


def config_key(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be a key of ConfigMap or Secret data."""
    return (*_config_key(value), *_dots(value)) if value.startswith(".") else _config_key(value)


def _dots(value: str) -> tuple[str, ...]:
    """Return why a name cannot be that of a file: it leads to another folder."""
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else ()


def environment_variable(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be the name of an environment variable, or the beginning of one."""
    if _is_variable(value) is None:
        return (_VARIABLE_TEXT, *_dots(value))
    return _dots(value) if value.startswith(".") else ()


def http_header(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be the name of an HTTP header."""
    return () if _is_header(value) else (_HEADER_TEXT,)


def c_identifier(value: str) -> tuple[str, ...]:
    """Return why `value` is not an identifier of a programming language."""
    return () if _is_identifier(value) else (_IDENTIFIER_TEXT,)


def fully_qualified_name(value: str) -> tuple[str, ...]:
    """Return, as one text, why `value` is not a domain name of three or more labels."""
    if errors := dns_subdomain(value):
        return (",".join(errors),)
    parts = value.count(".") + 1
    return () if parts > 2 else ("should be a domain with at least three segments separated by dots",)


def path_segment(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be one segment of a path."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be the beginning of a `path_segment`."""
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


class NameForm(msgspec.Struct, frozen=True):
    """The form of a kind's names: `check` is that of metadata.name on create, `prefix` of metadata.generateName."""

    check: Check
    prefix: Check

    @classmethod
    def dns(cls, check: Check) -> NameForm:
        """Return the form for a check; a prefix may end in one dash."""

        def prefix(value: str) -> tuple[str, ...]:
            return check(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)

        return cls(check, prefix)

    def shorter(self, limit: int) -> NameForm:
        """Return the form with at most `limit` characters; prefixes are unchanged."""

        def check(value: str) -> tuple[str, ...]:
            errors = self.check(value)
            return (*errors, max_length_text(limit)) if len(value) > limit else errors

        return NameForm(check, self.prefix)


SUBDOMAIN_NAME = NameForm.dns(dns_subdomain)
LABEL_NAME = NameForm.dns(dns_label)
LABEL_1035_NAME = NameForm.dns(dns_1035_label)
PATH_SEGMENT_NAME = NameForm(path_segment, path_segment_prefix)
