"""tabulate: tables as text."""

import numpy as np
from tabulate import tabulate


def matrices(x):
    y = x[:12].reshape(3, 4) * 1.0 + 1
    return (
        tabulate(y),
        tabulate(y, headers=list("abcd"), tablefmt="github"),
        tabulate(x.reshape(-1, 4) * 2)[:300],
    )


def columns(x):
    table = {"a": x[:5] * 2, "b": np.arange(5), "c": np.array(list("abcde"))}
    return tabulate(table, headers="keys"), tabulate(
        table, headers="keys", floatfmt=".2f"
    )


def rows(x):
    return (
        tabulate([x[:3], x[3:6] * 2]),
        tabulate([["a", x[1]], ["b", (x * 2).max()]]),
        tabulate([("name", x[:2] + 1)], tablefmt="plain"),
        tabulate(list(zip(np.arange(3), x[:3] + 1)), headers=["i", "x"]),
    )


def structured(small):
    made = np.zeros(3, [("a", float), ("b", int)])
    made["a"] = small[:3] * 2
    return tabulate(made, headers="keys"), tabulate(made)


def indices(x):
    y = x[:6].reshape(2, 3) + 1
    return tabulate(y, showindex="always"), tabulate(y, showindex=[x[7], x[8] * 2])


def other_formats(x):
    y = x[:4].reshape(2, 2) * 2
    return [
        tabulate(y, tablefmt=f, headers=np.array(["p", "q"]))
        for f in ("html", "latex", "tsv")
    ]


def error_dimensions(small):
    return tabulate(5 * small[0])
