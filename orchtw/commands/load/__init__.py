"""`orch-load`: the load of a cluster of a given size on any API server.

`command` parses the command line and `run` composes the parts. Size and pace are in `plan`, objects in `bodies`.
`nodes`, `pods`, `deployments` and `churn` write, informers follow; `statistics` and `deliveries` count the results.
"""
