"""`profile()`: the model, its collection, and output as text, html and trace."""
