"""Paths and links through a proxy."""

from __future__ import annotations

import time

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.proxied_links import MARKUP_CHARACTERS, Links, Page, backend_path, escaped

BASE = "/api/v1/namespaces/n/services/s/proxy"
LINKS = Links.of(path=f"{BASE}/a/", backend_path="/a/", backend="10.0.0.1:8080", host="api:6443")


class PathTests(SynchronousTestCase):
    """Paths at the other end (reference PROXY-9)."""

    def test_clean(self) -> None:
        """Dots and doubled slashes go, nothing leads out, and a slash at the end stays."""
        for path, expected in (
            ("", ""),
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a//b/", "/a/b/"),
            ("/a/./b/../c", "/a/c"),
            ("/../../etc", "/etc"),
            ("//a", "/a"),
            ("/a/..", "/"),
            ("/...", "/..."),
        ):
            self.assertEqual(backend_path(path), expected, path)

    def test_escaped(self) -> None:
        """Characters that a request line cannot contain are escaped."""
        self.assertEqual(escaped("/a b/ä?#%/:@&=+$,;~"), "/a%20b/%C3%A4%3F%23%25/:@&=+$,;~")


class LinkTests(SynchronousTestCase):
    """Links that lead back through the proxy (reference PROXY-16)."""

    def test_prefix(self) -> None:
        """The prefix is the path in front of the other end's."""
        self.assertEqual(LINKS.prefix, BASE)

    def test_links(self) -> None:
        """From the root and to the other end itself: rewritten. To others, and relative: not."""
        for link, expected in (
            ("/x?q=1#f", f"{BASE}/x?q=1#f"),
            ("/x/", f"{BASE}/x/"),
            ("/", f"{BASE}/"),
            ("x", "x"),
            ("?a", "?a"),
            ("#a", "#a"),
            ("", ""),
            ("http://10.0.0.1:8080/x", f"{BASE}/x"),
            ("https://api:6443/x", f"https://api:6443{BASE}/x"),
            ("http://elsewhere/x", "http://elsewhere/x"),
            ("//elsewhere/x", "//elsewhere/x"),
            (f"{BASE}/x", f"{BASE}/x"),
            ("mailto:a@b", "mailto:a@b"),
            ("http://[", "http://["),
        ):
            self.assertEqual(LINKS.rewritten(link), expected, link)


class PageTests(SynchronousTestCase):
    """HTML pages rewritten in pieces."""

    def both(self, page: str) -> str:
        """The page rewritten in one piece, and the same byte by byte."""
        raw = page.encode()
        whole = Page(LINKS)
        once = whole.feed(raw) + whole.end()
        piecewise = Page(LINKS)
        again = b"".join(piecewise.feed(raw[at : at + 1]) for at in range(len(raw))) + piecewise.end()
        self.assertEqual(once, again)
        return once.decode()

    def test_links(self) -> None:
        """Attributes that hold links, however they are written; everything else stays to the byte."""
        for page, expected in (
            ('<a href="/x">ä</a>', f'<a href="{BASE}/x">ä</a>'),
            ("<A  HREF = '/x' class=a>", f"<A  HREF = '{BASE}/x' class=a>"),
            ("<img src=/x alt='<a href=/y>'>", f"<img src={BASE}/x alt='<a href=/y>'>"),
            ('<a title="href=/no" href="/x">', f'<a title="href=/no" href="{BASE}/x">'),
            ('<p title="/x" data-href="/x">', '<p title="/x" data-href="/x">'),
            ('<a data-href="/x">', '<a data-href="/x">'),
            ('<script src="/x">"<a href=\'/y\'>"</script><a href="/z">',
             f'<script src="{BASE}/x">"<a href=\'/y\'>"</script><a href="{BASE}/z">'),
            ('<!-- <a href="/x"> --><a href="/y">', f'<!-- <a href="/x"> --><a href="{BASE}/y">'),
            ("1 < 2 <a href=/x>", f"1 < 2 <a href={BASE}/x>"),
            ('<form action="/x"><link href="y">', f'<form action="{BASE}/x"><link href="y">'),
            ("<!DOCTYPE html><br/><", "<!DOCTYPE html><br/><"),
            ('<a href="/x', '<a href="/x'),
        ):
            self.assertEqual(self.both(page), expected)

    def test_traps(self) -> None:
        """Pathological HTML takes time linear in its length, and passes unchanged."""
        for part in ("<a", "<a ", "<!--", '<a href="', "<script", "<a b=", "<", "a-", "<a href='/x' "):
            raw = (part * (1 << 20))[: 1 << 20].encode()
            began = time.process_time()
            page = Page(LINKS)
            out = b"".join(page.feed(raw[at : at + 65536]) for at in range(0, len(raw), 65536)) + page.end()
            self.assertLess(time.process_time() - began, 5.0, part)
            self.assertEqual(out, raw)

    def test_bounded(self) -> None:
        """No more waits than one tag may have."""
        page = Page(LINKS)
        page.feed(b"<a " + b"x" * 10 * MARKUP_CHARACTERS)
        self.assertLessEqual(len(page.end()), MARKUP_CHARACTERS + 3)
