"""orchtw: a Kubernetes-compatible resource API server on Twisted; see docs/architecture.md for the layers."""

__version__ = "0.1.0"
"""The version of this project; the release that it speaks is `orchtw.naming.naming.Naming.git_version`."""
