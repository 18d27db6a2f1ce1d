"""The comments of `protos/` as descriptions of types and fields for documents of the API."""

from __future__ import annotations

import orjson
from google.protobuf import descriptor_pb2

FOLDER = "orch/"
"""Folder of the API's own files; those of the options describe nothing that is served."""

# Field numbers of FileDescriptorProto and DescriptorProto, of which the paths of source positions consist.
_MESSAGES = 4
_FIELDS = 2

Descriptions = dict[str, dict[str, str]]


def descriptions(files: descriptor_pb2.FileDescriptorSet) -> Descriptions:
    """Return the texts of messages and fields: full message name → field name → text; "" is the message itself.

    Only a comment directly above a message or field describes it. One with an empty line after it, or at the end of a
    line, is for readers of the file. Messages without any text are left out.
    """
    found: Descriptions = {}
    for file in files.file:
        if file.name.startswith(FOLDER):
            _collect(file, found)
    return found


def _collect(file: descriptor_pb2.FileDescriptorProto, found: Descriptions) -> None:
    for location in file.source_code_info.location:
        text = " ".join(location.leading_comments.split())
        if not text:
            continue
        match list(location.path):
            case [message, index] if message == _MESSAGES:
                name = ""
            case [message, index, field, position] if (message, field) == (_MESSAGES, _FIELDS):
                name = file.message_type[index].field[position].name
            case _:
                continue
        found.setdefault(f"{file.package}.{file.message_type[index].name}", {})[name] = text


def encoded(found: Descriptions) -> bytes:
    """Encode the descriptions as JSON: equal ones give equal bytes, and a change of one text changes one line."""
    return orjson.dumps(found, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
