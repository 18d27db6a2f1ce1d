"""Requests that are forwarded: to aggregated servers, Services, Pods and node agents."""
