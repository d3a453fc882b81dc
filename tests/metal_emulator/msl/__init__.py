"""Compile the Metal Shading Language to shared libraries of the processor."""
