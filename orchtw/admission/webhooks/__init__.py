"""Admission webhooks: servers elsewhere that may change or refuse writes, as API objects say (reference HOOK-1).

`configurations` follows those objects and keeps them compiled (`hook`, `rules`), `plans` says which of them a kind of
write may concern, `selection` which of these one write does. `review` is what is asked, `answer` what came back,
`calls` makes a call and knows why it failed, `patch` applies what a mutating webhook wants. The two plugins are
`plugins.mutating_webhook` and `plugins.validating_webhook`; nobody else imports this package.
"""
