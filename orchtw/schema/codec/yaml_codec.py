"""YAML ↔ JSON-shaped values, by `yaml_text`, which is imported with its library for the first document.

Most servers never meet one: the library would be 11 ms of each start.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def decode_yaml(body: bytes, repeated: list[str] | None = None) -> Any:
    """Return the value of a body, as `parse_yaml`. Raises MalformedBody."""
    from orchtw.schema.codec import yaml_text

    return yaml_text.decode_yaml(body, repeated)


def parse_yaml(body: bytes, repeated: list[str] | None = None) -> Any:
    """Parse the document in `body`; see `yaml_text.parse_yaml`. Raises ValueError."""
    from orchtw.schema.codec import yaml_text

    return yaml_text.parse_yaml(body, repeated)


def encode_yaml(obj: Any) -> bytes:
    """Write a value as Kubernetes writes YAML."""
    from orchtw.schema.codec import yaml_text

    return yaml_text.encode_yaml(obj)


def yaml_parts(obj: Any) -> Iterator[bytes]:
    """Return the same in parts that take a few milliseconds to make."""
    from orchtw.schema.codec import yaml_text

    return yaml_text.yaml_parts(obj)
