"""fastparquet: Parquet files."""

import fastparquet
import numpy as np
import pandas as pd


def files(x):
    frame = pd.DataFrame({"a": x * 1.0 + 1, "i": np.arange(x.size) * 2})
    fastparquet.write("a.parq", frame, row_group_offsets=50)
    read = fastparquet.ParquetFile("a.parq")
    return read.to_pandas().to_numpy(), read.columns, read.count()


def columns(x):
    frame = pd.DataFrame({"a": x + 1, "k": (x * 3).astype(int), "b": x > 0.5})
    fastparquet.write("b.parq", frame, compression="GZIP")
    read = fastparquet.ParquetFile("b.parq")
    return read.to_pandas(["b"])["b"].to_numpy(), read.to_pandas(
        filters=[("k", "==", 1)], row_filter=True
    )["a"].to_numpy()


def parts(x):
    frame = pd.DataFrame({"a": x * 2})
    fastparquet.write("c.parq", frame)
    fastparquet.write("c.parq", frame, append=True)
    return np.asarray(fastparquet.ParquetFile("c.parq").to_pandas()["a"]) + 1
