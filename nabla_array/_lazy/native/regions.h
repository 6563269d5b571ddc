/* Elementwise regions of large programs, which `host.py` cuts, as jobs. */

/* Let the elements of a loop be made some at a time, though what is written may be an operand. */
#if defined(__GNUC__)
#define EACH_BY_ITSELF _Pragma("GCC ivdep")
#else
#define EACH_BY_ITSELF
#endif

/* NumPy's `where` has no loop of a ufunc's. Here it has no branch for an element, which would be hard to foresee; that
 * some in a row are chosen alike is not.
 */
#define SELECT(name, type)                                                                                           \
    static inline type name##_one(npy_bool c, type x, type y)                                                        \
    {                                                                                                                \
        return y ^ ((x ^ y) & (type)-(type)(c != 0));                                                                \
    }                                                                                                                \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        const npy_intp size = sizeof(type);                                                                          \
        const npy_uint64 every = 0x0101010101010101;                                                                 \
        char *c = args[0], *x = args[1], *y = args[2], *out = args[3];                                               \
        npy_intp i = 0;                                                                                              \
        if (strides[0] == 1 && (strides[1] == size || strides[1] == 0) && (strides[2] == size || strides[2] == 0) && \
            strides[3] == size && *n >= 8) {                                                                         \
            type xs[8], ys[8]; /* for one element that repeats */                                                    \
            for (int j = 0; j < 8; j++) {                                                                            \
                xs[j] = *(type *)x;                                                                                  \
                ys[j] = *(type *)y;                                                                                  \
            }                                                                                                        \
            for (; i + 8 <= *n; i += 8) {                                                                            \
                npy_uint64 some;                                                                                     \
                const type *p = strides[1] == 0 ? xs : (type *)x + i, *q = strides[2] == 0 ? ys : (type *)y + i;     \
                type *to = (type *)out + i;                                                                          \
                memcpy(&some, c + i, 8);                                                                             \
                if (some == 0 || some == every) {                                                                    \
                    type chosen[8];                                                                                  \
                    memcpy(chosen, some == 0 ? q : p, sizeof(chosen));                                               \
                    memcpy(to, chosen, sizeof(chosen));                                                              \
                    continue;                                                                                        \
                }                                                                                                    \
                EACH_BY_ITSELF                                                                                       \
                for (int j = 0; j < 8; j++) {                                                                        \
                    to[j] = name##_one(((npy_bool *)c)[i + j], p[j], q[j]);                                          \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (; i < *n; i++) {                                                                                        \
            *(type *)(out + i * strides[3]) =                                                                        \
                name##_one(*(npy_bool *)(c + i * strides[0]), *(type *)(x + i * strides[1]), *(type *)(y + i * strides[2]));\
        }                                                                                                            \
    }
SELECT(select_1, npy_uint8)
SELECT(select_2, npy_uint16)
SELECT(select_4, npy_uint32)
SELECT(select_8, npy_uint64)

static void
select_16(char **args, const npy_intp *n, const npy_intp *strides, void *data)
{
    char *c = args[0], *x = args[1], *y = args[2], *out = args[3];
    for (npy_intp i = 0; i < *n; i++) {
        memmove(out, *(npy_bool *)c ? x : y, 16);
        c += strides[0], x += strides[1], y += strides[2], out += strides[3];
    }
}

static int
set_select(Step *step, npy_intp itemsize)
{
    switch (itemsize) {
    case 1: step->loop = select_1; break;
    case 2: step->loop = select_2; break;
    case 4: step->loop = select_4; break;
    case 8: step->loop = select_8; break;
    case 16: step->loop = select_16; break;
    default: return 0;
    }
    step->kind = EACH;
    step->data = NULL;
    step->many = 4;
    step->is_quiet = 1;
    return 1;
}

#define AS_IT_IS(x) (x)
#define IS_TRUE(x) ((x) != 0)

/* Conversions, for which NumPy has no ufunc. */
#define CONVERT(name, from, to, read)                                                                                \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        char *in = args[0], *out = args[1];                                                                          \
        if (strides[0] == sizeof(from) && strides[1] == sizeof(to)) {                                                \
            for (npy_intp i = 0; i < *n; i++) {                                                                      \
                ((to *)out)[i] = (to)read(((from *)in)[i]);                                                                \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (npy_intp i = 0; i < *n; i++, in += strides[0], out += strides[1]) {                                     \
            *(to *)out = (to)read(*(from *)in);                                                                            \
        }                                                                                                            \
    }
CONVERT(bool_to_double, npy_bool, double, IS_TRUE)
CONVERT(bool_to_float, npy_bool, float, IS_TRUE)
CONVERT(bool_to_int, npy_bool, npy_int64, IS_TRUE)
CONVERT(int_to_double, npy_int64, double, AS_IT_IS)
CONVERT(short_to_double, npy_int32, double, AS_IT_IS)
CONVERT(float_to_double, float, double, AS_IT_IS)
CONVERT(double_to_float, double, float, AS_IT_IS)

/* Let a step be a conversion; returns 0 for one that is not here. */
static int
set_cast(Step *step, PyArray_Descr *from, PyArray_Descr *to)
{
    static const struct {
        char from, to;
        int from_size, to_size;
        PyUFuncGenericFunction loop;
    } known[] = {
        {'b', 'f', 1, 8, bool_to_double},  {'b', 'f', 1, 4, bool_to_float}, {'b', 'i', 1, 8, bool_to_int},
        {'i', 'f', 8, 8, int_to_double},   {'i', 'f', 4, 8, short_to_double},
        {'f', 'f', 4, 8, float_to_double}, {'f', 'f', 8, 4, double_to_float},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].from == from->kind && known[i].to == to->kind && known[i].from_size == PyDataType_ELSIZE(from) &&
            known[i].to_size == PyDataType_ELSIZE(to)) {
            step->kind = EACH;
            step->loop = known[i].loop;
            step->data = NULL;
            step->many = 2;
            step->is_quiet = from->kind != 'f';
            return 1;
        }
    }
    return 0;
}

/* Take what a ufunc's reductions begin with; returns 0, with an error, if that fails. */
static int
set_identity(Step *step, PyObject *ufunc, PyArray_Descr *dtype)
{
    PyObject *identity = PyObject_GetAttrString(ufunc, "identity"), *array = NULL;
    int is_none = identity == Py_None;
    step->has_identity = 0;
    if (identity != NULL && !is_none) {
        Py_INCREF(dtype);
        array = PyArray_FromAny(identity, dtype, 0, 0, NPY_ARRAY_CARRAY_RO, NULL);
    }
    if (array != NULL) {
        step->has_identity = 1;
        memcpy(step->identity, PyArray_DATA((PyArrayObject *)array), (size_t)PyDataType_ELSIZE(dtype));
    }
    Py_XDECREF(identity);
    Py_XDECREF(array);
    return is_none || step->has_identity;
}

/* Say whether a ufunc is one whose loops use vectors only for what lies in a row. */
static int
is_extremum(const char *name)
{
    return strcmp(name, "maximum") == 0 || strcmp(name, "minimum") == 0 || strcmp(name, "fmax") == 0 ||
           strcmp(name, "fmin") == 0;
}

/* Make a step of a function: a ufunc, None for `where`, "cast", or "spread" for one element a row along that. */
static int
set_function(Step *step, PyObject *function, enum kind kind, PyArray_Descr *from, PyArray_Descr *to)
{
    step->kind = kind;
    step->cost = 1;
    if (kind == SPREAD) {
        step->many = 2;
        step->is_quiet = 1;
        return 1;
    }
    if (function == Py_None) {
        return set_select(step, PyDataType_ELSIZE(to));
    }
    if (PyUnicode_Check(function)) {
        return set_cast(step, from, to);
    }
    if (!set_loop(step, (PyUFuncObject *)function, from->type_num)) {
        return 0;
    }
    if (is_extremum(((PyUFuncObject *)function)->name)) {
        slow_on_one(step->loop);
    }
    if (kind != EACH) {
        step->kind = kind;
        step->many = 2; /* what is reduced, and what that becomes */
        return set_identity(step, function, to);
    }
    return 1;
}

/* Make an operand of an array, which is a column or a table of some rows if `length` is not 0; returns 0 for others. */
static int
set_operand(Operand *o, PyArrayObject *array, const npy_intp *dims, int ndim, npy_intp length)
{
    if (length != 0 && PyArray_NDIM(array) == 1) {
        if (!set_array(o, array, dims, 1)) {
            return 0;
        }
        o->is_narrow = 1;
        return 1;
    }
    return set_array(o, array, dims, ndim);
}

/* Make a job of what `run_blocks` is given, a table of rows of a length if that is not 0; returns 0, perhaps with an
 * error, if that cannot be.
 */
static int
fill_job(Job *job, PyObject *steps, PyObject *leaves, PyObject *kept, npy_intp rows, npy_intp length)
{
    Py_ssize_t n = PyTuple_GET_SIZE(steps), many = PyList_GET_SIZE(leaves);
    PyArray_Descr *types[MOST_OPERANDS];
    if (n > MOST_STEPS || n + many > MOST_OPERANDS) {
        return 0;
    }
    job->ndim = 2;
    job->dims[0] = rows;
    job->dims[1] = length;
    if (length == 0) {
        PyArrayObject *first = many == 0 ? NULL : (PyArrayObject *)PyList_GET_ITEM(leaves, 0);
        if (first == NULL || !PyArray_Check(first) || PyArray_NDIM(first) > MOST_DIMS) {
            return 0;
        }
        job->ndim = PyArray_NDIM(first);
        for (int axis = 0; axis < job->ndim; axis++) {
            job->dims[axis] = PyArray_DIM(first, axis);
        }
    }
    job->n_steps = (int)n;
    job->n_operands = (int)(n + many);
    for (Py_ssize_t k = 0; k < n + many; k++) {
        PyObject *array = k < n ? PyList_GET_ITEM(kept, k) : PyList_GET_ITEM(leaves, k - n);
        if (array == Py_None) {
            job->operands[k].data = NULL;
            continue;
        }
        if (!PyArray_CheckExact(array) ||
            !set_operand(&job->operands[k], (PyArrayObject *)array, job->dims, job->ndim, length)) {
            return 0;
        }
        types[k] = PyArray_DESCR((PyArrayObject *)array);
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *given = PyTuple_GET_ITEM(steps, k), *function, *ins;
        Step *step = &job->steps[k];
        int kind, is_narrow;
        if (!PyArg_ParseTuple(given, "OO!O!ip", &function, &PyTuple_Type, &ins, &PyArrayDescr_Type, &types[k], &kind,
                              &is_narrow) ||
            PyTuple_GET_SIZE(ins) >= MOST_ARGS) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ins); i++) {
            step->args[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(ins, i));
        }
        job->operands[k].itemsize = PyDataType_ELSIZE(types[k]);
        job->operands[k].is_narrow = is_narrow;
        if (!set_function(step, function, (enum kind)kind, types[step->args[0]], types[k])) {
            return 0;
        }
        step->args[step->many - 1] = (int)k;
    }
    return 1;
}

/* Put arrays with a row for each block into `kept` for what blocks are joined to, or become; returns 0, with an error, if
 * it fails.
 */
static int
make_joined(Job *job, PyObject *steps, PyObject *kept)
{
    for (int k = 0; k < job->n_steps; k++) {
        const Operand *from = &job->operands[job->steps[k].args[0]];
        npy_intp dims[2] = {job->units, from->is_narrow || job->steps[k].kind == FOLD ? 1 : job->length};
        PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(PyTuple_GET_ITEM(steps, k), 2);
        PyObject *array;
        if (job->steps[k].kind != JOIN && job->steps[k].kind != FOLD) {
            continue;
        }
        Py_INCREF(dtype);
        array = PyArray_NewFromDescr(&PyArray_Type, dtype, 2, dims, NULL, NULL, 0, NULL);
        if (array == NULL || PyList_SetItem(kept, k, array) < 0) {
            return 0;
        }
        job->operands[k].data = PyArray_BYTES((PyArrayObject *)array);
        job->operands[k].strides[0] = PyArray_STRIDE((PyArrayObject *)array, 0);
    }
    return 1;
}

/* Return NumPy's numbers for floating-point faults. */
static inline long
numpys_faults(int found)
{
    return (found & FE_DIVBYZERO ? 1 : 0) | (found & FE_OVERFLOW ? 2 : 0) | (found & FE_UNDERFLOW ? 4 : 0) |
           (found & FE_INVALID ? 8 : 0);
}

/* run_blocks(steps, leaves, kept, rows, length): see `jobs.py` */
static PyObject *
run_blocks(PyObject *module, PyObject *args)
{
    PyObject *steps, *leaves, *kept, *seen;
    Job job;
    npy_intp rows, length, size;
    int done;
    if (!PyArg_ParseTuple(args, "O!O!O!nn", &PyTuple_Type, &steps, &PyList_Type, &leaves, &PyList_Type, &kept, &rows,
                          &length)) {
        return NULL;
    }
    if (!fill_job(&job, steps, leaves, kept, rows, length) || (length != 0 && !cut_table(&job))) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    /* First of all: after what is written over its operands nothing may fail. */
    if ((seen = PyTuple_New(job.n_steps)) == NULL) {
        return NULL;
    }
    if (length != 0) {
        size = rows * length;
        done = make_joined(&job, steps, kept) && run_table(&job, threads_for(cost_of_job(&job), size)) == 0;
    }
    else if (is_fold(&job)) {
        if (!cut_fold(&job)) {
            Py_DECREF(seen);
            return Py_NewRef(Py_None);
        }
        size = job.dims[0];
        done = make_joined(&job, steps, kept) &&
               share_job(&job, work_on_fold, threads_for(cost_of_job(&job), size), 1) == 0;
    }
    else {
        size = PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(leaves, 0));
        done = run_job(&job, threads_for(cost_of_job(&job), size), 1) == 0;
    }
    if (!done || !job.faults) {
        Py_DECREF(seen);
        return done ? PyTuple_New(0) : PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int k = 0; k < job.n_steps; k++) { /* numbers so small that they are there */
        PyTuple_SET_ITEM(seen, k, PyLong_FromLong(numpys_faults(job.step_faults[k])));
    }
    return seen;
}

/* count_threads(functions, dtypes, size): how many threads that is worth waking for; see `Job` in `jobs.py` */
static PyObject *
count_threads(PyObject *module, PyObject *args)
{
    PyObject *functions, *dtypes;
    npy_intp size, cost = 0;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyList_Type, &functions, &PyList_Type, &dtypes, &size)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions) && i < PyList_GET_SIZE(dtypes); i++) {
        PyObject *function = PyList_GET_ITEM(functions, i);
        int is_ufunc = PyObject_TypeCheck(function, &PyUFunc_Type);
        cost += is_ufunc ? cost_of((PyUFuncObject *)function, ((PyArray_Descr *)PyList_GET_ITEM(dtypes, i))->type_num) : 1;
    }
    return PyLong_FromLong(threads_worth(cost * size, 0));
}
