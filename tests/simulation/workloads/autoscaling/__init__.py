"""Tests of the controller of HorizontalPodAutoscalers (`orchtw.simulation.workloads.autoscaling`)."""
