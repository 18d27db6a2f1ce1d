"""Log events with named values, in a form that all line formats share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

VALUES: Final = "log_values"
"""Key of an event whose text is made of `LogValues`."""


class LogValues(msgspec.Struct, frozen=True):
    """Short text of an event and its named values, which JSON lines hold as values of their own."""

    text: str
    fields: Mapping[str, str | int]
