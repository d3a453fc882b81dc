"""pybind11: extensions written in C++, compiled here."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pybind11

SOURCE = """
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
namespace py = pybind11;

static double total(py::array_t<double> x) {
    double s = 0;
    for (py::ssize_t i = 0; i < x.size(); i++) s += x.data()[i];
    return s;
}
static void increase(py::array_t<double> x) {
    for (py::ssize_t i = 0; i < x.size(); i++) x.mutable_data()[i] += 1;
}
struct Box {
    py::array_t<double> data;
    Box(py::array_t<double> d) : data(d) {}
    double first() const { return data.data()[0]; }
};
PYBIND11_MODULE(compiled_functions, m) {
    m.def("total", &total);
    m.def("total_noconvert", &total, py::arg("x").noconvert());
    m.def("increase", &increase, py::arg("x").noconvert());
    m.def("dims", [](py::array x) { return x.ndim(); });
    m.def("size", [](py::buffer x) { return x.request().size; });
    m.def("overloaded", [](py::array_t<int> x) { return 1; }, py::arg("x").noconvert());
    m.def("overloaded", [](py::array_t<double> x) { return 2; }, py::arg("x").noconvert());
    m.def("vectorized", py::vectorize([](double a, double b) { return a * b; }));
    m.def("sizes", [](std::vector<py::array_t<double>> xs) { return xs.size(); });
    py::class_<Box>(m, "Box").def(py::init<py::array_t<double>>()).def("first", &Box::first)
        .def_readwrite("data", &Box::data);
}
"""

if shutil.which("c++") is None:
    raise ImportError("a C++ compiler")
_library = "compiled_functions" + sysconfig.get_config_var("EXT_SUFFIX")
if not Path(_library).exists():
    Path("functions.cpp").write_text(SOURCE)
    folders = [pybind11.get_include(), sysconfig.get_path("include")]
    subprocess.run(
        [
            "c++",
            "-O1",
            "-shared",
            "-fPIC",
            "-std=c++17",
            "functions.cpp",
            "-o",
            _library,
            *(f"-I{f}" for f in folders),
        ],
        check=True,
    )

import compiled_functions as compiled


def arguments(x):
    return (
        compiled.total(x),
        compiled.total(x.astype(np.float32)),
        compiled.dims(x.reshape(-1, 4)),
        compiled.size(x),
        compiled.sizes([x, x]),
    )


def without_conversion(x):
    return (
        compiled.total_noconvert(x),
        compiled.overloaded(x),
        compiled.overloaded((x * 9).astype(np.int32)),
    )


def vectorized(x):
    return compiled.vectorized(x, 2.0), compiled.vectorized(x, x)


def shared_writes(x):
    before = x + 1
    compiled.increase(x)
    after = x * 2
    compiled.increase(x)
    return before, after, x


def shared_member(x):
    box = compiled.Box(x)
    before = box.first()
    x += 1
    box.data = x * 2
    return before, box.first(), box.data


def error_no_overload(x):
    return compiled.increase(x.astype(np.float32)[::2])
