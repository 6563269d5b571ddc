/* Functions of NumPy's that take whole arrays. */

enum { MOST = 16 };

/* Put into `*out` (a new reference) what NumPy's function is given for an argument; returns 0 for one not so simple.
 *
 * `*bytes` counts those of the arrays; `*part` becomes a node of theirs that is a part of something.
 */
static int
argument(Fast *f, PyObject *arg, PyObject **out, npy_intp *bytes, PyObject **part, int nested)
{
    if (IS_ARRAY(arg)) {
        PyArrayObject *value = fresh(arg);
        if (value == NULL || PyArray_SIZE(value) == 0 || !is_usual(f, value) ||
            (*bytes += PyArray_NBYTES(value)) >= part_bytes) {
            return 0;
        }
        if (Py_TYPE(NODE(arg)) == Part) {
            *part = NODE(arg);
        }
        *out = Py_NewRef((PyObject *)value);
        return 1;
    }
    if (f->is_where && PyLong_Check(arg)) {
        int overflow;
        long number = PyLong_AsLongAndOverflow(arg, &overflow);
        if (overflow || number < 0 || number > NPY_MAX_INT8) {
            return 0;
        }
    }
    if (arg == Py_None || PyBool_Check(arg) || PyLong_CheckExact(arg) || PyFloat_CheckExact(arg) ||
        PyUnicode_CheckExact(arg)) {
        *out = Py_NewRef(arg);
        return 1;
    }
    if (!nested && (PyTuple_CheckExact(arg) || PyList_CheckExact(arg))) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(arg);
        PyObject *list = PyTuple_New(n);
        for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
            PyObject *item;
            if (!argument(f, PySequence_Fast_GET_ITEM(arg, i), &item, bytes, part, 1)) {
                Py_CLEAR(list);
                break;
            }
            PyTuple_SET_ITEM(list, i, item);
        }
        *out = list;
        PyErr_Clear();
        return list != NULL;
    }
    return 0;
}

static inline int
is_out(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0;
}

/* Say whether an array is no argument, and no view of one. */
static int
is_alone(PyArrayObject *value)
{
    PyObject *base = PyArray_BASE(value);
    if (Py_REFCNT(value) == 1 && base != NULL && PyArray_CheckExact(base)) {
        value = (PyArrayObject *)base;
    }
    return Py_REFCNT(value) == 1 && PyArray_CHKFLAGS(value, NPY_ARRAY_OWNDATA);
}

/* A function of arrays, one of them at least a part, whose result NumPy gives as the package does. */
static PyObject *
call_whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names), ready = 0;
    PyObject *given[MOST], *part = NULL, *value = NULL;
    npy_intp bytes = 0;
    if (n == 0 || n + keywords > MOST || is_watched()) {
        goto slow;
    }
    /* Nothing is written to: `out` is for the package. */
    while (ready < n + keywords && !(ready < n ? ready == f->out : is_out(PyTuple_GET_ITEM(names, ready - n))) &&
           argument(f, args[ready], &given[ready], &bytes, &part, 0)) {
        ready++;
    }
    if (ready == n + keywords && part != NULL) {
        value = call_host(f->host, given, n, names);
    }
    while (ready > 0) {
        Py_DECREF(given[--ready]);
    }
    if (value == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        goto slow;
    }
    if (forget_heard()) {
        Py_DECREF(value);
        goto slow;
    }
    if (!is_alone((PyArrayObject *)value) || !is_usual(f, (PyArrayObject *)value)) {
        Py_DECREF(value);
        goto slow;
    }
    return known_array(value, NULL);
slow:
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* numpy.add(x, y) and the like, for which NumPy asks `x.__array_ufunc__(numpy.add, "__call__", x, y)` */
static PyObject *
call_array_ufunc(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if ((n == 4 || n == 5) && names == NULL && PyUnicode_Check(args[2]) &&
        PyUnicode_CompareWithASCIIString(args[2], "__call__") == 0) {
        PyObject *own = PyDict_GetItemWithError(f->host, args[1]);
        if (own != NULL && Py_TYPE(own) == &FastType && ((Fast *)own)->nin == n - 3) {
            int failed = 0;
            PyObject *found = compute((Fast *)own, args[3], n == 5 ? args[4] : NULL, NULL, &failed);
            if (found != NULL || failed) {
                return found;
            }
        }
        PyErr_Clear();
    }
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}
