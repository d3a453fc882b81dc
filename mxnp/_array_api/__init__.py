"""What the Array API standard adds to the names of NumPy."""

from . import device_keywords as device_keywords
