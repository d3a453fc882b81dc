"""tqdm: progress of loops."""

import io

import numpy as np
import pandas as pd
from tqdm import tqdm, trange
from tqdm.contrib import tenumerate, tmap, tzip


def loops(x):
    y = x * 1.0 + 1
    bar = tqdm(y, file=io.StringIO())
    rows = tqdm(y.reshape(-1, 20), file=io.StringIO())
    return list(bar)[:9], bar.total, [row.sum() for row in rows], rows.n


def enumerations(x):
    y = x.reshape(-1, 20) * 2
    quiet = {"file": io.StringIO()}
    return (
        [(i, v) for i, v in tenumerate(y[:2], **quiet)],
        [(i, row[0]) for i, row in tenumerate(list(y), start=1, **quiet)],
        [a + b for a, b in tzip(x[:5], x[5:10] + 1, **quiet)],
        list(tmap(np.sqrt, y[:3], **quiet)),
    )


def updates(x):
    counts = (x * 5).astype(int)
    with tqdm(total=counts.sum(), file=io.StringIO()) as bar:
        for count in counts[:50]:
            bar.update(count)
        bar.set_postfix(loss=(x * 2).mean(), first=x[1])
        return bar.n, bar.total, bar.postfix


def data_frames(small):
    tqdm.pandas(file=io.StringIO())
    frame = pd.DataFrame({"k": np.arange(60) % 3, "x": small * 2})
    return frame.groupby("k").x.progress_apply(np.sum).to_numpy()


def keeps_identity(small):
    rows = [small * 2, small + 1]
    return [row is same for row, same in zip(rows, tqdm(rows, file=io.StringIO()))]


def shared_rows(x):
    y = x.reshape(-1, 20)
    before = y + 1
    for i in trange(len(y), file=io.StringIO()):
        y[i] *= 2
    for row in tqdm(y, file=io.StringIO()):
        row += 1
    return before, y
