"""gmpy2: numbers of any precision."""

import gmpy2
import numpy as np


def numbers(x):
    y = (x * 100).astype(int) + 1
    return (
        [str(gmpy2.mpz(v)) for v in y[:4]],
        str(gmpy2.mpfr(x[1] * 2)),
        str(gmpy2.mpq(int(y[1]), int(y[2]))),
        gmpy2.is_prime(int(y[3])),
    )


def functions(x):
    y = (x[:6] * 90).astype(np.int64) + 2
    return (
        str(gmpy2.gcd(*y.tolist())),
        str(gmpy2.isqrt(int(y.sum()))),
        str(gmpy2.sqrt(x[2] * 2)),
    )


def arrays_of_numbers(x):
    made = np.array([gmpy2.mpz(int(v)) for v in x[:5] * 50], dtype=object)
    return [str(v) for v in made * made + 1], str(made.sum()), str(np.dot(made, made))


def operators(x):
    return str(gmpy2.mpfr(2) * float(x[1] * 3)), str(gmpy2.mpz(3) + int((x * 9).max()))


def array_times_number(x):
    found = x[:4] * gmpy2.mpfr("1.5")
    return [str(v) for v in found], found.dtype


def error_array(x):
    gmpy2.mpz(x * 2)
