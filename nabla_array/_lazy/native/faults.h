/* Telling of the faults that a call computed. */

/* Return the fault, as <fenv.h> names it, that NumPy wrote of at a function of this name; 0 for what is another's. */
static int
fault_in(PyObject *message, const char *name)
{
    static const struct {
        const char *words;
        int fault;
    } kinds[] = {
        {"Warning: divide by zero encountered in ", FE_DIVBYZERO},
        {"Warning: overflow encountered in ", FE_OVERFLOW},
        {"Warning: underflow encountered in ", FE_UNDERFLOW},
        {"Warning: invalid value encountered in ", FE_INVALID},
    };
    const char *text = PyUnicode_Check(message) ? PyUnicode_AsUTF8(message) : NULL;
    for (size_t i = 0; text != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].words), of_name = strlen(name);
        if (strncmp(text, kinds[i].words, length) == 0) {
            text += length;
            return strncmp(text, name, of_name) == 0 && strcmp(text + of_name, "\n") == 0 ? kinds[i].fault : 0;
        }
    }
    PyErr_Clear();
    return 0;
}

/* Return the faults of a ufunc that NumPy noted, having forgotten them; 0 where there are others, which stay noted. */
static int
take_heard(const char *name)
{
    PyObject *heard = PyObject_GetAttr(listener, s_heard), *one;
    int all = 0, found = 1;
    for (Py_ssize_t i = 0; found && heard != NULL && i < PyList_GET_SIZE(heard); i++) {
        one = PyList_GET_ITEM(heard, i); /* a message, and the node that Python computed */
        all |= found = PyTuple_GET_ITEM(one, 1) == Py_None ? fault_in(PyTuple_GET_ITEM(one, 0), name) : 0;
    }
    if (heard == NULL || (found && PyList_SetSlice(heard, 0, PY_SSIZE_T_MAX, NULL) < 0)) {
        PyErr_Clear();
    }
    Py_XDECREF(heard);
    return found ? all : 0;
}

/* Tell of the faults that NumPy noted at what an operator computed from some nodes (stolen), or note them to be told at the
 * end of the call; returns -1 if that raised.
 */
static int
told(Fast *f, PyObject *nodes, PyObject *value)
{
    PyArrayObject *array = (PyArrayObject *)value;
    PyObject *aval = find_aval(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_DESCR(array)), *done = NULL;
    int is_plain = f->is_ufunc && f->prim != Py_None && own_state.context == NULL;
    int seen = is_plain && aval != NULL ? take_heard(((PyUFuncObject *)f->host)->name) : 0;
    if (seen && are_for_somebody(seen)) {
        note_faults_of(f->prim, NULL, aval, seen);
    }
    else if (!seen && nodes != NULL && aval != NULL) {
        done = PyObject_CallFunctionObjArgs(tell, f->prim, nodes, aval, NULL);
    }
    Py_XDECREF(nodes);
    Py_XDECREF(aval);
    Py_XDECREF(done);
    return done == NULL && !seen ? -1 : 0;
}

static PyObject *package; /* text: how the names of this package's files begin */

/* Say whether the line that runs is outside this package, so that a warning from here is one of that line's. */
static int
is_at_users_line(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame == NULL ? NULL : PyFrame_GetCode(frame);
    int is = code != NULL && PyUnicode_Tailmatch(code->co_filename, package, 0, PY_SSIZE_T_MAX, -1) == 0;
    Py_XDECREF(code);
    return is;
}

/* Return NumPy's function that one of what was noted is, of arrays with axes; NULL, without an error, for others. */
static PyObject *
noted_ufunc(PyObject *one)
{
    PyObject *prim = PyTuple_GET_ITEM(one, 0), *aval = PyTuple_GET_ITEM(one, 2), *ufunc = NULL;
    if (PyTuple_GET_ITEM(one, 1) == no_params && PyTuple_GET_SIZE(SLOT(aval, a_shape)) != 0 &&
        is_of_kind(prim, "elementwise")) {
        ufunc = PyObject_GetAttr(prim, s_ufunc);
    }
    if (ufunc != NULL && !PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        Py_CLEAR(ufunc);
    }
    PyErr_Clear();
    return ufunc;
}

/* Tell of what this thread noted, at the end of a call; returns -1 if that raised.
 *
 * NumPy's error state is ours unless there is a block (`own_state`). So NumPy may do it, where its words are ours.
 */
static int
tell_noted(void)
{
    PyObject *mine, *rest, *done, *ufunc;
    Py_ssize_t k = 0;
    int failed = 0;
    if (__builtin_expect(are_noted == 0, 1) || (mine = noted) == NULL) {
        return 0;
    }
    noted = NULL;
    are_noted--;
    if (PyErr_Occurred()) { /* which comes first */
        Py_DECREF(mine);
        return 0;
    }
    if (own_state.context == NULL && is_at_users_line()) {
        for (; !failed && k < PyList_GET_SIZE(mine) && (ufunc = noted_ufunc(PyList_GET_ITEM(mine, k))) != NULL; k++) {
            int seen = (int)PyLong_AsLong(PyTuple_GET_ITEM(PyList_GET_ITEM(mine, k), 3));
            failed = PyUFunc_GiveFloatingpointErrors(((PyUFuncObject *)ufunc)->name, seen) < 0;
            Py_DECREF(ufunc);
        }
    }
    if (!failed && k < PyList_GET_SIZE(mine)) {
        rest = PyList_GetSlice(mine, k, PY_SSIZE_T_MAX);
        done = rest == NULL ? NULL : PyObject_CallOneArg(tell_of_nodes, rest);
        failed = done == NULL;
        Py_XDECREF(rest);
        Py_XDECREF(done);
    }
    Py_DECREF(mine);
    return failed ? -1 : 0;
}
