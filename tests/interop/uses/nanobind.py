"""nanobind: extensions written in C++, compiled here."""

import functools
import shutil
import subprocess
import sysconfig
from pathlib import Path

import nanobind
import numpy as np

SOURCE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
namespace nb = nanobind;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Strided = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

static double total(Strided x) {
    double s = 0;
    for (size_t i = 0; i < x.shape(0); i++) s += x(i);
    return s;
}
static void increase(Vector x, double by) {
    for (size_t i = 0; i < x.shape(0); i++) x(i) += by;
}
static Result doubled(Strided x) {
    double* data = new double[x.shape(0)];
    nb::capsule owner(data, [](void* p) noexcept { delete[] (double*) p; });
    for (size_t i = 0; i < x.shape(0); i++) data[i] = 2 * x(i);
    return Result(data, {x.shape(0)}, owner);
}
struct Box {
    Vector data;
    Box(Vector d) : data(d) {}
    double first() const { return data(0); }
    void set(size_t i, double v) { data(i) = v; }
    double dot(Strided x) const {
        double s = 0;
        for (size_t i = 0; i < x.shape(0); i++) s += data(i) * x(i);
        return s;
    }
    double add(Strided x) const { return total(x) + data(0); }
};
NB_MODULE(bound_functions, m) {
    m.def("total", &total, nb::arg("x"));
    m.def("increase", &increase, nb::arg("x").noconvert(), nb::arg("by") = 1.0);
    m.def("doubled", &doubled);
    m.def("dims", [](nb::ndarray<nb::ro> x) { return x.ndim(); });
    m.def("same", [](nb::ndarray<> x) { return x; });
    m.def("object", [](nb::object x) { return x; });
    m.def("kind", [](nb::ndarray<int32_t> x) { return 1; }, nb::arg("x").noconvert());
    m.def("kind", [](nb::ndarray<double> x) { return 2; }, nb::arg("x").noconvert());
    m.def("totals", [](std::vector<Strided> xs) {
        std::vector<double> found;
        for (auto& x : xs) found.push_back(total(x));
        return found;
    });
    m.def("optional", [](std::optional<Strided> x) { return x ? total(*x) : -1; },
          nb::arg("x").none());
    m.def("item", [](nb::dict d) { return total(nb::cast<Strided>(d["x"])); });
    m.def("make", []() { return nb::cpp_function([](Strided x) { return total(x); }); });
    nb::class_<Box>(m, "Box").def(nb::init<Vector>()).def("first", &Box::first)
        .def("set", &Box::set).def("dot", &Box::dot).def("__add__", &Box::add)
        .def_rw("data", &Box::data)
        .def_static("of", [](Vector x) { return Box(x); });
}
"""

if shutil.which("c++") is None:
    raise ImportError("a C++ compiler")
_library = "bound_functions" + sysconfig.get_config_var("EXT_SUFFIX")
if not Path(_library).exists():
    Path("bound.cpp").write_text(SOURCE)
    _nanobind = Path(nanobind.source_dir())
    folders = [
        nanobind.include_dir(),
        _nanobind.parent / "ext/robin_map/include",
        sysconfig.get_path("include"),
    ]
    subprocess.run(
        [
            "c++",
            "-O1",
            "-shared",
            "-fPIC",
            "-std=c++17",
            "-fno-strict-aliasing",
            "bound.cpp",
            _nanobind / "nb_combined.cpp",
            "-o",
            _library,
            *(f"-I{f}" for f in folders),
        ],
        check=True,
    )

import bound_functions as bound


def arguments(x):
    y = x * 1.0 + 1
    return (
        bound.total(y),
        bound.total(x=y[::2]),
        bound.total(x.astype(np.float32) * 2),
        bound.dims(y.reshape(-1, 4)),
    )


def results(x):
    made = bound.doubled(x + 1)
    return made, made * 2, np.asarray(made).sum()


def overloads(x):
    return bound.kind(x * 2), bound.kind((x * 9).astype(np.int32))


def containers(x):
    y = x + 1
    items = {"x": y, "other": [y]}
    functions = {"total": bound.total, "all": [bound.totals, bound.Box.of]}
    return (
        bound.totals([y, x, y * 2]),
        bound.totals((y, x)),
        bound.item(items),
        functions["total"](y),
        functions["all"][0]([x]),
        functions["all"][1](y).first(),
        items["x"] is y,
    )


def functions_made_by_calls(x):
    made = bound.make()
    return made(x + 1), bound.make()(x[::2])


def wrapped_functions(x):
    add_two = functools.partial(bound.increase, by=2.0)
    y = x * 1.0
    add_two(y)
    return y, list(map(bound.total, [x, y])), sorted([x[:3], y[:2]], key=bound.total)


def optional_arguments(x):
    return bound.optional(None), bound.optional(x * 3)


def classes(x):
    box = bound.Box(x * 1.0 + 1)
    method = box.dot
    box.set(0, 5.0)
    return box.first(), box.dot(x), method(x + 1), box + x, box.data[:3]


def keeps_identity(x):
    y = x * 1.0
    return bound.object(y) is y, bound.object([y])[0] is y, bound.same(y)


def shared_writes(x):
    before = x + 1
    bound.increase(x)
    after = x * 2
    bound.increase(x, by=3.0)
    bound.increase(x[10:20])
    return before, after, x


def shared_member(x):
    box = bound.Box(x)
    before = box.first()
    x += 1
    box.set(1, 9.0)
    seen = box.first(), x[:3] + 0
    box.data = x * 2
    return before, seen, box.first()


def error_dtype(x):
    bound.increase(x.astype(np.float32))


def error_strides(x):
    bound.increase(x[::2])


def error_dimensions(x):
    bound.Box(x.reshape(-1, 4))
