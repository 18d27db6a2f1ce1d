"""Purposes of generated functions: one table each, with a function for each struct."""

from __future__ import annotations

from functools import cached_property

from orchtw.schema.codec.generated import Functions
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.codec.protobuf_decoder import decoders
from orchtw.schema.codec.protobuf_encoder import encoders
from orchtw.schema.codec.strict_fields import KnownKeys
from orchtw.schema.defaults import Defaults
from orchtw.schema.validation.validators import Validators


class Generated:
    """The functions of all structs, by purpose; the tables are made when they are first asked for."""

    def __init__(self, validate: Validators | None = None) -> None:
        self._validate = validate

    @cached_property
    def normalise(self) -> Functions:
        """JSON-shaped value → canonical dict."""
        return normalisers()

    @cached_property
    def encode(self) -> Functions:
        """Canonical dict → Protobuf."""
        return encoders()

    @cached_property
    def decode(self) -> Functions:
        """Protobuf → canonical dict."""
        return decoders()

    @cached_property
    def default(self) -> Defaults:
        """Return the functions that fill in defaults."""
        return Defaults(self.normalise)

    @cached_property
    def validate(self) -> Validators:
        """Return the functions that check declared rules."""
        return Validators() if self._validate is None else self._validate

    @cached_property
    def known(self) -> KnownKeys:
        """Return the functions that find unknown keys."""
        return KnownKeys()
