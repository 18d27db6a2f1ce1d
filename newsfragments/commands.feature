`orch-user NAME --group G` writes a kubeconfig with a client certificate for one more user; `orch-apiserver` and `python -m orchtw` run the server in the foreground.
