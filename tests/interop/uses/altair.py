"""altair: plots as JSON."""

import altair as alt
import numpy as np
import pandas as pd

alt.data_transformers.disable_max_rows()


def charts(x):
    frame = pd.DataFrame({"a": x[:50] * 1.0 + 1, "k": (x[:50] * 3).astype(int)})
    made = alt.Chart(frame).mark_point().encode(x="a:Q", y="k:O").to_dict()
    return made["encoding"], next(iter(made["datasets"].values()))


def values(x):
    rows = [{"a": v} for v in x[:9] * 2]
    made = alt.Chart(alt.Data(values=rows)).mark_bar().encode(x="a:Q")
    return made.to_dict()["data"]["values"]


def domains(x):
    y = x * 2
    scale = alt.Scale(domain=[float(y.min()), float(y.max())], range=y[:2].tolist())
    return alt.X("a:Q", scale=scale).to_dict()


def inferred(x):
    frame = pd.DataFrame(
        {"a": x + 1, "d": np.datetime64("2024-01-01") + np.arange(x.size)}
    )
    made = alt.Chart(frame[:20]).mark_line().encode(x="d", y="a").to_dict()
    return made["encoding"], next(iter(made["datasets"].values()))[:3]


def generated(x):
    made = alt.sequence(0, (x[1] * 9).round(), 1.0)
    return alt.Chart(made).mark_line().to_dict()["data"]
