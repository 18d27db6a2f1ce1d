A serving certificate given by --tls-cert-file is read again when the file changes, without a restart.
