"""Compiled functions of other packages, whose large calls threads divide."""
