"""cython: extensions written in Cython, compiled here."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

SOURCE = """
# cython: language_level=3
import numpy as np
cimport numpy as cnp
cnp.import_array()

def total(cnp.ndarray[double, ndim=1] x):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        s += x[i]
    return s

def double(double[:] x):
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] *= 2

def increase(cnp.ndarray x not None, double by=1):
    cdef double* data = <double*> cnp.PyArray_DATA(x)
    cdef Py_ssize_t i
    for i in range(x.size):
        data[i] += by
    return x

cdef class Box:
    cdef cnp.ndarray data
    def __init__(self, cnp.ndarray data):
        self.data = data
    def get(self):
        return self.data
    def __getitem__(self, cnp.ndarray indices):
        return self.data[indices]
    def first(self):
        return (<double*> cnp.PyArray_DATA(self.data))[0]
"""

SETUP = """
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(ext_modules=cythonize(Extension("compiled_loops", ["compiled_loops.pyx"], include_dirs=[numpy.get_include()])))
"""

if shutil.which("cc") is None:
    raise ImportError("a C compiler")
if not list(Path().glob("compiled_loops*.so")):
    Path("compiled_loops.pyx").write_text(SOURCE)
    Path("setup.py").write_text(SETUP)
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(build, check=True, capture_output=True)

import compiled_loops


def typed_arguments(x):
    return (
        compiled_loops.total(x),
        compiled_loops.total(x=x),
        compiled_loops.total(x[::2]),
    )


def classes(x):
    box = compiled_loops.Box(x)
    return box.get(), box[np.array([1, 3])], box.first()


def keeps_identity(x):
    return compiled_loops.increase(x) is x


def shared_views(x):
    before = x + 1
    compiled_loops.double(x)
    after = x + 1
    compiled_loops.increase(x, by=3.0)
    return before, after, x


def shared_member(x):
    box = compiled_loops.Box(x)
    before = box.first()
    x += 1
    return before, box.first(), x.sum()


def error_dtype(x):
    return compiled_loops.total(x.astype(np.float32))


def error_type(x):
    return compiled_loops.total([1.0])
