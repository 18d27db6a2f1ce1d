"""PodSecurity: the Pod Security Standards, as namespaces ask for them.

`policy` is what namespaces ask for, `standards` which controls make up a level in a version, and the `*_controls`
modules what each of them looks at. `plugin` is the admission plugin, with `workloads` to find pods in objects,
`updates` to tell which updates matter, `existing` for the pods that a namespace holds already, `configuration` for
its file, and `metrics` for what it counts. Nobody else needs any of it.
"""
