"""ResourceQuota: nobody uses more of what is limited in a namespace than its quotas allow (reference PLUG-25).

`plugin` knows which writes concern quotas, `charging` charges them, `configuration` reads the plugin's file. What is
measured and what fits is in `orchtw.quota`.
"""
