/* Functions of NumPy's that take whole arrays. */

enum { LONGEST = 64 };

static inline int
is_named(PyObject *name, const char *wanted)
{
    return name != NULL && PyUnicode_CompareWithASCIIString(name, wanted) == 0;
}

/* Say whether this names a dtype in a way that NumPy shares. */
static inline int
is_dtype(PyObject *o)
{
    return PyArray_DescrCheck(o) ||
           (PyType_Check(o) && (o == (PyObject *)&PyFloat_Type || o == (PyObject *)&PyLong_Type ||
                                o == (PyObject *)&PyBool_Type || o == (PyObject *)&PyComplex_Type ||
                                o == (PyObject *)&PyBoolArrType_Type ||
                                PyType_IsSubtype((PyTypeObject *)o, &PyNumberArrType_Type)));
}

/* Say whether this is a number, a text, a dtype or None, which NumPy's functions take as it is. */
static inline int
is_option(PyObject *o)
{
    return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
           PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool) || is_dtype(o);
}

/* Put into `*out` (a new reference) what NumPy's function is given for an argument; returns 0 for one not so simple.
 *
 * `*bytes` counts those of the arrays; `*is_near` becomes 1 if their elements are at hand.
 */
static int
argument(Fast *f, PyObject *arg, PyObject **out, npy_intp *bytes, int *is_near, int nested)
{
    if (IS_ARRAY(arg)) {
        PyArrayObject *value = fresh(arg);
        if (value == NULL || !is_usual(f, value) ||
            (*bytes += PyArray_NBYTES(value)) >= part_bytes) {
            return 0;
        }
        if (is_at_hand(NODE(arg)) || tiny() > 0) {
            *is_near = 1;
        }
        *out = Py_NewRef((PyObject *)value);
        return 1;
    }
    if (PyArray_CheckExact(arg)) { /* of NumPy's own */
        PyArrayObject *value = (PyArrayObject *)arg;
        if (tiny() == 0 || !is_held(value) || !is_usual(f, value) || !PyArray_ISBEHAVED_RO(value) ||
            (*bytes += PyArray_NBYTES(value)) >= part_bytes) {
            return 0;
        }
        *is_near = 1;
        *out = Py_NewRef(arg);
        return 1;
    }
    if (is_option(arg)) {
        *out = Py_NewRef(arg);
        return 1;
    }
    if (nested < 2 && tiny() > 0 && is_list_of_floats(arg) && (*out = (PyObject *)array_of_list(arg, NPY_NOTYPE)) != NULL) {
        *is_near = (*bytes += PyArray_NBYTES((PyArrayObject *)*out)) < part_bytes;
        if (!*is_near) {
            Py_CLEAR(*out);
        }
        return *is_near;
    }
    if (nested < 2 && is_nested(arg)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(arg);
        int is_list = PyList_CheckExact(arg); /* which NumPy does not take for axes */
        PyObject *list = is_list ? PyList_New(n) : PyTuple_New(n);
        for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
            PyObject *given = i < PySequence_Fast_GET_SIZE(arg) ? Py_NewRef(PySequence_Fast_GET_ITEM(arg, i)) : NULL, *item;
            int is_ready = given != NULL && argument(f, given, &item, bytes, is_near, nested + 1);
            Py_XDECREF(given); /* what computes an item may change the list */
            if (!is_ready) {
                Py_CLEAR(list);
                break;
            }
            if (is_list) {
                PyList_SET_ITEM(list, i, item);
            } else {
                PyTuple_SET_ITEM(list, i, item);
            }
        }
        *out = list;
        PyErr_Clear();
        return list != NULL;
    }
    return 0;
}

/* Say whether a keyword lets a function write to its arguments, which are not only the caller's here. */
static inline int
lets_write(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "overwrite_input") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "copy") == 0;
}

/* Say whether a result is one of the package's: no argument, no view of one, and of a dtype that it holds. */
static int
is_own(Fast *f, PyArrayObject *value)
{
    if (!is_usual(f, value) || !PyArray_ISNBO(PyArray_DESCR(value)->byteorder)) {
        return 0;
    }
    PyObject *base = PyArray_BASE(value);
    if (Py_REFCNT(value) == 1 && base != NULL && PyArray_CheckExact(base)) {
        value = (PyArrayObject *)base;
    }
    return Py_REFCNT(value) == 1 && PyArray_CHKFLAGS(value, NPY_ARRAY_OWNDATA);
}

/* Say whether what a shape, or numbers to count through, would make is small: the product of integers bounds it. */
static int
is_little(PyObject *const *args, Py_ssize_t n, npy_intp *product)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_nested(args[i])) {
            if (!is_little(PySequence_Fast_ITEMS(args[i]), PySequence_Fast_GET_SIZE(args[i]), product)) {
                return 0;
            }
        }
        else if (PyLong_CheckExact(args[i])) {
            int overflow;
            long number = PyLong_AsLongAndOverflow(args[i], &overflow);
            if (overflow || number < 0 || number >= tiny()) {
                return 0;
            }
            *product *= number > 1 ? number : 1;
        }
        else {
            return 0;
        }
        if (*product * (npy_intp)sizeof(npy_cdouble) >= tiny()) {
            return 0;
        }
    }
    return 1;
}

/* Return what counts, or says how long an axis is, with a number of Python's for an array without axes, or several such (a
 * new reference); NULL, perhaps with an error, for an array that is not so simple.
 */
static PyObject *
counts_in(PyObject *o)
{
    PyObject *out;
    if (IS_ARRAY(o)) {
        PyArrayObject *value = fresh(o);
        int type = value != NULL && PyArray_NDIM(value) == 0 ? PyArray_DESCR(value)->type_num : NPY_VOID;
        return type == NPY_LONG || type == NPY_DOUBLE ? PyArray_GETITEM(value, PyArray_BYTES(value)) : NULL;
    }
    if (Py_TYPE(o) == &PyLongArrType_Type) {
        return PyNumber_Index(o);
    }
    if (!PyTuple_CheckExact(o)) {
        return is_option(o) || PyList_CheckExact(o) ? Py_NewRef(o) : NULL;
    }
    out = PyTuple_New(PyTuple_GET_SIZE(o));
    for (Py_ssize_t i = 0; out != NULL && i < PyTuple_GET_SIZE(o); i++) {
        PyObject *item = PyTuple_GET_ITEM(o, i), *made = PyTuple_CheckExact(item) ? NULL : counts_in(item);
        if (made == NULL) {
            Py_CLEAR(out);
            break;
        }
        PyTuple_SET_ITEM(out, i, made);
    }
    return out;
}

/* Say whether this is a list of few numbers, or of few such lists. */
static int
is_short_list(PyObject *list)
{
    Py_ssize_t n = is_nested(list) ? PySequence_Fast_GET_SIZE(list) : 0;
    int is_short = n > 0 && n <= LONGEST;
    for (Py_ssize_t i = 0; is_short && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        is_short = is_nested(item) ? is_short_list(item)
                                   : PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyArray_CheckExact(item);
    }
    return is_short;
}

/* Say whether a range from one number to another, which may be floats, by steps of a third, has few elements. */
static int
is_short_range(PyObject *const *args, Py_ssize_t n)
{
    double bounds[3] = {0, 0, 1}, count;
    for (Py_ssize_t i = 0; i < n; i++) {
        double *bound = &bounds[n == 1 ? 1 : i];
        if (n > 3 || !store_number(NPY_DOUBLE, args[i], bound)) {
            return 0;
        }
    }
    count = (bounds[1] - bounds[0]) / bounds[2];
    return isfinite(count) && count * (double)sizeof(npy_cdouble) < tiny();
}

static inline int
is_real_number(PyObject *o)
{
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o);
}

/* Say whether few numbers are asked for between two, by arguments that say no more than how many, and of what dtype. */
static int
is_short_spacing(PyObject *const *given, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    npy_intp product = 1;
    if (n < 2 || n > 4 || !is_real_number(given[0]) || !is_real_number(given[1]) ||
        (n > 2 && !is_little(given + 2, 1, &product))) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (is_named(name, "num") ? !is_little(given + n + i, 1, &product)
                                  : !is_named(name, "endpoint") && !is_named(name, "dtype")) {
            return 0;
        }
    }
    return 1;
}

/* Say whether a function is for NumPy: an array is at hand, or what it makes of numbers is small. */
static int
is_for_numpy(Fast *f, PyObject *const *given, Py_ssize_t n, PyObject *names, int is_near)
{
    npy_intp product = 1;
    switch (f->kind) {
    case 's': return tiny() > 0 && is_short_spacing(given, n, names);
    case 'm': return tiny() > 0 && is_little(given, 1, &product) && !(n > 1 && is_nested(given[1]));
    case 'c': return !is_near && tiny() > 0 && is_short_range(given, n);
    case 'n': return !is_near && tiny() > 0 && is_little(given, n, &product);
    case 'l': return is_nested(given[0]) && (is_near || (tiny() > 0 && PySequence_Fast_GET_SIZE(given[0]) <= LONGEST));
    default: return is_near || (tiny() > 0 && (is_short_list(given[0]) || is_real_number(given[0])));
    }
}

/* Say whether NumPy's `where` has dtypes for the integers that it is given: it wraps others round, without a word. */
static int
has_dtypes(PyObject *const *given, Py_ssize_t n)
{
    int narrow = 0;
    for (Py_ssize_t i = 1; i < n; i++) {
        if (PyArray_CheckExact(given[i])) {
            int type = PyArray_DESCR((PyArrayObject *)given[i])->type_num;
            narrow |= PyTypeNum_ISINTEGER(type) && type != NPY_LONG && type != NPY_LONGLONG;
        }
    }
    for (Py_ssize_t i = 1; narrow && i < n; i++) {
        if (PyLong_CheckExact(given[i])) {
            int overflow;
            long number = PyLong_AsLongAndOverflow(given[i], &overflow);
            if (overflow || number < 0 || number > NPY_MAX_INT8) {
                return 0;
            }
        }
    }
    return 1;
}

/* Say whether arrays that broadcast to one shape spread to something large, which is for blocks. */
static int
spreads(PyObject *const *given, Py_ssize_t n)
{
    npy_intp dims[NPY_MAXDIMS], size = 1, most = 0;
    int ndim = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyArray_CheckExact(given[i])) {
            PyArrayObject *x = (PyArrayObject *)given[i];
            if ((ndim = broadcast_dims(dims, ndim, PyArray_DIMS(x), PyArray_NDIM(x))) < 0) {
                return 0;
            }
            most = PyArray_SIZE(x) > most ? PyArray_SIZE(x) : most;
        }
    }
    for (int axis = 0; axis < ndim; axis++) {
        size *= dims[axis];
    }
    return size > most && size >= part_bytes / (npy_intp)sizeof(npy_cdouble);
}

/* Make an array of a list, or a number, in the place of it, for a method of arrays; returns 0, without an error, where
 * that is not so simple.
 */
static int
gathered(Fast *f, PyObject **list)
{
    PyObject *array = PyArray_FROM_O(*list);
    if (array == NULL || !PyArray_CheckExact(array) || PyArray_SIZE((PyArrayObject *)array) == 0 ||
        PyArray_NBYTES((PyArrayObject *)array) >= part_bytes || !is_held((PyArrayObject *)array) ||
        !is_usual(f, (PyArrayObject *)array)) {
        PyErr_Clear();
        Py_XDECREF(array);
        return 0;
    }
    Py_SETREF(*list, array);
    return 1;
}

/* Return what the package gives for a result of NumPy's (stolen); NULL, without an error, where that is not so simple. NumPy
 * had `x`, the first argument, as an array, and a method of that gives an array where a scalar's gives a scalar.
 */
static PyObject *
result_of(Fast *f, PyObject *x, PyObject *value)
{
    PyObject *out = NULL;
    int is_number = !PyArray_CheckExact(value), is_method = Py_TYPE(f->host) == &PyMethodDescr_Type;
    if (PyBool_Check(value)) {
        return value;
    }
    if ((value = unboxed(value)) == NULL) {
        return NULL;
    }
    if (PyArray_CheckExact(value)) {
        if (is_own(f, (PyArrayObject *)value)) {
            out = known_array(value, NULL);
            return is_number || (is_method && IS_ARRAY(x) && is_scalar(x)) ? out : zero_d(out);
        }
    }
    else if (PyTuple_Check(value)) {
        Py_ssize_t n = PyTuple_GET_SIZE(value);
        out = PyTuple_New(n);
        for (Py_ssize_t i = 0; out != NULL && i < n; i++) {
            PyObject *item = PyTuple_GET_ITEM(value, i), *made;
            if (!PyArray_CheckExact(item) || !is_own(f, (PyArrayObject *)item) ||
                (made = known_array(Py_NewRef(item), NULL)) == NULL) {
                Py_CLEAR(out);
                break;
            }
            PyTuple_SET_ITEM(out, i, made);
        }
        if (out != NULL && !PyTuple_CheckExact(value)) { /* with names, of the package's own class */
            Py_SETREF(out, PyObject_CallObject((PyObject *)Py_TYPE(value), out));
        }
    }
    Py_DECREF(value);
    return out;
}

/* Say whether an array is a pending product that nobody else has. */
static inline int
is_own_product(PyObject *x)
{
    return is_own_pending(x) && SLOT(NODE(x), n_prim) == product;
}

/* Return the dtype that a call gives besides a list; NULL where it gives anything else. */
static PyObject *
only_dtype(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    return n + keywords == 1                                                                       ? Py_None
           : n == 2 && keywords == 0                                                               ? args[1]
           : n == 1 && keywords == 1 && is_named(PyTuple_GET_ITEM(names, 0), "dtype") ? args[1]
                                                                                                   : NULL;
}

/* Say whether a number of Python's is a float64 to a ufunc. */
static inline int
is_float_for(Fast *f, PyObject *o)
{
    return PyFloat_CheckExact(o) || Py_TYPE(o) == &PyDoubleArrType_Type ||
           (PyLong_CheckExact(o) && find_loop((PyUFuncObject *)f->host, NPY_LONG) < 0);
}

/* Return what a ufunc gives for arrays without axes, computed first where they are pending, or for numbers that are
 * floats to it; NULL, without an error, where that is not so simple.
 */
static PyObject *
whole_number(Fast *f, PyObject *const *args)
{
    PyObject *x = args[0], *y = f->nin == 1 ? NULL : args[1];
    if (tiny() == 0) {
        return NULL;
    }
    if (!IS_ARRAY(x) && (y == NULL || !IS_ARRAY(y))) {
        return is_float_for(f, x) && (y == NULL || is_float_for(f, y)) ? number_of(f, x, NULL, y, NULL, double_dtype, NULL)
                                                                      : NULL;
    }
    if (y != NULL && IS_ARRAY(y)) {
        fresh(y);
    }
    if (IS_ARRAY(x)) {
        fresh(x);
    }
    return of_elements(f, x, y);
}

/* A function of arrays, one of them at least at hand, or of numbers, whose result NumPy gives as the package does. */
static PyObject *
call_whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names), ready = 0;
    PyObject *given[MOST], *value = NULL;
    npy_intp bytes = 0;
    int is_near = 0, counts = f->kind == 'c' || f->kind == 'n' || f->kind == 's';
    if (n == 0 || n + keywords > MOST || is_watched()) {
        return NULL;
    }
    if (f->prim != Py_None && IS_ARRAY(args[0]) && is_own_product(args[0])) {
        value = PyObject_Vectorcall(f->prim, args, nargsf, names);
        if (value != Py_None) {
            return value;
        }
        Py_CLEAR(value);
    }
    if (f->reduction != NULL && (value = reduced(f->reduction, args, n, names)) != NULL) {
        return value;
    }
    if (f->is_where && n == 3 && keywords == 0 &&
        ((value = record_select(args[0], args[1], args[2])) != NULL || PyErr_Occurred())) {
        return value;
    }
    if (f->is_ufunc && keywords == 0 && n == f->nin && n <= 2 &&
        ((value = whole_number(f, args)) != NULL || PyErr_Occurred())) {
        return value;
    }
    if (f->kind == 'l' && is_nested(args[0]) && tiny() > 0) {
        PyObject *dtype = only_dtype(args, n, names);
        if (dtype != NULL && ((value = listed(args[0], dtype)) != NULL || PyErr_Occurred())) {
            return value;
        }
    }
    /* Nothing is written to: `out` is for the package. */
    while (ready < n + keywords && !(ready < n ? ready == f->out : lets_write(PyTuple_GET_ITEM(names, ready - n))) &&
           (counts ? (given[ready] = counts_in(args[ready])) != NULL
                   : argument(f, args[ready], &given[ready], &bytes, &is_near, 0))) {
        ready++;
    }
    if (ready == n + keywords && tiny() > 0 && !is_near && PyFloat_CheckExact(args[0]) && f->is_ufunc) {
        is_near = 1;
    }
    else if (ready == n + keywords && tiny() > 0 && Py_TYPE(f->host) == &PyMethodDescr_Type &&
             (is_nested(args[0]) || PyFloat_CheckExact(args[0]) || PyLong_CheckExact(args[0])) &&
             gathered(f, &given[0])) {
        is_near = 1;
    }
    if (ready == n + keywords && is_for_numpy(f, given, n, names, is_near) && !(f->is_where && !has_dtypes(given, n)) &&
        !spreads(given, n)) {
        value = f->kind == 'c' ? call_quietly(f->host, given, n, names) : call_any(f->host, given, n, names, 0);
    }
    while (ready > 0) {
        Py_DECREF(given[--ready]);
    }
    if (value != NULL) {
        if (forget_heard()) {
            Py_CLEAR(value);
        }
        else {
            value = result_of(f, args[0], value);
        }
    }
    return value;
}

/* Say whether what is written is of an array's own dtype, or a number that NumPy casts to that without a word. */
static int
fits_in(PyObject *o, PyArrayObject *memory)
{
    int type = PyArray_DESCR(memory)->type_num, is_real = PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type), overflow;
    npy_intp bits = 8 * PyArray_ITEMSIZE(memory) - PyTypeNum_ISSIGNED(type);
    npy_long number;
    if (PyArray_CheckExact(o)) {
        return PyArray_DESCR((PyArrayObject *)o) == PyArray_DESCR(memory) && PyArray_SIZE((PyArrayObject *)o) > 0;
    }
    if (Py_TYPE(o) == PyArray_DESCR(memory)->typeobj) { /* NumPy's scalar */
        return 1;
    }
    if (!PyLong_CheckExact(o)) {
        return PyFloat_CheckExact(o) ? is_real : PyBool_Check(o) && type == NPY_BOOL;
    }
    number = PyLong_AsLongAndOverflow(o, &overflow);
    return !overflow && (is_real || (PyTypeNum_ISINTEGER(type) && (number >= 0 || PyTypeNum_ISSIGNED(type)) &&
                                     (bits >= 63 || (number < 0 ? ~number : number) >> bits == 0)));
}

/* Return the array whose memory an array of NumPy's is in. */
static inline PyObject *
owner_of(PyArrayObject *value)
{
    return PyArray_BASE(value) == NULL ? (PyObject *)value : PyArray_BASE(value);
}

/* putmask(x, mask, values), x.sort(), and what else writes to its first argument: `out` says which one is written there. */
static PyObject *
call_writing(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (names == NULL ? 0 : PyTuple_GET_SIZE(names)), ready = 1;
    PyObject *given[MOST], *x = n == 0 ? NULL : args[0], *owner, *done = NULL;
    PyArrayObject *memory;
    npy_intp bytes = 0;
    int is_near = 0, is_simple;
    if (x == NULL || all > MOST || (f->out >= 0 && (all > n || f->out >= n)) || !IS_ARRAY(x) || is_watched() || is_frozen(x)) {
        return NULL;
    }
    while (ready < all && (ready == f->out && is_nested(args[ready])
                               ? (given[ready] = (PyObject *)listed_for(x, args[ready], 0)) != NULL
                               : argument(f, args[ready], &given[ready], &bytes, &is_near, 0))) {
        ready++;
    }
    memory = ready == all ? memory_of(x, args + 1, all - 1, &owner) : NULL;
    is_simple = memory != NULL && PyArray_ISWRITEABLE(memory) && PyArray_NBYTES(memory) < part_bytes &&
                (f->out < 0 || fits_in(given[f->out], memory));
    for (Py_ssize_t i = 1; is_simple && i < all; i++) {
        is_simple = !PyArray_CheckExact(given[i]) || owner_of((PyArrayObject *)given[i]) != owner_of(memory);
    }
    PyErr_Clear();
    if (is_simple) {
        given[0] = Py_NewRef((PyObject *)memory);
        done = PyObject_Vectorcall(f->host, given, (size_t)n, names);
        Py_DECREF(given[0]);
    }
    while (ready > 1) {
        Py_DECREF(given[--ready]);
    }
    if (done == NULL && (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                         PyErr_ExceptionMatches(PyExc_IndexError))) {
        PyErr_Clear(); /* nothing was written; told elsewhere, in our words */
    }
    return done;
}

/* Say whether this is a number, a text or a dtype, or a list of those, in few levels: what NumPy draws with as it is. */
static int
is_for_draws(PyObject *o, int levels)
{
    if (is_nested(o)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
        for (Py_ssize_t i = 0; i < n; i++) {
            if (levels == 0 || !is_for_draws(PySequence_Fast_GET_ITEM(o, i), levels - 1)) {
                return 0;
            }
        }
        return 1;
    }
    return is_option(o);
}

/* Return what NumPy draws with for an argument (a new reference): a scalar of an array without axes, a view that it cannot
 * write to of another, if it writes to none; NULL, perhaps with an error, where `_known` in Python must say what.
 */
static PyObject *
drawn_with(Fast *f, PyObject *o, int is_first)
{
    PyArrayObject *value = IS_ARRAY(o) && !is_watched() ? fresh(o) : NULL, *view;
    if (value == NULL) {
        return is_for_draws(o, 3) || (is_first && !PySequence_Check(o)) ? Py_NewRef(o) : NULL; /* a method's object */
    }
    if (PyArray_NDIM(value) == 0) {
        return PyArray_ToScalar(PyArray_DATA(value), value);
    }
    if (f->out >= 0 || (view = (PyArrayObject *)PyArray_View(value, NULL, NULL)) == NULL) {
        return NULL;
    }
    PyArray_CLEARFLAGS(view, NPY_ARRAY_WRITEABLE);
    return (PyObject *)view;
}

/* Say whether global names are known to be those of the main module, or of another of the program that is run. */
static int
are_programs(PyObject *globals)
{
    PyObject *name = globals == NULL ? NULL : PyDict_GetItemWithError(globals, s_name), *file;
    int found = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__main__") == 0;
    if (name != NULL && !found && PyList_GET_SIZE(program_hook) == 1 && PyList_GET_SIZE(program_files) == 1) {
        file = PyDict_GetItemWithError(globals, s_file);
        found = file != NULL && PyDict_GetItemWithError(PyList_GET_ITEM(program_files, 0), file) == Py_True;
    }
    PyErr_Clear();
    return found;
}

/* Return what the caller is given for an array that was drawn (stolen): `_given` in Python is the meaning. */
static PyObject *
drawn_for(Fast *f, PyObject *drawn)
{
    PyObject *globals = PyEval_GetGlobals();
    PyArrayObject *array = (PyArrayObject *)drawn;
    if (part_bytes != 0 && program_hook != NULL && PyArray_BASE(array) == NULL && is_held(array) &&
        PyArray_NBYTES(array) < tiny() && are_programs(globals)) {
        return known_array(drawn, NULL);
    }
    Py_SETREF(drawn, PyObject_CallFunctionObjArgs(f->prim, drawn, globals == NULL ? no_params : globals, NULL));
    return drawn;
}

/* Give the program that is run, or the C code that it calls, the memory of an array that owns its elements, which nobody else
 * has: NumPy asks for it where one of its arrays is indexed by ours. Returns 0, without an error, where that is not so
 * simple: `memory` in Python is the meaning.
 */
static int
lend(PyObject *self, Py_buffer *view, int flags)
{
    PyArrayObject *value;
    int done = 0;
    if (!try_lock()) {
        return 0;
    }
    if (IS_ARRAY(self) && SLOT(self, x_view) == Py_None && !is_watched() && PyList_GET_SIZE(scopes) == 0 && !is_frozen(self) &&
        program_hook != NULL && PyList_GET_SIZE(program_hook) == 1 && PyList_GET_SIZE(openers) == 1 &&
        PyList_GET_ITEM(openers, 0) == PyList_GET_ITEM(program_hook, 0) && are_programs(PyEval_GetGlobals()) &&
        (value = fresh(self)) != NULL && PyArray_CHKFLAGS(value, NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA)) {
        PyObject *node = NODE(self);
        if (Py_TYPE(node) == Part && Py_REFCNT(node) == 1 && Py_REFCNT(value) == 1) {
            Py_INCREF(Exported);
            Py_SET_TYPE(node, Exported); /* of one layout */
            Py_DECREF(Part);
        }
        done = Py_TYPE(node) == Exported && PyObject_GetBuffer((PyObject *)value, view, flags) == 0;
        PyErr_Clear(); /* told elsewhere */
    }
    unlock();
    return done;
}

/* Give anybody a copy of a scalar's element, as NumPy asks each item of a list for one; who has it may write to it, as to
 * what `numpy.asarray` makes of a scalar. Returns 0, without an error, where that is not so simple.
 */
static int
lend_number(PyObject *self, Py_buffer *view)
{
    static char formats[][3] = {
        [NPY_BOOL] = "?",   [NPY_BYTE] = "b",   [NPY_UBYTE] = "B",  [NPY_SHORT] = "h",    [NPY_USHORT] = "H",
        [NPY_INT] = "i",    [NPY_UINT] = "I",   [NPY_LONG] = "l",   [NPY_ULONG] = "L",    [NPY_LONGLONG] = "q",
        [NPY_ULONGLONG] = "Q", [NPY_FLOAT] = "f", [NPY_DOUBLE] = "d", [NPY_CFLOAT] = "Zf", [NPY_CDOUBLE] = "Zd",
    };
    PyArrayObject *value = NULL;
    PyObject *copy = NULL;
    int type;
    if (!try_lock()) {
        return 0;
    }
    if (IS_ARRAY(self) && !is_watched() && is_scalar(self) && (value = seen(self)) != NULL && PyArray_NDIM(value) == 0) {
        npy_intp bytes = PyArray_ITEMSIZE(value);
        type = PyArray_DESCR(value)->type_num;
        if (type <= NPY_CDOUBLE && formats[type][0] != 0 && PyArray_ISNBO(PyArray_DESCR(value)->byteorder) &&
            (copy = PyBytes_FromStringAndSize(NULL, bytes)) != NULL) { /* nobody else has it, whatever is written there */
            memcpy(PyBytes_AS_STRING(copy), PyArray_DATA(value), (size_t)bytes);
            *view = (Py_buffer){.buf = PyBytes_AS_STRING(copy), .obj = copy, .len = bytes};
            view->itemsize = bytes;
            view->format = formats[type];
        }
        PyErr_Clear();
    }
    unlock();
    return copy != NULL;
}

/* A function or method of numpy.random's, given numbers or arrays. Such methods call each other, and each other's draws stay
 * NumPy's.
 */
static PyObject *
call_draw(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (names == NULL ? 0 : PyTuple_GET_SIZE(names)), ready = 0;
    static _Thread_local int drawing;
    PyObject *drawn = NULL, *given[MOST] = {NULL};
    if (drawing) {
        return PyObject_Vectorcall(f->host, args, nargsf, names);
    }
    if (all > MOST) {
        return NULL;
    }
    while (ready < all && (given[ready] = drawn_with(f, args[ready], ready == 0 && n > 0)) != NULL) {
        ready++;
    }
    if (ready == all) {
        drawing = 1;
        drawn = PyObject_Vectorcall(f->host, given, (size_t)n, names);
        drawing = 0;
    }
    while (ready > 0) {
        Py_DECREF(given[--ready]);
    }
    return drawn == NULL || !PyArray_CheckExact(drawn) ? drawn : drawn_for(f, drawn);
}

/* Return NumPy's array that a call of `__array_ufunc__` is to write to (borrowed), its only option; NULL for anything else. */
static PyObject *
sole_out(PyObject *const *options, PyObject *names)
{
    PyObject *out = options[0];
    if (PyTuple_GET_SIZE(names) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") != 0 ||
        !PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != 1) {
        return NULL;
    }
    out = PyTuple_GET_ITEM(out, 0);
    return PyArray_CheckExact(out) && PyArray_NBYTES((PyArrayObject *)out) < part_bytes ? out : NULL;
}

/* numpy.add(x, y) and the like, for which NumPy asks `x.__array_ufunc__(numpy.add, "__call__", x, y)`, perhaps with the
 * array of its own that it writes to: `a += x` of such an array.
 */
static PyObject *
call_array_ufunc(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *out = names == NULL ? NULL : sole_out(args + n, names);
    if ((n == 4 || n == 5) && (names == NULL || out != NULL) && PyUnicode_Check(args[2]) &&
        PyUnicode_CompareWithASCIIString(args[2], "__call__") == 0) {
        PyObject *own = PyDict_GetItemWithError(((Fast *)self)->host, args[1]);
        if (own != NULL && PyObject_TypeCheck(own, &FastType) && ((Fast *)own)->nin == n - 3) {
            int failed = 0, lends = out == NULL; /* what is written to may be part of what is read */
            PyObject *x = args[3], *y = n == 5 ? args[4] : NULL;
            PyObject *own_x = adopt(&x, y, lends), *own_y = adopt(&y, x, lends);
            PyObject *found = compute((Fast *)own, x, y, out, &failed);
            if (found != NULL && out != NULL) {
                Py_SETREF(found, Py_NewRef(out));
            }
            let_adopted_go(own_x, &found);
            let_adopted_go(own_y, &found);
            if (found != NULL || failed) {
                return found;
            }
        }
        PyErr_Clear();
    }
    return NULL;
}

/* Return what tells calls of a function with so many arguments and these keywords apart from others: a new tuple. */
static PyObject *
call_shape(PyObject *function, PyObject *given, PyObject *options)
{
    PyObject *key = PyTuple_New(2 + PyDict_GET_SIZE(options)), *name, *value, *count;
    Py_ssize_t place = 0, k = 2;
    if (key == NULL || (count = PyLong_FromSsize_t(PyTuple_GET_SIZE(given))) == NULL) {
        Py_XDECREF(key);
        return NULL;
    }
    PyTuple_SET_ITEM(key, 0, Py_NewRef(function));
    PyTuple_SET_ITEM(key, 1, count);
    while (k < PyTuple_GET_SIZE(key) && PyDict_Next(options, &place, &name, &value)) {
        PyTuple_SET_ITEM(key, k++, Py_NewRef(name));
    }
    return key;
}

/* numpy.dot(x, y) and the like, for which NumPy asks `x.__array_function__(numpy.dot, types, (x, y), {})`: the package's
 * function, where it is known to take such a call as it is.
 */
static PyObject *
call_array_function(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *key, *own = NULL, *found = NULL;
    if (PyVectorcall_NARGS(nargsf) != 5 || names != NULL || !PyTuple_CheckExact(args[3]) || !PyDict_CheckExact(args[4])) {
        return NULL;
    }
    if ((key = call_shape(args[1], args[3], args[4])) != NULL) {
        own = Py_XNewRef(PyDict_GetItemWithError(((Fast *)self)->host, key));
        Py_DECREF(key);
    }
    if (own != NULL) {
        found = PyObject_Call(own, args[3], args[4]);
        Py_DECREF(own);
        if (found == NULL && PyErr_ExceptionMatches(((Fast *)self)->prim)) { /* NumPy may hold it */
            PyErr_Clear();
        }
    }
    return found;
}
