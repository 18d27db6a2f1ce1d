The sub-resource `resize` of pods changes cpu and memory of running containers.
