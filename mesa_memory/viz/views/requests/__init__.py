"""The views of requests and cost."""
