With `--simulate`, a pod whose `subPathExpr` leaves its volume does not start, and one with an unsafe kernel parameter fails with reason `SysctlForbidden`.
