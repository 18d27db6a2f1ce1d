Plugin `PodResizeValidator` refuses resizes beyond what the node of a pod can give, and `PodTopologyLabels`, with its gate, labels pods with the zone and region of their node.
