`orch-user` writes the certificate, the key and the authority as PEM files too, for programs such as Prometheus.
