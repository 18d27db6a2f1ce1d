Beta and alpha versions of devices, certificates, lease candidates and groups of pods are served if `--runtime-config` switches them on.
