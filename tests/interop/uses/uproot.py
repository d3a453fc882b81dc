"""uproot: files of ROOT."""

import awkward as ak
import numpy as np
import uproot


def trees(x):
    with uproot.recreate("a.root") as file:
        file.mktree("t", {"x": "f8", "i": "i4"})
        file["t"].extend({"x": x * 1.0 + 1, "i": (x * 9).astype(np.int32)})
        file["t"].extend({"x": x * 2, "i": np.arange(x.size, dtype=np.int32)})
    with uproot.open("a.root") as file:
        tree = file["t"]
        return (
            tree["x"].array(library="np") * 2,
            tree.arrays(["i"], library="np"),
            tree.num_entries,
        )


def assigned(x):
    with uproot.recreate("b.root") as file:
        file["t"] = {"x": x + 1, "m": x.reshape(-1, 1) * np.ones(3)}
    with uproot.open("b.root") as file:
        arrays = file["t"].arrays(cut="x > 1.5")
        return (
            arrays["x"].to_numpy(),
            file["t"]["m"].array().to_numpy(),
            file["t"].arrays("x * 2", library="np"),
        )


def histograms(x):
    with uproot.recreate("c.root") as file:
        file["h"] = np.histogram(x * 2, bins=5, range=(0, 2))
        file["g"] = np.histogram2d(x, x + 1, bins=3)
    with uproot.open("c.root") as file:
        return (
            file["h"].to_numpy(),
            file["h"].values() + 1,
            file["g"].values(),
            file["h"].axis().edges(),
        )


def lists(x):
    counts = np.arange(5) + 1
    with uproot.recreate("d.root") as file:
        file["t"] = {"v": ak.unflatten(ak.Array((x[:15] * 2).tolist()), counts)}
    with uproot.open("d.root") as file:
        return file["t"]["v"].array().to_list()


def error_dtype(x):
    with uproot.recreate("e.root") as file:
        file["t"] = {"x": x.astype(object)}
