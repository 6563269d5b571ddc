"""Every benchmark runs, at a tiny size; how fast is not for a test to say."""

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import elementwise, fused
from benchmarks.__main__ import SUITES, main
from benchmarks.measure import OURS, Claim, Row, geometric_mean, race, show, write
from benchmarks.npbench_program import Program, element_reads


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_suite_runs(suite, capsys):
    assert main([suite, "--quick", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)[suite]
    assert rows
    for row in rows:
        assert all(figure > 0 for figure in row["figures"].values()), row
        assert set(row["ratios"]) == set(row["figures"]) - {OURS}


def test_every_suite_has_its_place_in_the_docs():
    page = (Path(__file__).parents[1] / "docs" / "reference" / "benchmarks.md").read_text()
    for suite in (
        *SUITES,
        "accelerator",
        "npbench",
        "distributed",
        "distributed-dask",
        "libraries-small",
        "libraries-middle",
        "libraries-large",
    ):
        assert f"<!-- {suite} -->\n" in page
        assert f"<!-- end {suite} -->" in page


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_distributed_runs(engine, capsys):
    if engine == "dask":
        pytest.importorskip("distributed", reason="Dask is optional")
    options = ["--quick", "--engine", engine, "--only", "k-means step"]
    assert main(["distributed", *options]) == 0
    told = capsys.readouterr().out
    assert "k-means step" in told
    assert "finds" not in told  # another result than ours
    assert ("tasks by nabla_array" in told) == (engine == "dask")


def test_accelerator_runs(capsys):
    assert main(["accelerator", "--quick"]) == 0
    assert "Black-Scholes, float32" in capsys.readouterr().out


def test_distributed_wants_a_case(capsys):
    with pytest.raises(SystemExit):
        main(["distributed", "--only", "nothing"])
    assert "there is no case 'nothing'; elementwise chain, " in capsys.readouterr().err


@pytest.mark.slow
def test_libraries_give_what_they_give_of_numpys_arrays(capsys):
    pytest.importorskip("sklearn", reason="SciPy and scikit-learn are optional")
    assert main(["libraries", "--quick", "--without-jax"]) == 0
    told = capsys.readouterr().out
    assert "StandardScaler" in told
    assert "nabla_array: " not in told  # an error, or another result


def test_libraries_want_a_case(capsys):
    pytest.importorskip("sklearn", reason="SciPy and scikit-learn are optional")
    with pytest.raises(SystemExit):
        main(["libraries", "nothing"])
    assert "no case has nothing in its name: stats.zscore, " in capsys.readouterr().err


def test_expressions_agree_with_numpy():
    import nabla_array as xp

    x, y = np.random.default_rng(0).standard_normal((2, 12, 12))
    for function, args in [
        (elementwise.chain, (x, y)),
        (elementwise.choice, (x, y)),
        (elementwise.row_variance, (x,)),
        (elementwise.softmax, (x,)),
        (elementwise.stencil, (x,)),
        *[
            (function, args)
            for _, function, args in [*fused.cases(quick=True), *fused.mixed_cases(quick=True)]
        ],
    ]:
        ours = function(xp, *map(xp.asarray, args))
        np.testing.assert_allclose(np.asarray(ours), function(np, *args), rtol=1e-12)


def test_rows_judge_and_print(tmp_path, capsys):
    fast = Row("fast", {OURS: 1.0, "numpy": 4.0}, (Claim("numpy", 0.5), Claim("jnp", 0.1)))
    slow = Row("slow", {OURS: 4.0, "numpy": 4.0}, (Claim("numpy", 0.5),))
    assert fast.held() == {"numpy 0.5": True}
    assert slow.held() == {"numpy 0.5": False}
    mean = geometric_mean("mean", [fast, slow], Claim("numpy", 0.5))
    assert mean.ratio("numpy") == pytest.approx(0.5)
    show("title", [fast, slow, mean], Console())
    assert "NO" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- t -->\nold\n<!-- end t -->\nafter\n")
    write(page, "t", [fast, slow])
    text = page.read_text()
    assert "| fast | 1.0 s | 4.0 s | 0.25 | numpy 0.5 | yes |" in text
    assert "old" not in text
    assert text.endswith("<!-- end t -->\nafter\n")


def test_race_takes_turns():
    calls = []
    best = race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert {*calls[:2]} == {*calls[2:]} == {"a", "b"}
    assert set(best) == {"a", "b"}


KERNEL = """
import numpy as np


def kernel(A, n):
    A[1:-1] += 1.0
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] * 2 + np.exp(-A[j, i])
    return np.sum(A)
"""
INITIALIZE = """
import numpy as np


def initialize(n):
    return np.fromfunction(lambda i, j: (i + 1.0) / (j + 1.0), (n, n))
"""
ABOUT = {
    "relative_path": "loops/twice",
    "module_name": "twice",
    "func_name": "kernel",
    "parameters": {"S": {"n": 20}},
    "init": {"func_name": "initialize", "input_args": ["n"], "output_args": ["A"]},
    "input_args": ["A", "n"],
    "array_args": ["A"],
    "output_args": ["A"],
}


@pytest.fixture
def npbench(tmp_path):
    """A folder like NPBench's, with one program."""
    program = tmp_path / "npbench" / "benchmarks" / "loops" / "twice"
    program.mkdir(parents=True)
    (program / "twice.py").write_text(INITIALIZE)
    (program / "twice_numpy.py").write_text(KERNEL)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "twice.json").write_text(json.dumps({"benchmark": ABOUT}))
    return tmp_path


def test_npbench_runs_programs_unchanged(npbench, capsys):
    main(["npbench", f"--npbench={npbench}", "--preset=S", "--budget=0", "--processes=1"])
    printed = capsys.readouterr().out
    assert "1 of 1 programs right" in printed
    assert "geometric mean of fresh processes" in printed


def test_npbench_tells_what_is_wrong(npbench, capsys):
    path = npbench / "npbench" / "benchmarks" / "loops" / "twice" / "twice_numpy.py"
    path.write_text(KERNEL + "\n\nif np.__name__ != 'numpy':\n    raise OSError('not NumPy')\n")
    assert main(["npbench", f"--npbench={npbench}", "--preset=S", "--budget=0", "--processes=0"]) == 1
    printed = capsys.readouterr().out
    assert "0 of 1 programs right" in printed
    assert "twice: OSError: not NumPy" in printed


def test_npbench_counts_reads_of_elements(npbench):
    assert element_reads(Program(npbench, "twice", "S")) == 800


def test_npbench_wants_a_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("NPBENCH_DIR", raising=False)
    for argv in (["npbench"], ["npbench", f"--npbench={tmp_path}"]):
        with pytest.raises(SystemExit):
            main(argv)
    assert "github.com/spcl/npbench" in capsys.readouterr().err
