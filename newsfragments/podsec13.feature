Admission plugin PodSecurity, on by default: pods keep to the Pod Security Standards that the labels of their namespace
ask for, in every version up to 1.24; violations are refused, warned about or noted, and a stricter label tells which
pods are in its way. Off by default: PodSecurityPolicy, SecurityContextDeny, DenyEscalatingExec and DenyExecOnPrivileged.
