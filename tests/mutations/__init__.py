"""Planted faults, and the tests that must notice them."""
