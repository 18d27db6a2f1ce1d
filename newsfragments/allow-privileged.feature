Pods with privileged containers or host processes of windows nodes are refused unless the server is started with the new flag `--allow-privileged`.
