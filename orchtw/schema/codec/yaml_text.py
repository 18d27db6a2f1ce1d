"""YAML ↔ JSON-shaped values, the way Kubernetes converts them: YAML is only another spelling of JSON.

Scalars follow YAML 1.1 as Kubernetes' reader knows it: `yes` and `on` are booleans, dates and sexagesimal numbers
stay strings. Keys become strings and come out sorted; if a key is repeated, the last one counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from orchtw.schema.codec.json_text import MAX_ELEMENTS, MAX_KEYS, TOO_MANY_ELEMENTS, TOO_MANY_KEYS
from orchtw.schema.codec.mismatch import MalformedBody, SchemaError, shortened
from orchtw.schema.codec.strict_fields import MAX_FINDINGS
from orchtw.schema.values import MAX_DEPTH, in_order

EXPANDED_LIMIT = 8 << 20  # characters and values after aliases are followed; more than twice the largest body
MAX_EVENTS = 300_000  # of the parser: scalars, aliases, beginnings and ends; more than any object of 3 MiB has
MAX_DOCUMENTS = 16  # all but the first of them empty
MAX_TAG_HANDLES = 100  # the parser compares each with all others
_TOO_DEEP = f"expected at most {MAX_DEPTH} levels"
_INTEGERS = range(-(1 << 63), 1 << 64)  # beyond them Kubernetes' reader makes a float of an integer

_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(
    r"[-+]?(?:0b_*[01][01_]*|0o_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0[0-7_]*|[1-9][0-9_]*)", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[Tt \t].*)?", re.ASCII)
_TAG_HANDLE = re.compile("[\n\r\x85\u2028\u2029]%TAG").findall
_TAGS = "tag:yaml.org,2002:"
_COLLECTION_TAGS = (None, "!", f"{_TAGS}map", f"{_TAGS}seq")


def decode_yaml(body: bytes, repeated: list[str] | None = None) -> Any:
    """Return the value of a body, as `parse_yaml`. Raises MalformedBody."""
    try:
        return parse_yaml(body, repeated)
    except ValueError as error:
        raise MalformedBody(f"couldn't get version/kind; yaml parse error: {error}") from None


def parse_yaml(body: bytes, repeated: list[str] | None = None) -> Any:
    """Parse the document in `body` to a JSON-shaped value; an empty body is None.

    Repeated keys are appended to `repeated`, such as `line 3: key "a" already set in map` (reference WRITE-27).
    Raises ValueError for a text that is not YAML, has no JSON form, is nested deeper than MAX_DEPTH or grows beyond
    EXPANDED_LIMIT through aliases.
    """
    try:
        text = body.decode()
        if len(text) > MAX_TAG_HANDLES and len(_TAG_HANDLE(text)) > MAX_TAG_HANDLES:
            raise SchemaError(f"more than {MAX_TAG_HANDLES} %TAG directives")
        return _Builder(repeated).build(yaml.parse(_Slices(text), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, SchemaError) as error:
        text = " ".join(str(error).split())
        # Since 6.0.4 the parser has a limit of its own, which it may reach while it reads ahead of the builder.
        raise ValueError(_TOO_DEEP if "maximum nesting depth" in text else text) from None


class _Slices:
    """A text that the parser reads in pieces: at each one, other threads may run."""

    name = "<unicode string>"  # what the parser's errors call it

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, size: int = -1, /) -> str:
        """Return the next characters, `size` at most; none at the end."""
        start = self._at
        self._at = start + size
        return self._text[start : self._at]


class _Frame(msgspec.Struct):
    """A collection under construction, with its size and depth so far, aliases followed.

    `key` is the pending key of a mapping, `merging` if it is a plain `<<`; `merged` holds the objects merged that
    way.
    """

    value: Any
    anchor: str | None
    key: str | None = None
    merging: bool = False
    weight: int = 1
    depth: int = 1
    merged: list[Any] = msgspec.field(default_factory=list)


class _Builder:
    """Builds one value from the parser's events, on a stack of its own: nesting costs no recursion."""

    def __init__(self, repeated: list[str] | None = None) -> None:
        self._repeated = repeated
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._documents: list[Any] = []

    def build(self, events: Iterator[Any]) -> Any:
        """Consume all events; raises SchemaError and whatever the parser raises."""
        for count, event in enumerate(events):
            if count == MAX_EVENTS:
                raise SchemaError(f"more than {MAX_EVENTS} values, keys and ends of collections")
            if isinstance(event, yaml.ScalarEvent):
                self._add(_scalar(event), len(event.value) + 1, 0, event.anchor, event)
            elif isinstance(event, yaml.AliasEvent):
                self._add_alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
        return self._documents[0] if self._documents else None

    def _open(self, event: Any) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise SchemaError(f"line {event.start_mark.line + 1}: {_TOO_DEEP}")
        if event.tag not in _COLLECTION_TAGS:
            raise SchemaError(f"line {event.start_mark.line + 1}: tag {event.tag} cannot be represented in JSON")
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)  # an alias to an incomplete collection is rejected as unknown
        self._frames.append(_Frame({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))

    def _close(self, event: Any) -> None:
        frame = self._frames.pop()
        value = frame.value
        if isinstance(value, list) and len(value) > MAX_ELEMENTS:
            raise SchemaError(TOO_MANY_ELEMENTS)
        if isinstance(value, dict):
            for source in frame.merged:  # the first one wins
                for key, item in source.items():
                    value.setdefault(key, item)
            if len(value) > MAX_KEYS:
                raise SchemaError(TOO_MANY_KEYS)
            value = {key: value[key] for key in in_order(value)}
        self._add(value, frame.weight, frame.depth, frame.anchor, event)

    def _add_alias(self, event: Any) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise SchemaError(f"line {event.start_mark.line + 1}: alias to unknown anchor {event.anchor!r}")
        value, weight, depth = found
        if len(self._frames) + depth > MAX_DEPTH:
            raise SchemaError(f"line {event.start_mark.line + 1}: {_TOO_DEEP}")
        self._add(value, weight, depth, None, event)

    def _note_repeated(self, key: str, event: Any) -> None:
        if self._repeated is not None and len(self._repeated) < MAX_FINDINGS:
            line = event.start_mark.line + 1
            self._repeated.append(f'line {line}: key "{shortened(key)}" already set in map')

    def _add(self, value: Any, weight: int, depth: int, anchor: str | None, event: Any) -> None:
        """Put a finished value into its collection."""
        if anchor is not None:
            self._anchors[anchor] = value, weight, depth
        if not self._frames:
            self._documents.append(value)
            if len(self._documents) > 1 and (value is not None or len(self._documents) > MAX_DOCUMENTS):
                raise SchemaError("more than one document")
            return
        frame = self._frames[-1]
        frame.weight += weight
        frame.depth = max(frame.depth, depth + 1)
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            frame.key = _key(value, event)
            frame.merging = value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            if frame.key in frame.value:
                self._note_repeated(frame.key, event)
        elif frame.merging:
            frame.merged.extend(_merge_sources(value, event))
            frame.key = None
            frame.merging = False
        else:
            frame.value[frame.key] = value
            frame.key = None
        if frame.weight > EXPANDED_LIMIT:
            raise SchemaError("too large after its aliases are followed")


def _key(value: Any, event: Any) -> str:
    """Convert a mapping's key to a string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise SchemaError(f"line {event.start_mark.line + 1}: expected a key that is a string")


def _merge_sources(value: Any, event: Any) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise SchemaError(f"line {event.start_mark.line + 1}: expected an object to merge")
    return sources


def _scalar(event: Any) -> Any:
    """Return the value of a scalar: by its tag, else by its form if it is plain."""
    text, tag = event.value, event.tag
    if tag is None:
        return _resolved(text, event) if event.implicit[0] else text
    if tag == "!" or tag in (f"{_TAGS}str", f"{_TAGS}timestamp"):
        return text
    kind = tag.removeprefix(_TAGS)
    value = _resolved(text, event)
    fits = {"null": value is None, "bool": isinstance(value, bool), "int": type(value) is int}
    if kind == "float" and type(value) in (int, float):
        return value
    if not fits.get(kind, False):
        raise SchemaError(f"line {event.start_mark.line + 1}: tag {tag} cannot be represented in JSON")
    return value


def _resolved(text: str, event: Any) -> Any:
    """Return the value that a plain scalar stands for."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return int(number) if number.is_integer() and abs(number) < 1 << 63 else number
    elif not _SPECIAL_FLOAT.fullmatch(text):
        return text
    raise SchemaError(f"line {event.start_mark.line + 1}: expected a finite number, got {text[:40]}")


def _integer(text: str) -> int | float:
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if digits[:1] == "0" and digits[1:].isdigit():
        digits = "0o" + digits[1:]
    if len(digits) > 250:  # a float holds no more, whatever the base
        raise SchemaError("expected a number of at most 250 digits")
    number = -int(digits, 0) if sign == "-" else int(digits, 0)
    return number if number in _INTEGERS else float(number)


class _Dumper(yaml.CSafeDumper):
    """Writes strings so that every YAML reader finds strings; no anchors."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own

    def ignore_aliases(self, data: object) -> bool:
        """Write out shared values each time."""
        return True


def _represent_string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _looks_otherwise(text) else None
    return dumper.represent_scalar(f"{_TAGS}str", text, style=style)


def _looks_otherwise(text: str) -> bool:
    """Report whether a reader might take a plain `text` for something other than a string."""
    if text in _NULL or text in _TRUE or text in _FALSE or text in ("<<", "="):
        return True
    return (
        any(pattern.fullmatch(text) for pattern in (_INTEGER, _FLOAT, _SPECIAL_FLOAT, _DATE))
        or ":" in text
        and (
            text.replace(":", "").replace("_", "").replace(".", "").lstrip("+-").isdigit()  # sexagesimal elsewhere
        )
    )


_Dumper.add_representer(str, _represent_string)
# Without a resolver the emitter must be told that these are written plain.
_PLAIN = {"null": "null", "bool": "true|false", "int": _INTEGER.pattern, "float": _FLOAT.pattern}
for _tag, _pattern in _PLAIN.items():
    _Dumper.add_implicit_resolver(f"{_TAGS}{_tag}", re.compile(f"(?:{_pattern})$"), None)


def encode_yaml(obj: Any) -> bytes:
    """Write a value as Kubernetes writes YAML: sorted keys, lists at their parents' indentation, long lines.

    The mark of the document's end is removed, which PyYAML writes after texts that end with several line breaks.
    """
    text: str = yaml.dump(
        obj, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True, width=1 << 30
    )
    if text.endswith("\n...\n"):
        text = text[:-4]
    return text.encode()


PART_NODES = 128  # values written at a time: a few milliseconds
_INDENTED = re.compile("(?:^|(?<=[\n\r\x85\u2028\u2029]))(?=[^\n\r\x85\u2028\u2029])")


def yaml_parts(obj: Any) -> Iterator[bytes]:
    """Yield the result of `encode_yaml` for `obj`, in parts of PART_NODES values or so."""
    if _few(obj):
        yield encode_yaml(obj)
    else:
        yield from (text.encode() for text in _parts(obj, ""))


def _parts(value: dict[str, Any] | list[Any], indent: str) -> Iterator[str]:
    """Yield a large collection at an indentation; small members are written together."""
    mapping = isinstance(value, dict)
    batch: list[Any] = []
    room = PART_NODES
    for item in sorted(value.items()) if isinstance(value, dict) else value:
        content = item[1] if mapping else item
        nodes = _nodes(content)
        if batch and nodes > room:
            yield _written(dict(batch) if mapping else batch, indent)
            batch, room = [], PART_NODES
        if nodes <= PART_NODES:
            batch.append(item)
            room -= nodes
        else:
            yield from _entry(item[0], content, indent) if mapping else _item(content, indent)
    if batch:
        yield _written(dict(batch) if mapping else batch, indent)


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a key with a large value: a list stands at the key's own indentation."""
    line = encode_yaml({key: None}).decode()
    if line.startswith("? "):  # a key too long for one line has its value elsewhere
        yield _written({key: value}, indent)
        return
    yield f"{indent}{line.removesuffix(' null' + chr(10))}\n"
    yield from _parts(value, indent if isinstance(value, list) else indent + "  ")


def _item(value: Any, indent: str) -> Iterator[str]:
    """Yield a large item of a list."""
    lead = f"{indent}- "
    for text in _parts(value, indent + "  "):
        yield lead + text[len(lead) :]
        lead = ""


def _written(value: Any, indent: str) -> str:
    text = encode_yaml(value).decode()
    return _INDENTED.sub(indent, text) if indent else text


def _few(value: Any) -> bool:
    return not isinstance(value, dict | list) or _nodes(value) <= PART_NODES


def _nodes(value: Any) -> int:
    """Count the values in a value, itself included; counting ends beyond PART_NODES."""
    count, waiting = 1, [value]
    while waiting and count <= PART_NODES:
        each = waiting.pop()
        if isinstance(each, dict):
            count += len(each)
            waiting.extend(each.values())
        elif isinstance(each, list):
            count += len(each)
            waiting.extend(each)
    return count
