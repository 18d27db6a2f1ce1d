"""Events of the log that are a few named values: how those who log them hand them to those who write lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

VALUES: Final = "log_values"
"""The key of an event whose text is made of `LogValues`."""


@attrs.frozen(slots=True)
class LogValues:
    """Short text of an event and its named values, which JSON lines hold as values of their own."""

    text: str
    fields: Mapping[str, str | int]
