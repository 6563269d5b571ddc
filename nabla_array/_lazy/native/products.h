/* Products that BLAS is not made for, or that take longer to ask it for. */

/* Return the product of two vectors with the function that NumPy's own calls for it; NULL, without an error, where
 * that is not so simple, or there is a fault to be told of.
 */
static PyObject *
dot(PyArrayObject *a, PyArrayObject *b)
{
    PyArray_Descr *dtype = PyArray_DESCR(a);
    PyObject *value;
    npy_intp n = PyArray_NDIM(a) == 1 ? PyArray_DIM(a, 0) : 0;
    if ((dtype->type_num != NPY_DOUBLE && dtype->type_num != NPY_FLOAT) || PyArray_DESCR(b) != dtype || n == 0 ||
        PyArray_NDIM(b) != 1 || PyArray_DIM(b, 0) != n || !PyArray_ISBEHAVED_RO(a) || !PyArray_ISBEHAVED_RO(b) ||
        PyArray_STRIDE(a, 0) <= 0 || PyArray_STRIDE(b, 0) <= 0) {
        return NULL;
    }
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    take_faults();
    PyDataType_GetArrFuncs(dtype)->dotfunc(PyArray_DATA(a), PyArray_STRIDE(a, 0), PyArray_DATA(b), PyArray_STRIDE(b, 0),
                                           PyArray_DATA((PyArrayObject *)value), n, NULL);
    if (are_wanted(take_faults())) {
        Py_CLEAR(value);
    }
    return value;
}

/* Each row of one table times each of another's that has the same number. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    char *x, *y, *out;
    npy_intp x_strides[2], y_strides[2], itemsize, rows, m, n;
    npy_intp next, grain;
    int faults;
} Outer;

/* Rows may be too short to be worth a call of NumPy's loop. */
#define TIMES(name, type)                                                                                            \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        type x = *(type *)args[0], *y = (type *)args[1], *out = (type *)args[2];                                     \
        for (npy_intp i = 0; i < *n; i++) {                                                                          \
            out[i] = x * y[i];                                                                                       \
        }                                                                                                            \
    }
TIMES(times_double, double)
TIMES(times_float, float)

static void
work_on_outer(void *given, char *memory)
{
    Outer *o = given;
    npy_intp row, strides[3] = {0, o->y_strides[1], o->itemsize};
    take_faults();
    while ((row = __atomic_fetch_add(&o->next, o->grain, __ATOMIC_RELAXED)) < o->rows) {
        npy_intp end = row + o->grain < o->rows ? row + o->grain : o->rows;
        for (; row < end; row++) {
            for (npy_intp i = 0; i < o->m; i++) {
                char *data[3] = {o->x + row * o->x_strides[0] + i * o->x_strides[1], o->y + row * o->y_strides[0],
                                 o->out + (row * o->m + i) * o->n * o->itemsize};
                o->loop(data, &o->n, strides, o->data);
            }
        }
        __atomic_fetch_or(&o->faults, take_faults(), __ATOMIC_RELAXED);
    }
}

/* outer(multiply, x, y): x[:, :, None] * y[:, None, :]; None where that is not for this, or has faults to be told of */
static PyObject *
outer(PyObject *module, PyObject *args)
{
    PyObject *ufunc, *out;
    PyArrayObject *x, *y;
    Step step;
    Outer o;
    npy_intp dims[3];
    PyArray_Descr *dtype;
    if (!PyArg_ParseTuple(args, "OO!O!", &ufunc, &PyArray_Type, &x, &PyArray_Type, &y)) {
        return NULL;
    }
    dtype = PyArray_DESCR(x);
    if (PyArray_NDIM(x) != 2 || PyArray_NDIM(y) != 2 || PyArray_DIM(x, 0) != PyArray_DIM(y, 0) ||
        PyArray_DESCR(y) != dtype || !PyArray_ISBEHAVED_RO(x) || !PyArray_ISBEHAVED_RO(y) ||
        !set_loop(&step, (PyUFuncObject *)ufunc, dtype->type_num)) {
        Py_RETURN_NONE;
    }
    o = (Outer){.loop = step.loop, .data = step.data, .x = PyArray_BYTES(x), .y = PyArray_BYTES(y),
                .itemsize = PyDataType_ELSIZE(dtype), .rows = PyArray_DIM(x, 0), .m = PyArray_DIM(x, 1),
                .n = PyArray_DIM(y, 1), .grain = 1};
    for (int axis = 0; axis < 2; axis++) {
        o.x_strides[axis] = PyArray_STRIDE(x, axis);
        o.y_strides[axis] = PyArray_STRIDE(y, axis);
    }
    if (dtype->type_num == NPY_DOUBLE && o.y_strides[1] == sizeof(double)) {
        o.loop = times_double;
    }
    else if (dtype->type_num == NPY_FLOAT && o.y_strides[1] == sizeof(float)) {
        o.loop = times_float;
    }
    dims[0] = o.rows;
    dims[1] = o.m;
    dims[2] = o.n;
    if (o.m * o.n < LEAST) {
        o.grain = 1 + LEAST / (1 + o.m * o.n);
    }
    Py_INCREF(dtype);
    if ((out = new_array(dtype, 3, dims)) == NULL) {
        return NULL;
    }
    o.out = PyArray_BYTES((PyArrayObject *)out);
    if (share(work_on_outer, &o, threads_for(4, o.rows * o.m * o.n) - 1, 1, 1) < 0 ||
        are_wanted(o.faults)) {
        Py_DECREF(out);
        Py_RETURN_NONE;
    }
    return out;
}
