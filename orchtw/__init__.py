"""orchtw: a Kubernetes-compatible resource API server on Twisted; see docs/architecture.md for the layers."""
