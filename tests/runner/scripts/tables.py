"""pandas takes our arrays in and gives its own out."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
frame = pd.DataFrame(
    {"a": np.arange(6), "b": np.linspace(0, 1, 6), "c": rng.normal(size=6) > 0, "d": list("xyxyxy")}
)
print(frame)
print(frame.dtypes)
frame["e"] = np.sqrt(frame["b"].values)
frame["f"] = np.exp(frame["b"]) + np.arange(6)
frame.loc[:, "g"] = np.where(frame["a"] > 2, 1.5, -1.5)
frame.loc[frame["a"] > 3, "b"] = np.array([10.0, 20.0])
frame.iloc[0, 1] = np.arange(3).sum()
frame = frame.assign(h=np.cumsum(frame["b"].to_numpy()), i=lambda t: np.log1p(t["h"]))
print(frame)
print(frame.describe().round(6))
print(frame.groupby("d")[["a", "b", "h"]].agg(["mean", "sum", np.max]))
print(pd.DataFrame(rng.random((3, 2)), columns=["u", "v"], index=np.array([3, 1, 2])).sort_index())
series = pd.Series(np.arange(5.0), index=np.arange(5) * 2)
x = np.arange(5.0) + 1
print(series + x, x + series, series * np.float64(2), x < series, series.values @ x, series.dot(x), sep="\n")
print(type(x + series).__name__, type(series / x).__name__, type(np.add(x, series)).__name__)
print(np.mean(series), np.sin(series), np.concatenate([series, x]), np.stack([series, x]).sum(axis=0))
print(series[x > 2], series[np.array([0, 4])], series.iloc[np.array([0, -1])], frame[np.array(frame.a > 2)])
print(frame.values[:, :2].astype(float).sum(axis=0), np.asarray(frame[["a", "b"]]).mean(axis=0))
a = np.array(frame["b"])
a[0] = -1
a += frame["a"]
print(a, frame["b"].iloc[0], np.array(frame.index))
print(
    pd.cut(x, bins=np.array([0, 2, 4, 6])),
    pd.qcut(x, 2),
    pd.Index(np.arange(3)),
    pd.Categorical(np.arange(3) % 2),
)
print(
    pd.concat([series, pd.Series(x)]),
    pd.to_datetime(np.array([1, 2]), unit="D"),
    pd.unique(np.array([2, 1, 2])),
)
print(
    pd.isna(np.array([1, np.nan])),
    pd.factorize(np.array([3, 1, 3])),
    frame.groupby(np.arange(6) % 2)["a"].sum(),
)
print(series.rolling(2).apply(np.mean, raw=True), series.isin(np.arange(2)))
print(series.clip(lower=np.ones(5)), series.where(x > 2, x), np.digitize(series, np.array([1, 3])))
print(pd.DataFrame({"a": x, "b": x.sum(), "c": x[0]}), pd.pivot_table(frame, "a", "d", "c", aggfunc="sum"))
print(pd.DataFrame([x, x + 1]), pd.Series(x[0]))
print(np.linalg.lstsq(np.column_stack([np.ones(6), frame["a"]]), frame["h"], rcond=None)[0])
print(np.polyfit(frame["a"], frame["h"], 1), np.corrcoef(frame["a"], frame["h"]), np.histogram(frame["h"], 3))
print(
    np.unique(frame["d"]),
    np.isnan(series).any(),
    np.interp(1.5, series.index, series),
    np.cov(frame[["a", "b"]].T),
)
print(series.map(lambda v: np.sqrt(v)), frame[["a", "b"]].apply(np.sum), pd.Series([x[0], x[1]]))
print(pd.pivot_table(frame, "a", "d", "c", aggfunc=np.sum), pd.Series({"k": x.max()}))
print(pd.DataFrame([{"mean": x.mean(), "most": x.argmax()}, {"mean": x.std(), "most": np.argmin(x)}]).dtypes)
print(
    frame.iloc[np.argmax(x)],
    series.head(x.argmax()),
    series.iloc[x.argmin() : x.argmax()],
    series.loc[x.argmin()],
)
print(
    pd.date_range("2020-01-01", periods=x.argmax()),
    series.map(dict(zip(x, x, strict=True))),
)
print(
    frame.apply(lambda row: np.array([row.a, row.b]).sum(), axis=1),
    series.shift(np.int64(1)).fillna(x.mean()),
)
