`/healthz`, `/livez` and `/readyz` say whether the server works, in sum, in detail with `verbose`, and check by check.
