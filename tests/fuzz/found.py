"""Programs that once differed from NumPy, each by what was wrong."""

from __future__ import annotations

FOUND = {
    "negative beside a reduction of few columns": """
a1 = make(3, (3000, 8), 'd')
a2 = -a1; a3 = a1.sum(axis=1)
a4 = make(4, (3000, 4), 'f')
a5 = -a4; a6 = a4.max(axis=1)
""",
    "products of one complex number": """
a1 = make(4, (1,), 'D') * 0.1
a2 = make(5, (1,), 'D') * 0.7
a3 = a1 * a2
a4 = a3 * a3 - a1
""",
    "layout of a result in a temporary": """
a1 = make(3, (2000, 30), 'I')
a2 = make(4, (30, 2000), 'd').T
a3 = -(a2 + 1) / a1
""",
    "extremes of updated zeros": """
a1 = make(3, (60,), 'd') * 0
a1[::2] = -0.0
a2 = abs(a1)
a3 = a2 + 1
a4 = a2.max()
""",
    "deferred indices that are reversed": """
a1 = make(3, (50,), 'd')
a2 = make(4, (50,), 'l') + 100
a1[a2[::-1]]
a3 = a1 + 1
""",
    "an error of indices before other work": """
a1 = make(3, (300,), 'd')
a2 = np.arange(300) * 2 - 5
a3 = a1 * 3
a1[a2] = 7
a4 = a1 + a3
""",
    "an array that is exported while work on it waits": """
a1 = make(3, (500,), 'd')
a2 = a1 * 2
n3 = foreign.by_dlpack(a2)
a2 += 1
n3 *= 2
a4 = a2 - a1
""",
    "a statement with a syntax error": """
make(3, (5,), 'd') += 1
s1 = 1
""",
}
