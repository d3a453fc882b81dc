"""prettytable: tables as text."""

import numpy as np
from prettytable import PrettyTable


def rows(x):
    made = PrettyTable(["a", "b", "c"])
    made.add_rows(x[:12].reshape(-1, 3) * 2)
    made.add_row(x[:3] + 1)
    made.add_row((x[3:6] * 9).astype(int).tolist())
    made.float_format = ".3"
    return made.get_string(), made.get_csv_string()


def columns(x):
    made = PrettyTable()
    made.add_column("i", np.arange(5))
    made.add_column("x", x[:5] * 2)
    made.sortby = "x"
    return made.get_string(), made.get_json_string(default=lambda v: v.item())


def arrays_in_cells(small):
    made = PrettyTable(["name", "values"])
    made.add_row(["a", small[:2] + 1])
    return made.get_string(), made.rows[0][1]


def error_length(x):
    made = PrettyTable(["a", "b"])
    made.add_row(x[:3] * 2)
