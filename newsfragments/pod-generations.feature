With feature gate `PodObservedGenerationTracking`, metadata.generation of a pod counts the changes of its spec.
