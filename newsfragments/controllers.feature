Deleted namespaces lose their contents, and objects go after their owners: both controllers run inside the server and can be switched off with `--controllers`.
