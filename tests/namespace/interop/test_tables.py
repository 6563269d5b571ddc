"""pandas takes arrays without axes for numbers."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
{imports}
d = pd.DataFrame({{"a": range(6), "b": 0.5}})
i, f = xp.asarray([1, 2])[1], xp.asarray([0.25])[0]
assert pd.api.types.is_integer(i) and pd.api.types.is_float(f) and not pd.api.types.is_integer(f)
assert d.iloc[i, i - 1] == d.iat[i, i - 1] == 0.5 and d.at[i, "a"] == 2
assert len(d.head(i)) == len(pd.date_range("2024", periods=i)) == i
assert d["a"].rolling(i).sum().tolist()[1:] == [1.0, 3.0, 5.0, 7.0, 9.0]
assert pd.Timedelta(f, unit="D") == pd.Timedelta(hours=6)
d["c"] = [f] * 6
d["e"] = d["a"].map(lambda a: f * a)
assert d.dtypes.tolist() == ["int64", "float64", "float64", "float64"]
"""
US, THEM = "import nabla_array as xp", "import pandas as pd"


@pytest.mark.parametrize("imports", [f"{US}\n{THEM}", f"{THEM}\n{US}"], ids=["we first", "pandas first"])
def test_numbers(imports: str) -> None:
    pytest.importorskip("pandas", reason="pandas is optional")
    subprocess.run([sys.executable, "-c", CODE.format(imports=imports)], check=True)
