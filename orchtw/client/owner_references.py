"""Metadata for the garbage collector: owner references, finalizers, termination."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any, Final

import msgspec

from orchtw.schema.codec.wire import LENGTH, VARINT, read_varint

SHARED_REFERENCES: Final = 10_000
"""Limit of the table of shared references; beyond it, the table is emptied."""

LONGEST_SHARED: Final = 1024
"""Limit of a shared reference's bytes: longer ones are rare."""

# Tags: an object's metadata; in it uid, deletionTimestamp, ownerReferences, finalizers.
_METADATA, _UID, _DELETION, _OWNER, _FINALIZER = 0x0A, 0x2A, 0x4A, 0x6A, 0x72
_LAST_TAG = 0x7F

class OwnerReference(msgspec.Struct, frozen=True):
    """One entry of metadata.ownerReferences; `blocking` is blockOwnerDeletion."""

    uid: str
    api_version: str
    kind: str
    name: str
    blocking: bool = False

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}, name: {self.name}, uid: {self.uid}"


class OwnerMetadata(msgspec.Struct, frozen=True):
    """The uid, and the metadata that the garbage collector uses."""

    uid: str
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    terminating: bool = False

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> OwnerMetadata:
        """Return the owner metadata in an object's metadata."""
        owners = meta.get("ownerReferences")
        return cls(
            meta.get("uid", ""),
            tuple([reference(owner) for owner in owners]) if owners else (),
            tuple(meta.get("finalizers") or ()),
            bool(meta.get("deletionTimestamp")),
        )


def reference(owner: Mapping[str, Any]) -> OwnerReference:
    """Return an owner reference as a value, shared between dependents."""
    return OwnerReference(
        owner.get("uid", ""),
        intern(owner.get("apiVersion", "")),
        intern(owner.get("kind", "")),
        owner.get("name", ""),
        bool(owner.get("blockOwnerDeletion")),
    )


def stands_alone(raw: bytes, start: int) -> bool:
    """Report whether an object, which begins there with its metadata, has no owner and is not being deleted.

    Fields are in ascending number. False also where that takes a closer look. The loop runs once for each label and
    annotation, so it has no calls where a tag has one byte and a length at most two.
    """
    if raw[start] != _METADATA:
        return False
    length, position = read_varint(raw, start + 1)
    end = position + length
    while position < end:
        tag = raw[position]
        if tag > _LAST_TAG:  # all relevant fields have passed: managed fields, which may be long, have a later number
            return True
        if tag == _DELETION or tag == _OWNER:
            return False
        kind, size = tag & 7, raw[position + 1]
        if kind == LENGTH:
            if size < 128:
                position += size + 2
            elif (high := raw[position + 2]) < 128:
                position += (high << 7 | size & 127) + 3
            else:
                size, after = read_varint(raw, position + 1)
                position = after + size
        elif kind == VARINT:
            position = read_varint(raw, position + 1)[1]
        else:
            return False
    return True


class OwnerMetadataReader:
    """Reads owner metadata from encoded objects without decoding them, for managed fields of any size.

    Dependents of one owner carry the same reference: it is decoded once and shared, so following 10,000 creations of
    owned pods costs a sixth of decoding their metadata.
    """

    def __init__(self) -> None:
        self._references: dict[bytes, OwnerReference] = {}

    def read(self, raw: bytes, start: int = 0) -> OwnerMetadata | None:
        """Return that of an object that begins at `start` with its metadata, fields in ascending number; else None.
        """
        if raw[start] != _METADATA:
            return None
        length, position = read_varint(raw, start + 1)
        end = position + length
        uid, terminating = "", False
        owners: list[OwnerReference] = []
        finalizers: list[str] = []
        while position < end:
            tag = raw[position]
            if tag > _LAST_TAG:  # all relevant fields have passed; later ones have tags of two bytes
                break
            position += 1
            if tag & 7 == VARINT:
                while raw[position] > 127:
                    position += 1
                position += 1
                continue
            if tag & 7 != LENGTH:
                return None
            size = raw[position]
            if size > 127:
                size, position = read_varint(raw, position)
            else:
                position += 1
            after = position + size
            if tag == _UID:
                uid = raw[position:after].decode()
            elif tag == _OWNER:
                owners.append(self._reference(raw[position:after]))
            elif tag == _FINALIZER:
                finalizers.append(raw[position:after].decode())
            elif tag == _DELETION:
                terminating = True
            position = after
        return OwnerMetadata(uid, tuple(owners), tuple(finalizers), terminating)

    def _reference(self, raw: bytes) -> OwnerReference:
        if len(raw) > LONGEST_SHARED:
            return _decode_reference(raw)
        known = self._references.get(raw)
        if known is None:
            if len(self._references) >= SHARED_REFERENCES:
                self._references.clear()
            known = self._references[raw] = _decode_reference(raw)
        return known


def _decode_reference(raw: bytes) -> OwnerReference:
    """Decode an OwnerReference; unknown fields are skipped."""
    texts: dict[int, str] = {}
    flags: dict[int, bool] = {}
    position = 0
    while position < len(raw):
        tag, position = read_varint(raw, position)
        value, position = read_varint(raw, position)
        if tag & 7 == LENGTH:
            texts[tag >> 3] = raw[position : position + value].decode()
            position += value
        else:
            flags[tag >> 3] = bool(value)
    return OwnerReference(
        texts.get(4, ""), intern(texts.get(5, "")), intern(texts.get(1, "")), texts.get(3, ""), flags.get(7, False)
    )
