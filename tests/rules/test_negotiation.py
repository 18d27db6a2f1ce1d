"""Content negotiation (reference ENC-1, ENC-2)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import NotAcceptable, UnsupportedMediaType
from orchtw.naming.naming import Naming
from orchtw.rules.negotiation import Negotiated, Negotiator, check_transform, patch_type, wants_pretty

JSON = "application/json"
PROTOBUF = "application/vnd.orch.protobuf"
TABLE = f"{JSON};as=Table;v=v1;g=meta.orch.io"
KUBECTL = f"{JSON};as=Table;v=v1;g=meta.k8s.io,{JSON};as=Table;v=v1beta1;g=meta.k8s.io,{JSON}"


class AcceptTests(SynchronousTestCase):
    """Negotiation of the response format (`Negotiator.accept`)."""

    def setUp(self) -> None:
        self.negotiator = Negotiator(Naming.orch())

    def accept(self, header: str, **more: Any) -> tuple[str, str | None]:
        found = self.negotiator.accept(header, **more)
        return found.format, found.transform

    def test_formats(self) -> None:
        """The first entry by quality that can be served wins; wildcards and nothing at all are JSON."""
        for header, form in [
            ("", "json"),
            ("*/*", "json"),
            ("application/*", "json"),
            (JSON, "json"),
            ("Application/JSON; charset=utf-8", "json"),
            ("application/yaml", "yaml"),
            (PROTOBUF, "protobuf"),
            (f"{PROTOBUF}, {JSON}", "protobuf"),
            (f"text/html, {PROTOBUF};q=0.5, application/yaml;q=0.7", "yaml"),
            (f"*/*, {PROTOBUF}", "protobuf"),
            (f"{JSON};q=0, application/yaml", "yaml"),
            ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
            (f"{JSON};stream=watch", "json"),
        ]:
            self.assertEqual(self.accept(header), (form, None), header)

    def test_content_types(self) -> None:
        """Answers are labelled with the bare type; a Protobuf stream says that it is one (reference ENC-5)."""
        self.assertEqual(self.negotiator.accept(TABLE).content_type, JSON)
        self.assertEqual(self.negotiator.accept(PROTOBUF).content_type, PROTOBUF)
        self.assertEqual(self.negotiator.accept(JSON, watch=True).content_type, JSON)
        self.assertEqual(self.negotiator.accept(PROTOBUF, watch=True).content_type, f"{PROTOBUF};stream=watch")

    def test_either_name_of_protobuf(self) -> None:
        """Both vocabularies understand both names of Protobuf, and answer under the one that was asked for."""
        other = Naming.kubernetes().protobuf_media_type
        self.assertEqual(self.accept(other), ("protobuf", None))
        self.assertEqual(self.negotiator.accept(other).content_type, other)
        self.assertEqual(self.negotiator.accept(other, watch=True).content_type, f"{other};stream=watch")
        self.assertEqual(self.negotiator.body_format(other), "protobuf")
        self.assertEqual(Negotiator(Naming.kubernetes()).accept(PROTOBUF).content_type, PROTOBUF)

    def test_refusals(self) -> None:
        """A 406 names what is possible, for metadata alone at least: no stream in YAML (reference ERR-29, CRD-61,
        ENC-6).
        """
        start = "only the following media types are accepted: "
        for header, more, served in [
            ("text/html", {}, f"{JSON}, application/yaml, {PROTOBUF}"),
            (PROTOBUF, {"protobuf": False}, f"{JSON}, application/yaml, {PROTOBUF}"),
            ("application/yaml", {"watch": True}, f"{JSON};stream=watch, {PROTOBUF};stream=watch"),
            (f"{JSON};stream=other", {}, f"{JSON}, application/yaml, {PROTOBUF}"),
            (f"{JSON};as=Table;v=v2;g=meta.orch.io", {}, f"{JSON}, application/yaml, {PROTOBUF}"),
            (f"{PROTOBUF};as=Table;v=v1;g=meta.orch.io", {}, f"{JSON}, application/yaml, {PROTOBUF}"),
        ]:
            error = self.assertRaises(NotAcceptable, self.negotiator.accept, header, **more)
            self.assertEqual(error.message, start + served)

    def test_transforms(self) -> None:
        """Table and partial metadata are given in the meta group's two versions."""
        self.assertEqual(self.accept(TABLE), ("json", "Table"))
        self.assertEqual(self.negotiator.accept(TABLE).transform_version, "meta.orch.io/v1")
        beta = "application/yaml;as=Table;v=v1beta1;g=meta.orch.io"
        self.assertEqual(self.accept(beta), ("yaml", "Table"))
        partial = f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.orch.io"
        self.assertEqual(self.accept(partial), ("protobuf", "PartialObjectMetadataList"))

    def test_either_name_of_the_meta_group(self) -> None:
        """Both vocabularies take either name of the meta group and answer under the same (reference VOC-5)."""
        for naming in (Naming.orch(), Naming.kubernetes()):
            for group in ("meta.k8s.io", "meta.orch.io"):
                for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
                    for version in ("v1", "v1beta1"):
                        found = Negotiator(naming).accept(f"{JSON};as={kind};v={version};g={group}")
                        self.assertEqual((found.transform, found.transform_version), (kind, f"{group}/{version}"))
        found = self.negotiator.accept(KUBECTL)
        self.assertEqual((found.transform, found.transform_version), ("Table", "meta.k8s.io/v1"))

    def test_fall_back(self) -> None:
        """A transform that is not available falls back to the next entry (reference ENC-3)."""
        self.assertEqual(self.accept(f"{JSON};as=Table;v=v1;g=meta.example.io,{JSON}"), ("json", None))
        self.assertEqual(self.accept(f"{TABLE},{JSON}", transforms=False), ("json", None))

    def test_pretty(self) -> None:
        """JSON alone can be indented, by parameter too."""
        self.assertTrue(self.negotiator.accept(f"{JSON};pretty=1").pretty)
        self.assertTrue(self.negotiator.accept(JSON, pretty=True).pretty)
        self.assertFalse(self.negotiator.accept(PROTOBUF, pretty=True).pretty)

    def test_status(self) -> None:
        """An error comes in the accepted format, never as a Table, and in JSON when nothing is accepted."""
        self.assertEqual(self.negotiator.status(TABLE), Negotiated(format="json", content_type=JSON))
        self.assertEqual(self.negotiator.status(PROTOBUF).format, "protobuf")
        self.assertEqual(self.negotiator.status("text/html").format, "json")

    def test_long_headers(self) -> None:
        """A header of any length is read."""
        header = ",".join(["text/html"] * 200 + [JSON])
        self.assertEqual(self.accept(header), ("json", None))


class CheckTransformTests(SynchronousTestCase):
    """Checks of transforms (`check_transform`)."""

    def test_number(self) -> None:
        """Partial metadata of one object is not a list, nor the reverse (reference ERR-30)."""
        negotiator = Negotiator(Naming.orch())
        one = negotiator.accept(f"{JSON};as=PartialObjectMetadata;v=v1;g=meta.orch.io")
        many = negotiator.accept(f"{JSON};as=PartialObjectMetadataList;v=v1;g=meta.orch.io")
        check_transform(one, "Pod", is_list=False)
        check_transform(many, "PodList", is_list=True)
        error = self.assertRaises(NotAcceptable, check_transform, one, "PodList", is_list=True)
        self.assertEqual(
            error.message, "you requested PartialObjectMetadata, but the requested object is a list (PodList)"
        )
        error = self.assertRaises(NotAcceptable, check_transform, many, "Pod", is_list=False)
        self.assertEqual(
            error.message, "you requested PartialObjectMetadataList, but the requested object is not a list (Pod)"
        )


class BodyTests(SynchronousTestCase):
    """Negotiation of the body format (`Negotiator.body_format` and `patch_type`)."""

    def test_formats(self) -> None:
        """The Content-Type decides; without one the body is JSON."""
        negotiator = Negotiator(Naming.orch())
        for header, form in [
            ("", "json"),
            (JSON, "json"),
            ("application/json; charset=utf-8", "json"),
            ("application/yaml", "yaml"),
            (PROTOBUF, "protobuf"),
        ]:
            self.assertEqual(negotiator.body_format(header), form)

    def test_refusals(self) -> None:
        """A 415 names the supported formats (reference ERR-31)."""
        negotiator = Negotiator(Naming.orch())
        start = "the body of the request was in an unknown format - accepted media types include: "
        error = self.assertRaises(UnsupportedMediaType, negotiator.body_format, "text/plain")
        self.assertEqual(error.message, f"{start}{JSON}, application/yaml, {PROTOBUF}")
        error = self.assertRaises(UnsupportedMediaType, negotiator.body_format, PROTOBUF, protobuf=False)
        self.assertEqual(error.message, f"{start}{JSON}, application/yaml")

    def test_patches(self) -> None:
        """Each patch type has its media type; custom resources have no strategic merge (reference PATCH-1)."""
        self.assertEqual(patch_type("application/json-patch+json"), "json")
        self.assertEqual(patch_type("application/merge-patch+json; charset=utf-8"), "merge")
        self.assertEqual(patch_type("application/strategic-merge-patch+json"), "strategic")
        self.assertEqual(patch_type("application/apply-patch+yaml"), "apply")
        error = self.assertRaises(UnsupportedMediaType, patch_type, JSON)
        self.assertTrue(
            error.message.endswith(
                "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
                "application/apply-patch+yaml"
            )
        )
        error = self.assertRaises(
            UnsupportedMediaType, patch_type, "application/strategic-merge-patch+json", strategic=False
        )
        self.assertNotIn("strategic", error.message)


class WantsPrettyTests(SynchronousTestCase):
    """Pretty printing by client (`wants_pretty`)."""

    def test_who(self) -> None:
        """The query decides; without it, curl, Wget and browsers get indented JSON (reference REQ-20)."""
        for query, agent, expected in [
            ({}, "curl/8.0", True),
            ({}, "Wget/1.2", True),
            ({}, "Mozilla/5.0 (X11)", True),
            ({}, "kubectl/v1.24", False),
            ({"pretty": ["true"]}, "kubectl/v1.24", True),
            ({"pretty": ["1"]}, "", True),
            ({"pretty": ["false"]}, "curl/8.0", False),
            ({"pretty": [""]}, "curl/8.0", True),
        ]:
            self.assertEqual(wants_pretty(query, agent), expected, (query, agent))
