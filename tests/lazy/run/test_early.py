"""What runs while a process is young, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def _run(code: str, **environment: str) -> None:
    begin = """
        import sys

        import numpy as np

        import nabla_array as xp
        from nabla_array._lazy.run import early, planning

        TIERS = "nabla_array._lazy.run.tiers"
        a = np.random.default_rng(0).standard_normal(1 << 19)
        x = xp.asarray(a)

        def check():
            assert (np.asarray(xp.sqrt(xp.abs(x)) + 1.0) == np.sqrt(np.abs(a)) + 1.0).all()
    """
    both = textwrap.dedent(begin) + textwrap.dedent(code)
    subprocess.run([sys.executable, "-c", both], check=True, env={**os.environ, **environment})


def test_a_young_process_computes_without_the_compiled_tier() -> None:
    _run("""
        check()
        assert TIERS not in sys.modules
        (plan,) = {id(p): p for p in planning.plans.values() if hasattr(p, "seconds")}.values()
        assert plan.runners is None
        assert 0.0 < plan.seconds == early._youth.seconds
    """)


def test_what_has_been_spent_is_counted_later() -> None:
    _run("""
        check()
        (plan,) = {id(p): p for p in planning.plans.values() if hasattr(p, "seconds")}.values()
        spent, early._youth.seconds = plan.seconds, 1.0
        check()
        assert TIERS in sys.modules
        (runner,) = plan.runners
        assert runner.kernel.host_seconds > spent == plan.seconds
    """)


def test_who_wants_compiled_code_at_once_has_it_looked_for() -> None:
    _run("""
        with xp.config(compile_after=0.0):
            check()
        assert TIERS in sys.modules
    """)


def test_threads() -> None:
    _run("""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(check) for _ in range(200)]:
                done.result()
        check()
    """)
