"""What is written down of requests: the policy, the events, and where they go.

`auditor` decides and keeps the record of a request, for the stages of `orchtw.filters.audit`; `sinks` makes the
backends that the flags ask for. Nothing here is made without `--audit-policy-file` (reference AUDIT-8).
"""
