"""CSV, npz and JSON files are written, read and summarised."""

import csv
import json
import tempfile
from pathlib import Path

import numpy as np

rng = np.random.default_rng(6)
stations = ["Bergen", "Cairo", "Lima", "Oslo", "Quito"]
hours = 24 * 120

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for number, station in enumerate(stations):
        clock = np.arange(hours)
        warm = 12 + 3 * number + 6 * np.sin(clock * 2 * np.pi / 24)
        values = np.column_stack(
            [clock, warm + rng.normal(size=hours), rng.gamma(0.3, 2.0, hours)]
        )
        values[rng.integers(0, hours, 40), 1] = np.nan
        np.savetxt(
            folder / f"{station}.csv",
            values,
            delimiter=",",
            fmt=["%d", "%.3f", "%.3f"],
            header="hour,temperature,rain",
            comments="",
        )

    summary = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open() as lines:
            fields = next(csv.reader(lines))
        data = np.genfromtxt(file, delimiter=",", skip_header=1)
        quick = np.loadtxt(file, delimiter=",", skiprows=1)
        assert np.array_equal(data, quick, equal_nan=True)
        days = data.reshape(-1, 24, len(fields))
        np.savez(folder / f"{file.stem}.npz", days=days, fields=np.array(fields))
        summary[file.stem] = {
            "missing": int(np.isnan(data[:, 1]).sum()),
            "mean": round(float(np.nanmean(data[:, 1])), 4),
            "warmest day": int(np.nanmean(days[:, :, 1], axis=1).argmax()),
            "rain": np.nansum(days[:, :, 2], axis=1)[:4].round(3).tolist(),
        }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))

    for station, line in json.loads((folder / "summary.json").read_text()).items():
        with np.load(folder / f"{station}.npz") as stored:
            days, fields = stored["days"], stored["fields"]
        spread = np.nanmax(days[:, :, 1], axis=1) - np.nanmin(days[:, :, 1], axis=1)
        print(station, line, fields.tolist(), spread.mean().round(4))
    print(sorted(file.name for file in folder.iterdir()))
