"""Patches of programs with rewrites of the doctor that were tried in a run."""
