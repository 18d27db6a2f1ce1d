"""ImagePolicyWebhook: another server says which images may run (reference PLUG-50 to PLUG-52, PLUG-85).

`settings` reads the configuration, `review` is what is asked and answered, `backend` asks and remembers, `plugin`
makes admission of it.
"""
