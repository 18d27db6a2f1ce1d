"""References to images (reference KIND-15)."""

from __future__ import annotations

from time import perf_counter

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.images import image_tag

SHA = "@sha256:" + "ab" * 32


class ImageTagTests(SynchronousTestCase):
    """Tags of image references (`image_tag`)."""

    def test_tags(self) -> None:
        """The tag, `latest` without tag and digest, nothing for a digest alone."""
        for image, tag in [
            ("nginx", "latest"),
            ("a/b", "latest"),
            ("a/b/c:1", "1"),
            ("host:5000/a", "latest"),
            ("host:5000/a:v1.2_x-3", "v1.2_x-3"),
            ("localhost/a", "latest"),
            ("Example.COM/a", "latest"),
            ("index.docker.io/a", "latest"),
            ("a--b/c__d.e", "latest"),
            (f"nginx{SHA}", ""),
            (f"nginx:1{SHA}", "1"),
            ("a@sha512:" + "0" * 128, ""),
        ]:
            self.assertEqual(image_tag(image), tag, image)

    def test_no_references(self) -> None:
        """Anything else has no tag."""
        for image in [
            "", " ", "a b", "Nginx", "example.com/Nginx", "nginx:", "nginx:a:b", "nginx:" + "a" * 129, "-a", "a-",
            "a..b", "a___b", "/a", "a/", "a//b", "a@sha256:ab", "a@md5:" + "0" * 64, "a@", "0" * 64, "host:/a",
            "a" * 255, "\u00fc", "nginx\n",
        ]:  # fmt: skip
            self.assertIsNone(image_tag(image), image)

    def test_linear(self) -> None:
        """Whatever a client sends is read at once."""
        began = perf_counter()
        for image in ("a-" * 290, "a." * 290, "a_" * 290 + "!", "a/" * 290 + "!", "-" * 3_000_000):
            self.assertIsNone(image_tag(image), image[:10])
        self.assertLess(perf_counter() - began, 1)
