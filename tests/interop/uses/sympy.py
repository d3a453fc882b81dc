"""sympy: symbolic mathematics."""

import numpy as np
import sympy

_x, _y = sympy.symbols("x y")


def lambdify(x):
    f = sympy.lambdify((_x, _y), sympy.sqrt(_x) * _y + sympy.Abs(_x - 1))
    g = sympy.lambdify(_x, [_x + 1, sympy.Max(_x, 0.5)], "numpy")
    return (
        f(x, 2.0),
        g(x),
        sympy.lambdify(_x, sympy.Piecewise((_x, _x > 0.5), (0, True)))(x),
    )


def matrices(small):
    m = sympy.Matrix(small[:4].reshape(2, 2))
    f = sympy.lambdify(_x, sympy.Matrix([[_x, 1], [0, _x]]))
    return (
        float(m.det()),
        np.array(m).astype(float),
        f(small[1]),
        sympy.lambdify(_x, sympy.diff(_x**3))(small),
    )


def numbers(small):
    return (
        float(sympy.Float(small[1])),
        str(sympy.sympify(small[0] + 1)),
        [float(v) for v in small * sympy.Rational(1, 2)][:3],
        np.array([_x, _y])[0] == _x,
    )


def operators(small):
    """Operators of sympy, which refuses arrays on its right and leaves them to NumPy."""
    few = small[:3]
    results = _x + few, _x - few, _x * few, (_x + 1) / (few + 2), _x == few
    return [[str(v) for v in np.asarray(each).ravel()] for each in results]


def scipy_functions(x):
    return sympy.lambdify(_x, sympy.erf(_x), "scipy")(x), sympy.lambdify(
        _x, sympy.gamma(_x), ["scipy", "numpy"]
    )(x + 1)
