"""pyreadstat: files of SPSS, Stata and SAS."""

import numpy as np
import pandas as pd
import pyreadstat


def files(x):
    frame = pd.DataFrame(
        {"a": x * 1.0 + 1, "i": (x * 9).astype(int), "s": np.where(x > 0.5, "p", "q")}
    )
    found = []
    for kind in ("sav", "dta", "xport", "por"):
        columns = frame if kind != "por" else frame[["i"]].rename(columns=str.upper)
        getattr(pyreadstat, f"write_{kind}")(columns, f"a.{kind}")
        read, meta = getattr(pyreadstat, f"read_{kind}")(f"a.{kind}")
        numbers = read.select_dtypes("number").to_numpy()
        found.append(
            (numbers if kind != "por" else numbers.astype(int), meta.column_names)
        )
    return found


def dictionaries(x):
    pyreadstat.write_sav(pd.DataFrame({"a": x * 2, "b": x > 0.5}), "b.sav")
    read, meta = pyreadstat.read_sav("b.sav", output_format="dict")
    return {k: np.asarray(v) for k, v in read.items()}, meta.number_rows


def dates(x):
    days = np.datetime64("2024-01-01") + (x[:50] * 300).astype("m8[D]")
    frame = pd.DataFrame({"d": pd.to_datetime(days), "x": x[:50] + 1})
    pyreadstat.write_dta(frame, "c.dta")
    read, _ = pyreadstat.read_dta("c.dta", row_limit=20)
    return pd.to_datetime(read["d"]).to_numpy().astype("M8[s]"), read["x"].to_numpy()
