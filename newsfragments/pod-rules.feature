Pods and pod templates are checked by the rules of release 1.24: volumes, scheduling, security, name resolution,
annotations, what an update or a status may change; deprecated fields are warned about.
