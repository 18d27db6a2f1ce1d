"""The options of a write as an API object: CreateOptions, UpdateOptions or DeleteOptions."""

from __future__ import annotations

from orchtw.rules.delete_options import IGNORE_READ_ERRORS, DeleteOptions
from orchtw.rules.write_options import WriteOptions
from orchtw.wire.objects import Object

_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def options_object(operation: str, options: WriteOptions | DeleteOptions, meta_group: str) -> Object:
    """Return `options` as an API object of `meta_group`; unset options are left out (reference HOOK-12).

    The kind follows from the operation: a patch has UpdateOptions, an apply that creates CreateOptions.
    """
    given = _deleting(options) if isinstance(options, DeleteOptions) else _writing(options)
    kind = {"kind": _KINDS[operation], "apiVersion": f"{meta_group}/v1"}
    return {**kind, **{key: value for key, value in given.items() if value not in ("", None)}}


def _writing(options: WriteOptions) -> Object:
    return {
        "dryRun": _dry_run(options),
        "fieldManager": options.field_manager,
        "fieldValidation": options.field_validation,
    }


def _deleting(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.precondition_uid, "resourceVersion": options.precondition_version}
    return {
        "gracePeriodSeconds": options.grace_period_s,
        "preconditions": {key: value for key, value in preconditions.items() if value is not None} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation,
        "dryRun": _dry_run(options),
        IGNORE_READ_ERRORS: options.ignore_read_errors or None,
    }


def _dry_run(options: WriteOptions | DeleteOptions) -> list[str] | None:
    return ["All"] if options.dry_run else None
