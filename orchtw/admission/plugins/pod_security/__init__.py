"""PodSecurity: the Pod Security Standards, as requested by the labels of namespaces.

`policy` reads those labels, `standards` lists the controls of a level in each version, and the `*_controls` modules
implement them. `plugin` is the admission plugin, with `workloads` to find pods in objects, `updates` to tell which
updates matter, `existing` for the pods already in a namespace, `configuration` for its file, and `metrics`. No other
package imports any of it.
"""
