"""ImagePolicyWebhook: an external backend decides which images may run (reference PLUG-50 to PLUG-52, PLUG-85).

`settings` reads the configuration, `review` encodes requests and decodes responses, `backend` calls and caches,
`plugin` is the admission plugin.
"""
