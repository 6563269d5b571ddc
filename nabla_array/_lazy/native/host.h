/* Calls of NumPy, whose faults are heard. */

/* What a function does to one element of a dtype, or to few. */
typedef struct {
    int type;                   /* the dtype's number, -1 at first */
    Step step;                  /* with no operands, where there is no such loop */
    PyUFuncGenericFunction one; /* the loop for one */
} Few;

enum { DOUBLES, LONGS, OTHERS, FEW_TYPES }; /* programs count and compute in turns */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    vectorcallfunc way; /* what answers, with the lock; NULL, without an error, where `slow` must */
    PyObject *slow;  /* the function behind it, which answers where this does not */
    PyObject *prim;
    PyObject *host;  /* NumPy's function */
    enum op op;
    int reflected, is_ufunc, nin;
    int is_strict;    /* whether the primitive is NumPy's ufunc, element by element */
    Py_ssize_t out;   /* the place of the argument that `whole` would write to */
    const struct reduction *reduction; /* what it does to an array at hand; NULL for what is none */
    int is_where;     /* whether it is NumPy's `where`, which takes integers that a dtype has not */
    int copies;       /* whether it is `array` or `copy`, which copy an array that they are given */
    char kind;        /* what `scalar` makes: 'b'ool, 'f'loat, 'i'nt, inde'x', 'F'ormat, ...; of functions, the way: 'w'hole, ... */
    char fills;       /* of functions that make arrays full of a number: 'z'eros, 'e'mpty, 'o'nes, 'f'ull */
    npy_uint64 types; /* a bit for each dtype, by its number in NumPy, on which the host's function is the package's */
    PyUFuncObject *plain; /* NumPy's, of which this is another where floats are infinite; the primitive holds it */
    Few few[FEW_TYPES]; /* for float64, for int64, and for the last other dtype that it was asked for */
} Fast;

static PyTypeObject FastType;

static PyObject *s_usual, *s_warnings, *s_filters, *s_divide, *s_over, *s_under, *s_invalid;

/* How often any thread heard of faults, and how often when this one last had none that was left to tell: what it has
 * heard takes long to look up.
 */
static unsigned long times_heard = 1;
static _Thread_local unsigned long times_settled;

/* hear(): a thread hears of faults */
static PyObject *
hear(PyObject *module, PyObject *unused)
{
    times_heard++;
    Py_RETURN_NONE;
}

/* Return how many faults NumPy noted that nobody was told of, -1 for an error. */
static Py_ssize_t
count_heard(void)
{
    PyObject *heard;
    Py_ssize_t n;
    if (times_settled == times_heard) {
        return 0;
    }
    heard = PyObject_GetAttr(listener, s_heard);
    n = heard == NULL ? -1 : PyList_GET_SIZE(heard);
    Py_XDECREF(heard);
    if (n == 0) {
        times_settled = times_heard;
    }
    return n;
}

/* What a thread computed at once that had faults for somebody to hear of, a list of (primitive, params, aval, faults), until
 * the call that computed it ends: telling of them may run anything. `are_noted` counts the threads that have some.
 */
static _Thread_local PyObject *noted;
static unsigned are_noted;

/* Python's module `warnings`; NULL where each context has filters of its own. */
static PyObject *warnings_module;

/* Say whether usual warnings would be seen, as `sees_warnings` in Python does; this runs nothing of Python's, since whoever
 * asks is in the midst of a computation.
 */
static int
are_warnings_seen(void)
{
    PyObject *filters, *first = NULL;
    int is_seen = 1;
    if (setting(s_warnings) != Py_True) {
        return 0;
    }
    filters = warnings_module == NULL ? NULL : PyObject_GetAttr(warnings_module, s_filters);
    if (filters != NULL && PyList_CheckExact(filters) && PyList_GET_SIZE(filters) > 0) {
        first = PyList_GET_ITEM(filters, 0);
    }
    if (first != NULL && PyTuple_CheckExact(first) && PyTuple_GET_SIZE(first) == 5) {
        PyObject *action = PyTuple_GET_ITEM(first, 0), *category = PyTuple_GET_ITEM(first, 2);
        is_seen = !(PyUnicode_CheckExact(action) && PyUnicode_CompareWithASCIIString(action, "ignore") == 0 &&
                    PyTuple_GET_ITEM(first, 1) == Py_None && PyTuple_GET_ITEM(first, 3) == Py_None &&
                    PyLong_CheckExact(PyTuple_GET_ITEM(first, 4)) && !PyObject_IsTrue(PyTuple_GET_ITEM(first, 4)) &&
                    PyType_Check(category) &&
                    PyType_IsSubtype((PyTypeObject *)PyExc_RuntimeWarning, (PyTypeObject *)category));
    }
    PyErr_Clear(); /* a module without filters */
    Py_XDECREF(filters);
    return is_seen;
}

/* filter_by(module): its `filters` are Python's; sees_warnings(): whether usual warnings would be seen */
static PyObject *
filter_by(PyObject *module, PyObject *given)
{
    Py_XSETREF(warnings_module, Py_NewRef(given));
    Py_RETURN_NONE;
}

static PyObject *
sees_warnings(PyObject *module, PyObject *unused)
{
    return PyBool_FromLong(are_warnings_seen());
}

/* Say whether floating-point faults that were seen are for somebody to hear of. */
static int
are_for_somebody(int seen)
{
    static const struct {
        int bit;
        PyObject **name;
    } kinds[] = {
        {FE_DIVBYZERO, &s_divide}, {FE_OVERFLOW, &s_over}, {FE_UNDERFLOW, &s_under}, {FE_INVALID, &s_invalid}};
    PyObject *states = PyObject_GetAttr(listener, s_usual), *state;
    int found = 0;
    if (states == NULL) {
        PyErr_Clear(); /* Python computes again, and raises it */
        return 1;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !found; i++) {
        if (!(seen & kinds[i].bit)) {
            continue;
        }
        state = PyDict_GetItemWithError(states, *kinds[i].name);
        found = state == NULL || PyUnicode_CompareWithASCIIString(state, "usual") == 0
                    ? are_warnings_seen()
                    : PyUnicode_CompareWithASCIIString(state, "ignore") != 0;
    }
    Py_DECREF(states);
    return found;
}

/* The error state of this thread, while it has one of its own: in which context NumPy's functions are called, and of which
 * faults, as <fenv.h> names them, it wants to be told, always or where the settings say so.
 */
static _Thread_local struct {
    PyObject *context;
    int always, usual;
} own_state;

/* Say whether faults that are seen at the line that runs now are for somebody to hear of. */
static inline int
are_wanted(int seen)
{
    if (own_state.context == NULL) {
        return are_for_somebody(seen);
    }
    return (seen & own_state.always) || ((seen & own_state.usual) && are_warnings_seen());
}

/* Return what <fenv.h> calls faults that have these numbers in NumPy. */
static inline int
faults_of(int numpys)
{
    return (numpys & 1 ? FE_DIVBYZERO : 0) | (numpys & 2 ? FE_OVERFLOW : 0) | (numpys & 4 ? FE_UNDERFLOW : 0) |
           (numpys & 8 ? FE_INVALID : 0);
}

/* Say whether this thread wants to be told of underflow, the one fault whose result is finite. */
static inline int
hears_underflow(void)
{
    return own_state.context != NULL && ((own_state.always | own_state.usual) & FE_UNDERFLOW);
}

/* under(context, always, usual): give this thread an error state; None for the context: it has none of its own */
static PyObject *
under(PyObject *module, PyObject *args)
{
    PyObject *context;
    int always, usual;
    if (!PyArg_ParseTuple(args, "Oii", &context, &always, &usual)) {
        return NULL;
    }
    own_state.always = faults_of(always);
    own_state.usual = faults_of(usual);
    Py_XSETREF(own_state.context, context == Py_None ? NULL : Py_NewRef(context));
    Py_RETURN_NONE;
}

/* Call NumPy's function where its faults are heard; NULL where Python should do it, and say what is wrong.
 *
 * An error is set only for what is none of Python's `Exception`, as of Ctrl-C, and where memory is short: it may have
 * been written to. Scalars become arrays. Others may have the lock meanwhile, unless NumPy writes to an array of ours:
 * what it reads is held here, so that nobody writes to it in place.
 */
static PyObject *
call_any(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names, int is_writing)
{
    long depth = 0;
    PyObject *context = own_state.context, *value;
    Py_ssize_t all = n + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (context == NULL) {
        context = PyDict_GetItemWithError(faults, s_entered);
    }
    if (context == NULL || PyContext_Enter(context) < 0) {
        PyErr_Clear(); /* somebody is in there */
        return NULL;
    }
    Py_INCREF(context);
    for (Py_ssize_t i = 0; i < all; i++) { /* other threads may let go of them while NumPy works */
        Py_INCREF(args[i]);
    }
    if (!is_writing) {
        depth = drop_lock();
    }
    value = PyObject_Vectorcall(host, args, (size_t)n, names);
    if (retake_lock(depth) < 0) {
        Py_CLEAR(value);
    }
    for (Py_ssize_t i = 0; i < all; i++) {
        Py_DECREF(args[i]);
    }
    if (value == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) &&
        !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
    }
    if (PyContext_Exit(context) < 0) {
        Py_CLEAR(value);
    }
    Py_DECREF(context);
    return value;
}

/* Do what `call_any` does for a function of integers of Python's, which has no faults. */
static PyObject *
call_quietly(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *value = PyObject_Vectorcall(host, args, (size_t)n, names);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
    }
    return value;
}

/* Return an array of NumPy's for one of its scalars, or a number; anything else as it is. It is stolen, or NULL. */
static PyObject *
unboxed(PyObject *value)
{
    if (value != NULL && !PyArray_CheckExact(value) && PyArray_CheckScalar(value)) {
        Py_SETREF(value, PyArray_IsScalar(value, Generic) ? PyArray_FromScalar(value, NULL) : PyArray_FROM_O(value));
    }
    return value;
}

/* Do what `call_any` does for a function that gives one array. */
static PyObject *
call_host(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names, int is_writing)
{
    PyObject *value = unboxed(call_any(host, args, n, names, is_writing));
    if (value != NULL && !PyArray_CheckExact(value)) {
        Py_CLEAR(value);
    }
    return value;
}

/* Say whether NumPy's function gives for this dtype what the package's does. */
static inline int
is_usual(Fast *f, PyArrayObject *a)
{
    int type = PyArray_DESCR(a)->type_num;
    return type < 64 && (f->types >> type & 1);
}

/* Say whether the package's arrays have this dtype. */
static inline int
is_held(PyArrayObject *a)
{
    int type = PyArray_DESCR(a)->type_num;
    return PyTypeNum_ISNUMBER(type) && type != NPY_LONGDOUBLE && type != NPY_CLONGDOUBLE && type != NPY_HALF ? 1
           : type == NPY_BOOL;
}

/* Say whether an array of NumPy's is of a dtype that the package's arrays have, in the machine's byte order. */
static inline int
is_native(PyArrayObject *array)
{
    return is_held(array) && PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
}

/* Return a copy of an array, in a dtype that its elements can be cast to; it lies as NumPy's copy does. */
static PyObject *
copy_as(PyArrayObject *array, PyArray_Descr *dtype)
{
    PyObject *copy;
    Py_INCREF(dtype);
    copy = PyArray_IS_C_CONTIGUOUS(array) ? new_array(dtype, PyArray_NDIM(array), PyArray_DIMS(array))
                                          : PyArray_NewLikeArray(array, NPY_KEEPORDER, dtype, 0);
    if (copy != NULL && PyArray_CopyInto((PyArrayObject *)copy, array) < 0) {
        Py_CLEAR(copy);
    }
    return copy;
}

/* Return one of ours for an array of NumPy's own: a copy, since whoever has that may write to it. NULL, without an error,
 * for another.
 */
static PyObject *
copy_of_numpys(PyArrayObject *array)
{
    PyObject *copy = is_native(array) ? copy_as(array, PyArray_DESCR(array)) : NULL;
    copy = copy == NULL ? NULL : known_array(copy, NULL);
    PyErr_Clear(); /* of memory, told elsewhere */
    return copy;
}

/* Return whether NumPy noted faults, having forgotten them: the package, which knows the operation, tells of them. */
static int
forget_heard(void)
{
    PyObject *heard;
    if (count_heard() == 0) {
        return 0;
    }
    heard = PyObject_GetAttr(listener, s_heard);
    if (heard == NULL || PyList_SetSlice(heard, 0, PY_SSIZE_T_MAX, NULL) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(heard);
    return 1;
}
