"""The names, keywords and namespace of the Array API standard that NumPy lacks."""

from . import device_keywords as device_keywords
