"""pandas: a report of sales by groups and rolling windows."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
count = 120_000
sales = pd.DataFrame(
    {
        "day": pd.Timestamp("2024-01-01")
        + pd.to_timedelta(rng.integers(0, 366, count), unit="D"),
        "shop": rng.choice(["north", "south", "east", "west"], count),
        "product": rng.integers(0, 40, count),
        "amount": np.round(rng.gamma(2.0, 15.0, count), 2),
    }
)
sales["discount"] = np.where(sales["amount"] > 60, 0.1, 0.0)
sales["net"] = sales["amount"] * (1 - sales["discount"])

by_shop = sales.groupby("shop")["net"].agg(["count", "sum", "mean", "std"])
print(by_shop.round(2))

daily = sales.groupby("day")["net"].sum().sort_index()
weekly = daily.rolling(7).mean()
trend = np.polyfit(np.arange(daily.size), daily.to_numpy(), 1)
print(weekly.dropna().iloc[[0, 100, -1]].round(2))
print("trend", np.round(trend, 4))

table = sales.pivot_table(
    index="product", columns="shop", values="net", aggfunc="sum", fill_value=0
)
print(table.head().round(1))
shares = table.to_numpy() / table.to_numpy().sum(axis=1, keepdims=True)
print("largest share", shares.max().round(6), "of product", shares.max(1).argmax())
top = sales.nlargest(3, ["amount", "net"])[["shop", "product", "amount"]]
print(top.to_string(index=False))
