"""Selections of objects for assertions, and the condition that an object is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of one object by name, or of all that match the selectors, in one namespace or all of them."""

    resource: str
    name: str = ""
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @classmethod
    def of(cls, text: str, namespace: str, labels: str, fields: str) -> Selected:
        """Return the selection of `RESOURCE/NAME` or `RESOURCE`, such as `deployments.apps/web` or `pods`.

        Raises ValueError for a text without a resource, and for a name together with selectors.
        """
        resource, slash, name = text.partition("/")
        if not resource or (slash and not name):
            raise ValueError(f"{text!r}: must be RESOURCE or RESOURCE/NAME")
        if name and (labels or fields):
            raise ValueError(f"{text!r}: has a name, which takes no selectors")
        return cls(resource=resource, name=name, namespace=namespace, labels=labels, fields=fields)

    @property
    def field_selector(self) -> str:
        """Return the field selector of its lists and watches."""
        return f"metadata.name={self.name}" if self.name else self.fields

    def __str__(self) -> str:
        words = [f"{self.resource}/{self.name}" if self.name else self.resource]
        words += [f"in namespace {self.namespace}"] if self.namespace else []
        words += [f"with labels {self.labels}"] if self.labels else []
        words += [f"with fields {self.fields}"] if self.fields else []
        return " ".join(words)


def absent(obj: Mapping[str, Any]) -> bool:
    """Return False: the condition of `eventually` that no selected object is there, which no object meets."""
    return False
