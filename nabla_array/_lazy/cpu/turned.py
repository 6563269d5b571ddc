"""Tables whose columns are rows in memory, as those that `moveaxis` gives.

A row of such a table is spread over all of its memory. So the program of the fusion group is written anew for
the table turned, of which whole rows are joined to each other, and cut into steps of its own.
"""

from __future__ import annotations

import numpy as np

from ..graph.aval import aval_of, aval_of_value
from ..graph.program import Eqn, Program
from ..ops.structure import broadcast
from ..schedule.partition import partition
from ..schedule.steps import Schedule
from .kernels import EACH, JOIN, SPREAD, Job


def is_turned(leaves: list[np.ndarray]) -> bool:
    """Say whether all tables among some arrays lie so."""
    tables = [x.strides for x in leaves if x.ndim == 2 and all(x.strides)]
    return bool(tables) and all([abs(row) < abs(column) for row, column in tables])


def turned(job: Job, leaves: list[np.ndarray]) -> Schedule:
    """Return what does a job's steps to its leaves turned, and gives its results turned."""
    table, row = (job.length, job.rows), (job.rows,)
    many, base = len(job.steps), len(leaves)
    avals = [aval_of_value(x.T) for x in leaves]
    eqns: list[Eqn] = []
    for k, (_, ins, dtype, kind, narrow) in zip(job.origins, job.steps, strict=True):
        numbers = tuple([i + base if i < many else i - many for i in ins])
        prim, params = job.eqns[k].prim, job.eqns[k].params
        shape: tuple[int, ...] = row if narrow else table
        if kind == SPREAD:
            prim, params = broadcast, (("shape", table), ("axes", (1,)))
        elif kind != EACH:
            source = avals[numbers[0]].shape
            axis = 1 if kind == JOIN and source == table else 0
            params, shape = (("axes", (axis,)),), tuple([n for a, n in enumerate(source) if a != axis])
        aval = aval_of(shape, dtype)
        avals.append(aval)
        eqns.append(Eqn(prim, numbers, params, aval))
    outputs = tuple([job.places[k] + base for k in job.group.outputs])
    return partition(Program(tuple(avals[:base]), tuple(eqns), outputs))
