"""numpy: Fortran behind numpy.f2py, compiled here."""

import functools
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import numpy.f2py

SOURCE = """
subroutine total(x, n, s)
  integer, intent(in) :: n
  double precision, intent(in) :: x(n)
  double precision, intent(out) :: s
  s = sum(x)
end subroutine
subroutine increase(x, n, by)
  integer, intent(in) :: n
  double precision, intent(inout) :: x(n)
  double precision, intent(in) :: by
  x = x + by
end subroutine
subroutine work(x, n, y)
  integer, intent(in) :: n
  double precision :: x(n)
  !f2py intent(in, overwrite) :: x
  double precision, intent(out) :: y(n)
  x = x * 2
  y = x + 1
end subroutine
subroutine copied(x, n)
  integer, intent(in) :: n
  double precision :: x(n)
  !f2py intent(in, out, copy) :: x
  x = x * 3
end subroutine
subroutine reused(x, n)
  integer, intent(in) :: n
  double precision :: x(n)
  !f2py intent(in, out) :: x
  x = x * 4
end subroutine
subroutine product(a, b, c, n, m, k)
  integer, intent(in) :: n, m, k
  double precision, intent(in) :: a(n, m), b(m, k)
  double precision, intent(out) :: c(n, k)
  c = matmul(a, b)
end subroutine
subroutine apply(f, x, n, y)
  external f
  double precision f
  integer, intent(in) :: n
  double precision, intent(in) :: x(n)
  double precision, intent(out) :: y(n)
  integer i
  do i = 1, n
    y(i) = f(x(i))
  end do
end subroutine
module state
  double precision, allocatable :: levels(:)
  double precision :: scales(3) = (/ 1d0, 2d0, 3d0 /)
contains
  subroutine scaled(x, n)
    integer, intent(in) :: n
    double precision, intent(inout) :: x(n)
    x = x * scales(2)
  end subroutine
end module
"""

if shutil.which("gfortran") is None:
    raise ImportError("a Fortran compiler")
_library = "fortran_functions" + sysconfig.get_config_var("EXT_SUFFIX")
if not Path(_library).exists():
    Path("fortran.f90").write_text(SOURCE)
    _made = [sys.executable, "-m", "numpy.f2py", "--quiet", "--lower"]
    subprocess.run([*_made, "-m", "fortran_functions", "fortran.f90"], check=True)
    _folder = numpy.f2py.get_include()
    _sources = [
        *Path().glob("fortran*.c"),
        *Path().glob("fortran*.f90"),
        Path(_folder, "fortranobject.c"),
    ]
    _headers = [_folder, np.get_include(), sysconfig.get_path("include")]
    subprocess.run(
        [
            "gfortran",
            "-O1",
            "-w",
            "-shared",
            "-fPIC",
            *_sources,
            "-o",
            _library,
            *(f"-I{f}" for f in _headers),
        ],
        check=True,
    )

import fortran_functions as fortran


def arguments(x):
    y = x * 1.0 + 1
    return (
        fortran.total(y),
        fortran.total(x=y[::2]),
        fortran.total((x * 9).astype(np.int32)),
        fortran.total([1, 2]),
    )


def matrices(x):
    a = x[:24].reshape(4, 6) * 1.0 + 1
    return fortran.product(a, a.T), fortran.product(np.asfortranarray(a), a.T * 2)


def keeps_what_it_may_not_write(x):
    y = x * 1.0 + 1
    before = y + 1
    copied = fortran.copied(y)
    result = fortran.work(y)
    again = fortran.work(y, overwrite_x=0)
    return before, copied, result, again, y


def shared_writes(x):
    before = x + 1
    fortran.increase(x, 2.0)
    after = x * 2
    fortran.increase(x[10:20], by=1.0)
    fortran.increase(x[: x.size // 2], by=1.0)
    return before, after, x


def shared_overwrites(x):
    y = x * 1.0
    before = y + 1
    result = fortran.work(y, overwrite_x=1)
    return before, result, y


def shared_results(x):
    y = x * 1.0 + 1
    before = y * 2
    result = fortran.reused(y)
    copied = fortran.copied(y, overwrite_x=1)
    return before, result is y, copied is y, result, y


def functions_in_containers(x):
    y = x * 1.0
    functions = {"total": fortran.total, "more": [fortran.increase, fortran.copied]}
    functions["more"][0](y, 1.0)
    add_two = functools.partial(fortran.increase, by=2.0)
    add_two(y)
    return y, functions["total"](y), functions["more"][1](y), [*map(fortran.total, [x])]


def functions_first_found_by_calls(x):
    y = x + 1
    getattr(fortran, "".join(["incr", "ease"]))(y, 1.0)
    next(iter([fortran.state])).scaled(y)
    return y, vars(fortran)["total"](y)


def shared_variables(x):
    module = fortran.state
    module.levels = x[:9] * 1.0 + 1
    levels = module.levels
    levels[0] = 5
    module.scales = np.array([1.0, 3.0, 1.0]) * 1.0
    y = x * 1.0
    module.scaled(y)
    return module.levels[:3], module.scales, y


def callbacks(small):
    return fortran.apply(lambda v: v * 2 + small[0], small + 1)


def error_strides(x):
    fortran.increase(x[::2], 1.0)


def error_dtype(x):
    fortran.increase(x.astype(np.float32), 1.0)
