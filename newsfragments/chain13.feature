Admission plugins take their configuration from `--admission-control-config-file`, and the deprecated `--admission-control` is understood.
