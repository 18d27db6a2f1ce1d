With the gate `ConstrainedImpersonation`, users can be allowed to act as others for some requests only: rights `impersonate:<mode>` and `impersonate-on:<mode>:<verb>`.
