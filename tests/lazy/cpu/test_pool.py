"""The pool of threads: what is called, once, what comes back, and what is called no more."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from nabla_array._lazy.cpu.pool import Pool, Task


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool(2)


@pytest.fixture
def gate(pool: Pool) -> Iterator[threading.Event]:
    """Keep both threads busy until it is set."""
    opened = threading.Event()
    tasks = [pool.submit(opened.wait, 30) for _ in range(2)]
    yield opened
    opened.set()
    for task in tasks:
        assert task.result()


def test_results_are_those_of_the_calls(pool: Pool) -> None:
    tasks = [pool.submit(divmod, k, 7) for k in range(200)]
    assert [t.result() for t in tasks] == [divmod(k, 7) for k in range(200)]
    assert tasks[3].result() == (0, 3)  # once more
    nothing = pool.submit(lambda: None)
    assert nothing.result() is None


def test_several_threads_run_at_once(pool: Pool) -> None:
    both = threading.Barrier(2)
    tasks = [pool.submit(both.wait, 30) for _ in range(2)]
    assert sorted(t.result() for t in tasks) == [0, 1]


def test_calls_are_made_in_other_threads_which_end_with_the_process(pool: Pool) -> None:
    thread = pool.submit(threading.current_thread).result()
    assert thread is not threading.current_thread()
    assert thread.daemon
    code = "from nabla_array._lazy.cpu.pool import Pool; Pool(3).submit(print, 'done').wait()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "done\n"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_is_raised_where_the_result_is_asked_for(pool: Pool, error: type[BaseException]) -> None:
    def fails() -> None:
        raise error("told")

    task = pool.submit(fails)
    task.wait()  # does not raise
    for _ in range(2):
        with pytest.raises(error, match="told"):
            task.result()
    both = threading.Barrier(2)  # the threads live on
    for again in [pool.submit(both.wait, 30) for _ in range(2)]:
        again.result()


def test_what_is_dropped_in_time_is_never_called(pool: Pool, gate: threading.Event) -> None:
    called: list[int] = []
    tasks = [pool.submit(called.append, k) for k in range(4)]
    tasks[1].drop()
    tasks[3].drop()
    tasks[3].drop()
    assert tasks[1].result() is None
    gate.set()
    for task in tasks:
        task.wait()
    assert sorted(called) == [0, 2]


def test_to_drop_what_has_begun_waits_for_its_end() -> None:
    pool, begun, end = Pool(1), threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> int:
        begun.set()
        end.wait(30)
        done.append(1)
        return 5

    task = pool.submit(work)
    begun.wait(30)
    threading.Timer(0.05, end.set).start()
    task.drop()
    assert done == [1]
    assert task.result() == 5


def test_several_may_wait_for_one_call(pool: Pool, gate: threading.Event) -> None:
    task = pool.submit(lambda: 5)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(task.result())) for _ in range(4)]
    for t in threads:
        t.start()
    assert not seen
    gate.set()
    for t in threads:
        t.join(30)
    assert seen == [5] * 4


def test_a_task_runs_once_whoever_runs_it() -> None:
    called: list[int] = []
    task = Task(called.append, (1,))
    threads = [threading.Thread(target=task.run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    assert called == [1]


def test_a_pool_without_threads_leaves_calls_to_be_dropped() -> None:
    task = Pool(0).submit(pytest.fail)
    task.drop()
    assert task.result() is None
