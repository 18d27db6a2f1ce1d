"""Admission webhooks: external servers, set up by API objects, that may change or refuse writes (reference HOOK-1).

`configurations` follows those objects and keeps them compiled (`hook`, `rules`), `plans` caches the webhooks that a
kind of write may match, `selection` narrows them to those that one write matches. `review` encodes requests, `answer`
decodes responses, `calls` makes calls and reports why they failed, `patch` applies the patches of mutating webhooks.
Only the two plugins, `plugins.mutating_webhook` and `plugins.validating_webhook`, import this package.
"""
