/* Schedules that run tile by tile, each tile on one thread: jobs (fused kernels) and products (see `cpu/sequences.py`).
 * What is made of a tile for the next step lies in the thread's own memory, at the same place for each tile.
 */
enum { MOST_ARRAYS = 1024 }; /* `MOST_ARRAYS` of `cpu/kernels.py` is less */

/* Where an operand begins: so far from the beginning of the tile in an array, in the thread's memory (array 0), or in
 * what is the same for all tiles (-1).
 */
typedef struct {
    int array;
    npy_intp offset;
} Place;

/* A job, a product of matrices by the loop of NumPy's ufunc, or a function of Python's that reads and writes what is at
 * fixed places: only where a thread of the interpreter runs it.
 */
typedef struct {
    Job *job;
    PyObject *call;
    Place places[MOST_OPERANDS];
    PyUFuncGenericFunction loop;
    void *data;
    npy_intp dims[4], strides[9];
    int faults;
} Op;

typedef struct {
    int n, has_calls;
    size_t buffers;
    Op *ops;
} Sequence;

typedef struct {
    Sequence *first, *last;
    char *bases[MOST_ARRAYS];
    npy_intp n_arrays, steps[MOST_ARRAYS], workspace, tiles, next;
} Tiles;

static inline char *
at(const Place *place, char *const *bases)
{
    return place->array < 0 ? (char *)place->offset : bases[place->array] + place->offset;
}

static void
run_op(Op *op, char *const *bases, char *memory)
{
    if (op->job != NULL) {
        Job job = *op->job;
        for (int k = 0; k < job.n_operands; k++) {
            if (job.operands[k].data != NULL) {
                job.operands[k].data = at(&op->places[k], bases);
            }
        }
        job.task(&job, memory);
        for (int s = 0; s < job.n_steps; s++) {
            if (job.step_faults[s]) {
                __atomic_fetch_or(&op->job->step_faults[s], job.step_faults[s], __ATOMIC_RELAXED);
            }
        }
    }
    else {
        char *data[3] = {at(&op->places[0], bases), at(&op->places[1], bases), at(&op->places[2], bases)};
        int found;
        take_faults();
        op->loop(data, op->dims, op->strides, op->data);
        found = take_faults();
        if (found) {
            __atomic_fetch_or(&op->faults, found, __ATOMIC_RELAXED);
        }
    }
}

/* Run tiles that nobody has begun, until none is left. */
static void
work_on_tiles(void *given, char *memory)
{
    Tiles *p = given;
    npy_intp tile;
    char *bases[MOST_ARRAYS];
    memory += 63 - ((npy_uintp)memory + 63) % 64;
    while ((tile = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED)) < p->tiles) {
        Sequence *sequence = tile == p->tiles - 1 ? p->last : p->first;
        bases[0] = memory;
        for (npy_intp i = 1; i < p->n_arrays; i++) {
            bases[i] = p->bases[i] + tile * p->steps[i];
        }
        for (int i = 0; i < sequence->n; i++) {
            run_op(&sequence->ops[i], bases, memory + p->workspace);
        }
    }
}

static void
free_sequence(Sequence *sequence)
{
    for (int i = 0; sequence != NULL && sequence->ops != NULL && i < sequence->n; i++) {
        PyMem_RawFree(sequence->ops[i].job);
        Py_XDECREF(sequence->ops[i].call);
    }
    if (sequence != NULL) {
        PyMem_RawFree(sequence->ops);
    }
    PyMem_RawFree(sequence);
}

static void
sequence_let_go(PyObject *capsule)
{
    free_sequence(PyCapsule_GetPointer(capsule, "sequence"));
}

/* Say where an operand is, of which this is an example, as are `arrays` of what each tile has of them; returns 0, with
 * an error, if it cannot be.
 */
static int
set_place(Place *place, const char *data, PyObject *number, PyObject *arrays)
{
    long array = PyLong_AsLong(number);
    if (array >= PyTuple_GET_SIZE(arrays)) {
        PyErr_SetString(PyExc_IndexError, "no such array");
    }
    if (PyErr_Occurred()) {
        return 0;
    }
    place->array = (int)array;
    place->offset = (npy_intp)data;
    if (array >= 0) {
        place->offset = data - PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(arrays, array));
    }
    return 1;
}

/* Make an operation of (steps, leaves, kept, rows, length, places), a job's; returns 0, perhaps with an error, if that
 * cannot be. What is joined has a row for each block: how many, and how long, is appended to `joined`. Last digits are
 * NumPy's if the job need not be quick.
 */
static int
fill_job_op(Op *op, PyObject *given, PyObject *arrays, PyObject *joined, int is_quick)
{
    PyObject *steps, *leaves, *kept, *places;
    npy_intp rows, length;
    Job *job;
    if (!PyArg_ParseTuple(given, "O!O!O!nnO!", &PyTuple_Type, &steps, &PyList_Type, &leaves, &PyList_Type, &kept, &rows,
                          &length, &PyTuple_Type, &places)) {
        return 0;
    }
    job = op->job = PyMem_RawCalloc(1, sizeof(Job));
    if (job == NULL || !fill_job(job, steps, leaves, kept, rows, length)) {
        return 0;
    }
    for (int s = 0; is_quick && s < job->n_steps; s++) {
        quicken(&job->steps[s], PyTuple_GET_ITEM(PyTuple_GET_ITEM(steps, s), 0));
    }
    job->grain = job->units;
    cut_stretches(job, 1);
    for (int k = 0; k < job->n_operands && k < PyTuple_GET_SIZE(places); k++) {
        Operand *o = &job->operands[k];
        PyObject *number = PyTuple_GET_ITEM(places, k);
        if (k < job->n_steps && PyArray_Check(number)) { /* where the one row that all is joined to goes */
            o->strides[0] = 0;
            o->data = PyArray_BYTES((PyArrayObject *)number);
            op->places[k] = (Place){0, o->data - PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(arrays, 0))};
            if (job->units != 1) {
                return 0;
            }
        }
        else if (k < job->n_steps && job->steps[k].kind == JOIN) {
            npy_intp n = job->operands[job->steps[k].args[0]].is_narrow ? 1 : job->length;
            PyObject *shape = Py_BuildValue("(Onn)", number, job->units, n);
            int failed = shape == NULL || PyList_Append(joined, shape) < 0;
            Py_XDECREF(shape);
            if (failed) {
                return 0;
            }
            o->strides[0] = n * o->itemsize;
            op->places[k] = (Place){(int)PyLong_AsLong(number), 0};
            o->data = op->job->steps[k].identity; /* anything but NULL */
        }
        else if (o->data != NULL && !set_place(&op->places[k], o->data, number, arrays)) {
            return 0;
        }
    }
    return 1;
}

/* Make an operation of (ufunc, x, y, out, places), a product's; returns 0, perhaps with an error, if that cannot be. */
static int
fill_product_op(Op *op, PyObject *given, PyObject *arrays)
{
    PyObject *ufunc, *places;
    PyArrayObject *of[3];
    Step step;
    int stacks;
    if (!PyArg_ParseTuple(given, "O!O!O!O!O!", &PyUFunc_Type, &ufunc, &PyArray_Type, &of[0], &PyArray_Type, &of[1],
                          &PyArray_Type, &of[2], &PyTuple_Type, &places) ||
        !set_loop(&step, (PyUFuncObject *)ufunc, PyArray_TYPE(of[0]))) {
        return 0;
    }
    op->loop = step.loop;
    op->data = step.data;
    stacks = PyArray_NDIM(of[0]) == 3;
    op->dims[0] = stacks ? PyArray_DIM(of[0], 0) : 1;
    op->dims[1] = PyArray_DIM(of[0], stacks);
    op->dims[2] = PyArray_DIM(of[0], stacks + 1);
    op->dims[3] = PyArray_DIM(of[1], stacks + 1);
    for (int i = 0; i < 3; i++) {
        if (PyArray_NDIM(of[i]) != stacks + 2 || !PyArray_ISBEHAVED_RO(of[i]) ||
            !set_place(&op->places[i], PyArray_BYTES(of[i]), PyTuple_GET_ITEM(places, i), arrays)) {
            return 0;
        }
        op->strides[i] = stacks ? PyArray_STRIDE(of[i], 0) : 0;
        op->strides[3 + 2 * i] = PyArray_STRIDE(of[i], stacks);
        op->strides[4 + 2 * i] = PyArray_STRIDE(of[i], stacks + 1);
    }
    return 1;
}

/* make_sequence(ops, arrays, is_quick): see `cpu/sequences.py` */
static PyObject *
make_sequence(PyObject *module, PyObject *args)
{
    PyObject *ops, *arrays, *joined, *capsule = NULL;
    Sequence *sequence;
    int is_made = 1, is_quick;
    if (!PyArg_ParseTuple(args, "O!O!p", &PyTuple_Type, &ops, &PyTuple_Type, &arrays, &is_quick)) {
        return NULL;
    }
    sequence = PyMem_RawCalloc(1, sizeof(Sequence));
    if (sequence == NULL || (sequence->ops = PyMem_RawCalloc((size_t)PyTuple_GET_SIZE(ops) + 1, sizeof(Op))) == NULL ||
        (joined = PyList_New(0)) == NULL) {
        free_sequence(sequence);
        return PyErr_NoMemory();
    }
    for (; is_made && sequence->n < PyTuple_GET_SIZE(ops); sequence->n++) {
        PyObject *given = PyTuple_GET_ITEM(ops, sequence->n);
        Op *op = &sequence->ops[sequence->n];
        if (!PyTuple_CheckExact(given)) {
            op->call = Py_NewRef(given);
            sequence->has_calls = 1;
            continue;
        }
        is_made = PyTuple_GET_SIZE(given) == 5 ? fill_product_op(op, given, arrays)
                                               : fill_job_op(op, given, arrays, joined, is_quick);
        if (is_made && op->job != NULL && op->job->bytes > sequence->buffers) {
            sequence->buffers = op->job->bytes;
        }
    }
    if (is_made && PyTuple_GET_SIZE(arrays) <= MOST_ARRAYS) {
        capsule = PyCapsule_New(sequence, "sequence", sequence_let_go);
    }
    if (capsule == NULL) {
        free_sequence(sequence);
        Py_DECREF(joined);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return Py_BuildValue("(NN)", capsule, joined);
}

/* Append (operation, step, faults) to a list for each step of a sequence that has some, and forget them; returns -1,
 * with an error, if that fails.
 */
static int
tell_of(Sequence *sequence, PyObject *found)
{
    for (int i = 0; i < sequence->n; i++) {
        Op *op = &sequence->ops[i];
        for (int s = 0; s < (op->job == NULL ? 1 : op->job->n_steps); s++) {
            int *faults = op->job == NULL ? &op->faults : &op->job->step_faults[s];
            if (*faults) {
                PyObject *one = Py_BuildValue("(iil)", i, s, numpys_faults(*faults));
                int failed = one == NULL || PyList_Append(found, one) < 0;
                Py_XDECREF(one);
                *faults = 0;
                if (failed) {
                    return -1;
                }
            }
        }
    }
    return 0;
}

/* run_sequence(first, last, arrays, steps, workspace, tiles, threads): see `cpu/sequences.py` */
static PyObject *
run_sequence(PyObject *module, PyObject *args)
{
    PyObject *first, *last, *arrays, *steps, *found;
    Tiles p = {.next = 0};
    size_t buffers;
    int threads;
    if (!PyArg_ParseTuple(args, "OOO!O!nni", &first, &last, &PyTuple_Type, &arrays, &PyTuple_Type, &steps, &p.workspace,
                          &p.tiles, &threads) ||
        (p.first = PyCapsule_GetPointer(first, "sequence")) == NULL ||
        (p.last = PyCapsule_GetPointer(last, "sequence")) == NULL) {
        return NULL;
    }
    p.n_arrays = PyTuple_GET_SIZE(arrays);
    for (npy_intp i = 1; i < p.n_arrays && i < MOST_ARRAYS; i++) {
        p.bases[i] = PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
        p.steps[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(steps, i));
    }
    buffers = p.first->buffers > p.last->buffers ? p.first->buffers : p.last->buffers;
    if (PyErr_Occurred() || (found = PyList_New(0)) == NULL) {
        return NULL;
    }
    if (share(work_on_tiles, &p, (int)(threads < p.tiles ? threads : p.tiles) - 1, (size_t)p.workspace + buffers + 64,
              1) < 0) {
        PyErr_NoMemory();
    }
    if (PyErr_Occurred() || tell_of(p.first, found) < 0 || tell_of(p.last, found) < 0) {
        Py_CLEAR(found);
    }
    return found;
}
