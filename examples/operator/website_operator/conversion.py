"""Conversion of websites between versions, and the webhook that offers it.

`v1alpha1` has one page, `spec.index`. The other pages of a `v1` are kept in an annotation, so that nothing is lost on
the way there and back.
"""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Object = dict[str, Any]

INDEX = "index.html"
KEPT = "example.com/pages"


def converted(website: Object, api_version: str) -> Object:
    """Return a website in the version that is wanted."""
    if website["apiVersion"] == api_version:
        return website
    to_new = api_version.endswith("/v1")
    return {**(_to_v1(website) if to_new else _to_v1alpha1(website)), "apiVersion": api_version}


def _to_v1(website: Object) -> Object:
    annotations = dict(website["metadata"].get("annotations") or {})
    spec = website.get("spec") or {}
    pages = json.loads(annotations.pop(KEPT, "{}"))
    if "index" in spec:
        pages[INDEX] = spec["index"]
    return _with(website, annotations, {"host": spec.get("hostname", ""), "pages": pages})


def _to_v1alpha1(website: Object) -> Object:
    annotations = dict(website["metadata"].get("annotations") or {})
    spec = website.get("spec") or {}
    pages = dict(spec.get("pages") or {})
    old = {"hostname": spec.get("host", "")}
    if INDEX in pages:
        old["index"] = pages.pop(INDEX)
    if pages:
        annotations[KEPT] = json.dumps(pages, sort_keys=True)
    return _with(website, annotations, old)


def _with(website: Object, annotations: Object, spec: Object) -> Object:
    meta = {key: value for key, value in website["metadata"].items() if key != "annotations"}
    if annotations:
        meta["annotations"] = annotations
    return {**website, "metadata": meta, "spec": spec}


def review(asked: Object) -> Object:
    """Return the answer to a ConversionReview."""
    request = asked["request"]
    objects = [converted(each, request["desiredAPIVersion"]) for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": asked["apiVersion"], "kind": asked["kind"], "response": response}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(review(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the log of the tests empty."""


class ConversionServer:
    """HTTPS server of the webhook, on a port of 127.0.0.1 that `port` tells."""

    def __init__(self, certificate: str, key: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self._server.serve_forever, name="conversion", daemon=True).start()

    def stop(self) -> None:
        """Stop serving and close the port."""
        self._server.shutdown()
        self._server.server_close()
