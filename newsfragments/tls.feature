Everything is served over TLS 1.2 and 1.3; client certificates are optional, and one from an unknown authority is answered with 401.
