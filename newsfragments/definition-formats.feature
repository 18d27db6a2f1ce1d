CustomResourceDefinitions may use the string formats `k8s-short-name` and `k8s-long-name`, and formats that the server does not recognize are named in a warning (release 1.34).
