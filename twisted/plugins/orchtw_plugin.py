"""What `twistd` offers once orchtw is installed; every `twistd` on the machine imports this file."""

from twisted.application.service import ServiceMaker

apiserver = ServiceMaker(  # type: ignore[no-untyped-call]
    "orchtw API server", "orchtw.tap", "Serve a Kubernetes-compatible resource API.", "orch-apiserver"
)
