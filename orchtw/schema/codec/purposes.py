"""Purposes of generated functions: one table each, with a function for each struct."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from orchtw.schema.codec.generated import Functions
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.codec.protobuf_decoder import decoders
from orchtw.schema.codec.protobuf_encoder import encoders
from orchtw.schema.codec.strict_fields import KnownKeys
from orchtw.schema.defaults import Defaults
from orchtw.schema.known_parts import KnownParts
from orchtw.schema.part import Parts
from orchtw.schema.validation.validators import NO_CHECKS, NO_CONSEQUENCES, Check, Consequence, Validators


class Generated:
    """The functions of all structs, by purpose; each table is made on first use.

    `checks` and `consequences` are those of `Validators`.
    """

    def __init__(
        self, checks: Mapping[str, Check] = NO_CHECKS, consequences: Mapping[str, Consequence] = NO_CONSEQUENCES
    ) -> None:
        self.known_parts = KnownParts()
        self._checks = checks
        self._consequences = consequences

    @cached_property
    def normalise(self) -> Functions:
        """Functions from a JSON-shaped value to a canonical dict."""
        return normalisers()

    @cached_property
    def encode(self) -> Functions:
        """Functions from a canonical dict to Protobuf."""
        return encoders()

    @cached_property
    def decode(self) -> Functions:
        """Functions from Protobuf to a canonical dict."""
        return decoders()

    @cached_property
    def default(self) -> Defaults:
        """Functions that fill in defaults."""
        return Defaults(self.normalise)

    @cached_property
    def validate(self) -> Validators:
        """Functions that check declared rules."""
        return Validators(self._checks, self._consequences, self.known_parts)

    @cached_property
    def known(self) -> KnownKeys:
        """Functions that find unknown keys."""
        return KnownKeys()

    @cached_property
    def parts(self) -> Parts:
        """Parts of structs, for functions that decode some fields only."""
        return Parts()
