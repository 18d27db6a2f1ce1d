"""The composition root below the network: from a Config to an app that answers requests.

One module a part: `flags`, `store`, `resources` (types, store and caches), `writes`, `api` (what is served), `stages`
(what each request passes on its way there), `readiness`, `bootstrap`; `instance` joins them, starts and stops them.
`server` puts a TLS listener in front of it, `testing` calls it directly. Only they import this.
"""
