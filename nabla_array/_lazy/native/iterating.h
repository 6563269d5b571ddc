/* Iteration over the elements of an array with one axis. As NumPy's, it asks for x[0], x[1], ... when each is wanted, so it
 * sees what is written meanwhile.
 */

typedef struct {
    PyObject_HEAD
    PyObject *array; /* NULL at the end */
    Py_ssize_t next;
} Elements;

static void
elements_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Elements *)self)->array);
    PyObject_GC_Del(self);
}

static int
elements_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Elements *)self)->array);
    return 0;
}

/* Return an element that is at hand; NULL, without an error, for one that must be asked for, or for none. */
static PyObject *
element_at(PyObject *x, Py_ssize_t i)
{
    PyObject *found = NULL;
    PyArrayObject *value;
    if (try_lock()) {
        if (!is_watched() && (value = fresh(x)) != NULL && PyArray_NDIM(value) == 1 && i < PyArray_DIM(value, 0)) {
            const char *data = PyArray_BYTES(value) + i * PyArray_STRIDE(value, 0);
            found = known_number(PyArray_DESCR(value), data, SLOT(SLOT(NODE(x), n_aval), a_element));
        }
        unlock();
    }
    return found;
}

static PyObject *
elements_next(PyObject *self)
{
    Elements *it = (Elements *)self;
    PyObject *x = it->array, *found;
    Py_ssize_t i = it->next;
    if (x == NULL) {
        return NULL;
    }
    Py_INCREF(x); /* what computes an element may end the iteration elsewhere */
    found = element_at(x, i);
    if (tell_noted() < 0) {
        Py_CLEAR(found);
    }
    if (found == NULL && !PyErr_Occurred()) {
        found = PySequence_GetItem(x, i);
    }
    if (found != NULL) {
        it->next = i + 1;
    }
    else if (PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_StopIteration)) {
        PyErr_Clear();
        Py_CLEAR(it->array);
    }
    Py_DECREF(x);
    return found;
}

/* How many are left, for a list to make room; which tells nobody of an error. */
static PyObject *
elements_hint(PyObject *self, PyObject *unused)
{
    Elements *it = (Elements *)self;
    Py_ssize_t n = it->array == NULL ? 0 : PyObject_Size(it->array);
    PyErr_Clear();
    return PyLong_FromSsize_t(n > it->next ? n - it->next : 0);
}

static PyObject *
elements_reduce(PyObject *self, PyObject *unused)
{
    Elements *it = (Elements *)self;
    PyObject *builtins = PyEval_GetBuiltins(), *iter = builtins == NULL ? NULL : PyDict_GetItemString(builtins, "iter");
    if (iter == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "iter: there is no such function to pickle an iterator by");
    }
    return it->array != NULL ? Py_BuildValue("O(O)n", iter, it->array, it->next) : Py_BuildValue("O(())", iter);
}

static PyObject *
elements_setstate(PyObject *self, PyObject *state)
{
    Py_ssize_t i = PyLong_AsSsize_t(state);
    if (i == -1 && PyErr_Occurred()) {
        return NULL;
    }
    ((Elements *)self)->next = i < 0 ? 0 : i;
    Py_RETURN_NONE;
}

static PyMethodDef elements_methods[] = {
    {"__length_hint__", elements_hint, METH_NOARGS, NULL},
    {"__reduce__", elements_reduce, METH_NOARGS, NULL},
    {"__setstate__", elements_setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ElementsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.iterator",
    .tp_basicsize = sizeof(Elements),
    .tp_dealloc = elements_dealloc,
    .tp_traverse = elements_traverse,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = elements_next,
    .tp_methods = elements_methods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* iter(x) */
static PyObject *
call_iter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Elements *it;
    PyObject *shape;
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL || !IS_ARRAY(args[0]) ||
        PyTuple_GET_SIZE(SLOT(args[0], x_levels)) != 0) {
        return NULL;
    }
    shape = SLOT(SLOT(NODE(args[0]), n_aval), a_shape);
    if (PyTuple_GET_SIZE(shape) != 1) {
        return PyTuple_GET_SIZE(shape) == 0 ? NULL : PySeqIter_New(args[0]);
    }
    if ((it = PyObject_GC_New(Elements, &ElementsType)) != NULL) {
        it->array = Py_NewRef(args[0]);
        it->next = 0;
        PyObject_GC_Track((PyObject *)it);
    }
    return (PyObject *)it;
}
