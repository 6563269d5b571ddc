/* Elementwise regions of large programs, which `host.py` cuts, as jobs. */

/* NumPy's `where` has no loop of a ufunc's. Here it has no branch: which it would take is hard to foresee. */
#define SELECT(name, type)                                                                                           \
    static inline type name##_one(npy_bool c, type x, type y)                                                        \
    {                                                                                                                \
        return y ^ ((x ^ y) & (type)-(type)(c != 0));                                                                \
    }                                                                                                                \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        const npy_intp size = sizeof(type);                                                                          \
        char *c = args[0], *x = args[1], *y = args[2], *out = args[3];                                               \
        if (strides[0] == 1 && strides[1] == size && strides[2] == size && strides[3] == size) {                     \
            for (npy_intp i = 0; i < *n; i++) {                                                                      \
                ((type *)out)[i] = name##_one(((npy_bool *)c)[i], ((type *)x)[i], ((type *)y)[i]);                   \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (npy_intp i = 0; i < *n; i++) {                                                                          \
            *(type *)out = name##_one(*(npy_bool *)c, *(type *)x, *(type *)y);                                       \
            c += strides[0], x += strides[1], y += strides[2], out += strides[3];                                    \
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
    step->data = NULL;
    step->many = 4;
    step->is_quiet = 1;
    return 1;
}

/* Make a job of what `run_blocks` is given; returns 0, perhaps with an error, if that cannot be. */
static int
fill_job(Job *job, PyObject *steps, PyObject *leaves, PyObject *kept)
{
    Py_ssize_t n = PyTuple_GET_SIZE(steps), many = PyList_GET_SIZE(leaves);
    PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(kept, n - 1);
    int types[MOST_OPERANDS];
    if (n > MOST_STEPS || n + many > MOST_OPERANDS || !PyArray_Check(first) || PyArray_NDIM(first) > MOST_DIMS) {
        return 0;
    }
    job->ndim = PyArray_NDIM(first);
    memcpy(job->dims, PyArray_DIMS(first), sizeof(npy_intp) * (size_t)job->ndim);
    job->n_steps = (int)n;
    job->n_operands = (int)(n + many);
    for (Py_ssize_t k = 0; k < n + many; k++) {
        PyObject *array = k < n ? PyList_GET_ITEM(kept, k) : PyList_GET_ITEM(leaves, k - n);
        if (array == Py_None) {
            job->operands[k].data = NULL;
            continue;
        }
        if (!PyArray_CheckExact(array) ||
            !set_array(&job->operands[k], (PyArrayObject *)array, PyArray_DIMS(first), job->ndim)) {
            return 0;
        }
        types[k] = PyArray_DESCR((PyArrayObject *)array)->type_num;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *given = PyTuple_GET_ITEM(steps, k), *ufunc, *ins;
        PyArray_Descr *dtype;
        Step *step = &job->steps[k];
        if (!PyArg_ParseTuple(given, "OO!O!", &ufunc, &PyTuple_Type, &ins, &PyArrayDescr_Type, &dtype)) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ins) && i < 3; i++) {
            step->args[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(ins, i));
        }
        types[k] = dtype->type_num;
        job->operands[k].itemsize = PyDataType_ELSIZE(dtype);
        if (!(ufunc == Py_None ? set_select(step, PyDataType_ELSIZE(dtype))
                               : set_loop(step, (PyUFuncObject *)ufunc, types[step->args[0]]))) {
            return 0;
        }
        step->args[step->many - 1] = (int)k;
    }
    return 1;
}

/* run_blocks(steps, leaves, kept): see `host.py` */
static PyObject *
run_blocks(PyObject *module, PyObject *args)
{
    PyObject *steps, *leaves, *kept, *out;
    Job job;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &steps, &PyList_Type, &leaves, &PyList_Type, &kept)) {
        return NULL;
    }
    if (!fill_job(&job, steps, leaves, kept)) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(kept, PyTuple_GET_SIZE(steps) - 1));
    if (run_job(&job, threads_for(job.n_steps, size), 1) < 0) {
        return PyErr_NoMemory();
    }
    out = PyTuple_New(job.faults ? job.n_steps : 0);
    for (int k = 0; out != NULL && job.faults && k < job.n_steps; k++) {
        int found = job.step_faults[k]; /* in the order of NumPy's numbers for them */
        long number = (found & FE_DIVBYZERO ? 1 : 0) | (found & FE_OVERFLOW ? 2 : 0) | (found & FE_UNDERFLOW ? 4 : 0) |
                      (found & FE_INVALID ? 8 : 0);
        PyTuple_SET_ITEM(out, k, PyLong_FromLong(number));
    }
    return out;
}

/* count_threads(steps, size): see `threads_for` */
static PyObject *
count_threads(PyObject *module, PyObject *args)
{
    Py_ssize_t steps, size;
    return PyArg_ParseTuple(args, "nn", &steps, &size) ? PyLong_FromLong(threads_for(steps, size)) : NULL;
}
