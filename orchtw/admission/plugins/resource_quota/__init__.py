"""ResourceQuota: the usage of a namespace stays within its quotas (reference PLUG-25).

`plugin` selects the writes that concern quotas, `charging` and `rounds` charge them, `configuration` reads the
plugin's file. Usage and quotas themselves are in `orchtw.quota`.
"""
