"""`profile()`: counts of a program by line, as text, HTML, JSON and traces."""
