"""What `twistd` offers once orchtw is installed; every `twistd` on the machine imports this file."""

from twisted.application.service import ServiceMaker

apiserver = ServiceMaker(
    "orchtw API server", "orchtw.tap", "Serve a Kubernetes-compatible resource API.", "orch-apiserver"
)
