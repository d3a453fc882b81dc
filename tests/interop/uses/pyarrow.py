"""pyarrow: columnar memory and Parquet files."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def arrays(x):
    a = pa.array(x)
    return (
        a.to_numpy(),
        pa.array(x, mask=x > 0.5).null_count,
        pa.array((x * 9).astype(np.int32)).type.__str__(),
        pc.sum(a).as_py(),
        pa.array(x, from_pandas=True).to_numpy(),
    )


def tables(x):
    t = pa.table({"x": x, "i": np.arange(x.size)})
    pq.write_table(t, "a.parquet")
    again = pq.read_table("a.parquet")
    return (
        again["x"].to_numpy(),
        again.filter(pc.field("x") > 0.9)["i"].to_numpy(),
        t.take(np.array([1, 3]))["i"].to_numpy(),
    )


def tensors(x):
    t = pa.Tensor.from_numpy(x.reshape(-1, 4))
    return t.to_numpy(), t.strides, pa.FixedSizeListArray.from_arrays(x, 4)[1].as_py()


def buffers(x):
    buffer = pa.py_buffer(x)
    return np.frombuffer(buffer), pa.compress(
        buffer, asbytes=True, codec="lz4"
    ) == pa.compress(x.tobytes(), asbytes=True, codec="lz4")


def other_types(small):
    names = np.array(["a", "bc"])
    times = np.array(["2024-01-01", "NaT"], "datetime64[s]")
    return (
        pa.array(names).to_pylist(),
        str(pa.array(times)[0]),
        pa.array([small[:2], small[2:5]]).to_pylist(),
        pa.scalar(small[0]).as_py(),
    )


def shared_memory(x):
    a = pa.array(x)
    before = pc.sum(a).as_py()
    x[0] = 3
    return before, pc.sum(a).as_py(), a.to_numpy() + x
