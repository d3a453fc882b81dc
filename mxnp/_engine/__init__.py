"""Access to the C core, settings and devices."""
