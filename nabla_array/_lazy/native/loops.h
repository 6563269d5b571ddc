/* Loops over sequences (row_tiles.h): what was made ready for one step runs for each, with nothing of Python's in between
 * but for operations that only Python has. Its Python twin is in `loops.py`.
 */

/* Iterations between two looks whether somebody wants to stop them; those for which others need not have the interpreter. */
enum { ROUND = 1000, FEW = 16 };

typedef struct {
    Sequence *test, *body; /* `test` may be NULL */
    char *bases[MOST_ARRAYS], *buffers;
    npy_intp n_arrays, steps[MOST_ARRAYS];
    npy_intp found; /* where in the memory the answer of the test is */
    npy_intp left;  /* iterations, unless there is a test */
} Loop;

/* Run the operations of a sequence, in their own memory; returns -1 with an error. */
static int
run_once(const Sequence *sequence, char *const *bases, char *buffers)
{
    for (int i = 0; i < sequence->n; i++) {
        Op *op = &sequence->ops[i];
        if (op->call != NULL) {
            PyObject *done = PyObject_CallNoArgs(op->call);
            if (done == NULL) {
                return -1;
            }
            Py_DECREF(done);
        }
        else if (op->job != NULL) {
            Job *job = op->job;
            for (int k = 0; k < job->n_operands; k++) {
                if (job->operands[k].data != NULL) {
                    job->operands[k].data = at(&op->places[k], bases);
                }
            }
            cut_stretches(job, 1);
            job->task(job, buffers);
        }
        else {
            run_op(op, bases, buffers);
        }
    }
    return 0;
}

/* Run some iterations; returns 0 once there are no more, -1 with an error. */
static int
run_round(Loop *loop)
{
    for (int round = 0; round < ROUND; round++) {
        if (loop->test != NULL) {
            if (run_once(loop->test, loop->bases, loop->buffers) < 0) {
                return -1;
            }
            if (!loop->bases[0][loop->found]) {
                return 0;
            }
        }
        else if (loop->left-- <= 0) {
            return 0;
        }
        if (run_once(loop->body, loop->bases, loop->buffers) < 0) {
            return -1;
        }
        for (npy_intp i = 1; i < loop->n_arrays; i++) {
            loop->bases[i] += loop->steps[i];
        }
    }
    return 1;
}

/* run_loop(test, body, found, arrays, steps, count): run `body` so often, or as long as `test`, if that is not None, puts
 * true at `found` in the memory, which is the first array. Returns for both of them the faults that were seen, or None.
 */
static PyObject *
run_loop(PyObject *module, PyObject *args)
{
    PyObject *test, *body, *arrays, *steps, *held, *seen[2] = {NULL, NULL}, *out = NULL;
    Loop loop = {0};
    int state = 1, has_calls, is_short;
    size_t buffers;
    if (!PyArg_ParseTuple(args, "OOnO!O!n", &test, &body, &loop.found, &PyTuple_Type, &arrays, &PyTuple_Type, &steps,
                          &loop.left) ||
        (test != Py_None && (loop.test = PyCapsule_GetPointer(test, "sequence")) == NULL) ||
        (loop.body = PyCapsule_GetPointer(body, "sequence")) == NULL) {
        return NULL;
    }
    loop.n_arrays = PyTuple_GET_SIZE(arrays);
    if (loop.n_arrays > MOST_ARRAYS || PyTuple_GET_SIZE(steps) != loop.n_arrays) {
        return PyErr_Format(PyExc_ValueError, "run_loop: %zd arrays", loop.n_arrays);
    }
    if ((held = PyTuple_New(loop.n_arrays)) == NULL) {
        return NULL;
    }
    for (npy_intp i = 0; i < loop.n_arrays; i++) { /* as loops want them: those that are written to are */
        PyObject *array = PyArray_FromAny(PyTuple_GET_ITEM(arrays, i), NULL, 0, 0, NPY_ARRAY_CARRAY_RO, NULL);
        if (array == NULL) {
            Py_DECREF(held);
            return NULL;
        }
        PyTuple_SET_ITEM(held, i, array);
        loop.bases[i] = PyArray_BYTES((PyArrayObject *)array);
        loop.steps[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(steps, i));
    }
    buffers = loop.body->buffers;
    if (loop.test != NULL && loop.test->buffers > buffers) {
        buffers = loop.test->buffers;
    }
    has_calls = loop.body->has_calls || (loop.test != NULL && loop.test->has_calls);
    is_short = loop.test == NULL && loop.left < FEW;
    loop.buffers = PyMem_RawMalloc(buffers + 64);
    if (loop.buffers == NULL || PyErr_Occurred()) {
        state = -1;
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
    }
    take_faults();
    while (state > 0) {
        if (has_calls || is_short) {
            state = run_round(&loop);
        }
        else {
            Py_BEGIN_ALLOW_THREADS
            state = run_round(&loop);
            Py_END_ALLOW_THREADS
        }
        if (state > 0 && PyErr_CheckSignals() < 0) {
            state = -1;
        }
    }
    Py_DECREF(held);
    PyMem_RawFree(loop.buffers);
    for (int i = 0; i < 2 && state == 0; i++) {
        Sequence *sequence = i == 0 ? loop.test : loop.body;
        if ((seen[i] = PyList_New(0)) == NULL || (sequence != NULL && tell_of(sequence, seen[i]) < 0)) {
            state = -1;
        }
    }
    if (state == 0) {
        out = PyList_GET_SIZE(seen[0]) || PyList_GET_SIZE(seen[1]) ? PyTuple_Pack(2, seen[0], seen[1]) : Py_NewRef(Py_None);
    }
    Py_XDECREF(seen[0]);
    Py_XDECREF(seen[1]);
    return out;
}

/* What machine code asks from time to time: whether somebody wants to stop it. The interpreter's lock is free meanwhile. */
static int
is_stopped(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int found = PyErr_CheckSignals() < 0;
    PyGILState_Release(state);
    return found;
}

/* stop_address(): where `is_stopped` is. */
static PyObject *
stop_address(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromVoidPtr((void *)is_stopped);
}

/* loop_address(ufunc, dtype): where the ufunc's loop for operands of one dtype is, what it is given, and the number of its
 * result's dtype; None if it has no such loop.
 */
static PyObject *
loop_address(PyObject *module, PyObject *args)
{
    PyObject *ufunc;
    PyArray_Descr *dtype;
    Step step = {0};
    if (!PyArg_ParseTuple(args, "O!O!", &PyUFunc_Type, &ufunc, &PyArrayDescr_Type, &dtype)) {
        return NULL;
    }
    if (!set_loop(&step, (PyUFuncObject *)ufunc, dtype->type_num)) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("NNi", PyLong_FromVoidPtr((void *)step.loop), PyLong_FromVoidPtr(step.data), step.result);
}

/* Return a new array for each of some avals. */
static PyObject *
room_for(PyObject *avals)
{
    Py_ssize_t n = PyTuple_GET_SIZE(avals);
    PyObject *arrays = PyList_New(n);
    for (Py_ssize_t i = 0; arrays != NULL && i < n; i++) {
        npy_intp dims[NPY_MAXDIMS];
        PyObject *aval = PyTuple_GET_ITEM(avals, i), *array = NULL;
        PyArray_Descr *dtype = aval_dtype(aval);
        PyObject *shape = SLOT(aval, a_shape);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(shape); k++) {
            dims[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        }
        Py_INCREF(dtype);
        array = PyArray_SimpleNewFromDescr((int)PyTuple_GET_SIZE(shape), dims, dtype);
        if (array == NULL) {
            Py_CLEAR(arrays);
            break;
        }
        PyList_SET_ITEM(arrays, i, array);
    }
    return arrays;
}

/* run_machine(address, arrays, is_short, avals=(), scratch=0): call machine code with what the arrays hold, new ones for
 * results of these avals, and memory of so many bytes if any (`cpu/machine.py`). Returns the results, and the faults that
 * were seen, by NumPy's numbers; None if the code met what it does not do.
 */
static PyObject *
run_machine(PyObject *module, PyObject *args)
{
    PyObject *address, *arrays, *avals = no_levels, *held, *outs, *found = NULL;
    char *bases[MOST_ARRAYS + 1], *scratch = NULL;
    Py_ssize_t n, all, bytes = 0;
    npy_int64 (*code)(char **);
    npy_int64 state = 0;
    int is_short, faults = 0;
    if (!PyArg_ParseTuple(args, "O!O!p|O!n", &PyLong_Type, &address, &PyTuple_Type, &arrays, &is_short, &PyTuple_Type, &avals,
                          &bytes) ||
        (code = (npy_int64(*)(char **))PyLong_AsVoidPtr(address)) == NULL) {
        return NULL;
    }
    n = PyTuple_GET_SIZE(arrays);
    if ((all = n + PyTuple_GET_SIZE(avals)) > MOST_ARRAYS) {
        return PyErr_Format(PyExc_ValueError, "run_machine: %zd arrays", all);
    }
    held = PyTuple_New(n);
    outs = held == NULL ? NULL : room_for(avals);
    for (Py_ssize_t i = 0; outs != NULL && i < n; i++) { /* as code wants them: those that are written to are */
        PyObject *array = PyArray_FromAny(PyTuple_GET_ITEM(arrays, i), NULL, 0, 0, NPY_ARRAY_CARRAY_RO, NULL);
        if (array == NULL) {
            Py_CLEAR(outs);
            break;
        }
        PyTuple_SET_ITEM(held, i, array);
        bases[i] = PyArray_BYTES((PyArrayObject *)array);
    }
    if (outs != NULL && bytes > 0 && (scratch = PyMem_Malloc((size_t)bytes + 64)) == NULL) {
        PyErr_NoMemory();
        Py_CLEAR(outs);
    }
    if (outs == NULL) {
        Py_XDECREF(held);
        return NULL;
    }
    for (Py_ssize_t i = n; i < all; i++) {
        bases[i] = PyArray_BYTES((PyArrayObject *)PyList_GET_ITEM(outs, i - n));
    }
    bases[all] = scratch == NULL ? NULL : scratch + (64 - (npy_uintp)scratch % 64);
    take_faults();
    if (is_short) {
        state = code(bases);
        faults = take_faults();
    }
    else {
        Py_BEGIN_ALLOW_THREADS
        state = code(bases);
        faults = take_faults();
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(scratch);
    Py_DECREF(held);
    if (!PyErr_Occurred()) {
        found = state != 0 ? Py_NewRef(Py_None) : Py_BuildValue("Oi", outs, numpys_faults(faults));
    }
    Py_DECREF(outs);
    return found;
}
