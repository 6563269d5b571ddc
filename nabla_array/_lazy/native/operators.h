/* Operators on whole arrays, in place and with `out=` too. */

/* Say whether this is a number that takes the dtype of the array that it meets. */
static inline int
is_number(PyObject *o, PyArrayObject *with)
{
    int type = PyArray_DESCR(with)->type_num;
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || (PyBool_Check(o) && type == NPY_BOOL) ||
           (Py_TYPE(o) == &PyDoubleArrType_Type && type == NPY_DOUBLE) ||
           (Py_TYPE(o) == &PyLongArrType_Type && (type == NPY_DOUBLE || type == NPY_LONG));
}

/* Say whether this is another number, which NumPy promotes as the package does. */
static inline int
is_promoted(Fast *f, PyObject *o)
{
    return f->is_ufunc && (f->types >> NPY_DOUBLE & 1) &&
           (PyComplex_CheckExact(o) ? f->types >> NPY_CDOUBLE & 1
                                    : PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyArray_IsScalar(o, Number));
}

/* Say whether the elements of a node are at hand: those of a part, and few that were computed. */
static inline int
is_at_hand(PyObject *node)
{
    return Py_TYPE(node) == Part || Py_TYPE(node) == Exported || PyArray_NBYTES((PyArrayObject *)VALUE_OF(node)) < tiny();
}

/* Say whether the result of arrays that broadcast is small enough to be computed at once. */
static int
is_small(PyArrayObject *a, PyObject *m, PyArrayObject *b, PyObject *n)
{
    npy_intp size = PyArray_ITEMSIZE(a) > PyArray_ITEMSIZE(b) ? PyArray_ITEMSIZE(a) : PyArray_ITEMSIZE(b), p, q;
    int i = PyArray_NDIM(a), j = PyArray_NDIM(b);
    int both = Py_TYPE(m) == Part && Py_TYPE(n) == Part;
    while (i > 0 || j > 0) {
        p = i > 0 ? PyArray_DIM(a, --i) : 1;
        q = j > 0 ? PyArray_DIM(b, --j) : 1;
        if (p != q && p != 1 && q != 1) {
            return 0;
        }
        size *= p == 1 ? q : p;
        if (size >= part_bytes) {
            return 0;
        }
    }
    return both || size < large_bytes;
}

/* Say whether a function of floats alone takes integers too, as NumPy promotes them. */
static inline int
makes_floats(Fast *f)
{
    return f->is_ufunc && (f->types >> NPY_DOUBLE & 1) && !(f->types >> NPY_LONG & 1) &&
           !is_mixed((PyUFuncObject *)f->host);
}

static inline int
becomes_float(Fast *f, PyArrayObject *a)
{
    return PyTypeNum_ISINTEGER(PyArray_DESCR(a)->type_num) && makes_floats(f);
}

static inline int
is_double(Fast *f, PyObject *o)
{
    return PyFloat_CheckExact(o) || Py_TYPE(o) == &PyDoubleArrType_Type || (PyLong_CheckExact(o) && makes_floats(f));
}

static PyObject *listed(PyObject *list, PyObject *dtype);

/* Bytes from which on it takes longer to copy an array of NumPy's than to see whether it must be. */
enum { LEAST_BORROWED = 4096 };

/* Return one of ours on the memory of an array of NumPy's own, for `let_adopted_go`; NULL, without an error, for another. */
static PyObject *
borrowed(PyArrayObject *array)
{
    PyObject *view = PyArray_View(array, NULL, NULL);
    if (view != NULL) {
        PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
        view = known_array(view, NULL);
    }
    PyErr_Clear(); /* of memory, told elsewhere */
    return view;
}

/* Put one of ours in the place of an array of NumPy's own, or of a list of few numbers, and return it, which the caller
 * gives to `let_adopted_go`; NULL for another operand. `lends`: the array's memory may be read, and a result dropped; 2: of any
 * size, since products with vectors are computed at once. A list beside a number may be one to repeat.
 */
static inline PyObject *
adopt(PyObject **o, PyObject *other, int lends)
{
    PyObject *made = NULL;
    if (*o == NULL || IS_ARRAY(*o) || tiny() == 0) {
        return NULL;
    }
    if (PyArray_CheckExact(*o)) {
        PyArrayObject *array = (PyArrayObject *)*o;
        npy_intp size = PyArray_NBYTES(array);
        made = (size >= part_bytes && lends < 2) || !is_native(array) ? NULL
               : size < LEAST_BORROWED || !lends                      ? copy_of_numpys(array)
                                                                      : borrowed(array);
    }
    else if (is_nested(*o) && !(other != NULL && IS_ARRAY(other) && is_single(other))) {
        made = listed(*o, Py_None);
        PyErr_Clear(); /* of memory, told elsewhere */
    }
    *o = made != NULL ? made : *o;
    return made;
}

/* Let go of what was adopted. Whoever holds its node may read it later: there the elements are copied, since NumPy's array
 * may be written to. So does a result that lies in the memory: it is dropped, and the package computes it.
 */
static void
let_adopted_go(PyObject *made, PyObject **found)
{
    PyObject *value;
    if (made == NULL) {
        return;
    }
    value = VALUE_OF(NODE(made));
    if (value != NULL && PyArray_CheckExact(value) && !PyArray_CHKFLAGS((PyArrayObject *)value, NPY_ARRAY_OWNDATA) &&
        (Py_REFCNT(made) != 1 || Py_REFCNT(NODE(made)) != 1 || Py_REFCNT(value) != 1)) {
        PyArrayObject *array = (PyArrayObject *)value;
        PyObject *copy = Py_REFCNT(value) != 1 ? NULL : copy_as(array, PyArray_DESCR(array));
        if (copy == NULL) {
            Py_CLEAR(*found);
        }
        else {
            Py_SETREF(SLOT(NODE(made), n_value), copy);
        }
    }
    Py_DECREF(made);
}

/* Say whether this is an integer of Python's that has a dtype. */
static inline int
is_integer(PyObject *o)
{
    int overflow = 1;
    if (PyLong_CheckExact(o)) {
        PyLong_AsLongAndOverflow(o, &overflow);
    }
    return !overflow;
}

/* Say whether these are numbers of Python's, an integer among them at least, of which a function takes the dtype. */
static int
are_integers(Fast *f, PyObject *x, PyObject *y)
{
    int m = is_integer(x), n = y == NULL || is_integer(y);
    return (m && n && (f->types >> NPY_LONG & 1)) ||
           (y != NULL && (f->types >> NPY_DOUBLE & 1) &&
            ((m && PyFloat_CheckExact(y)) || (n && PyFloat_CheckExact(x))));
}

/* Return the elements of an array (a new reference) if they are known, or lie in a known one; NULL if not. */
static PyArrayObject *
moved(PyObject *x)
{
    PyArrayObject *value = fresh(x), *whole;
    PyObject *view = SLOT(x, x_view), *of, *key, *found;
    if (value != NULL) {
        return (PyArrayObject *)Py_NewRef((PyObject *)value);
    }
    if (view == Py_None || SLOT(NODE(x), n_prim) != slice_prim || PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0 ||
        !IS_ARRAY(of = SLOT(view, v_of)) || NODE(of) != SLOT(view, v_seen) || (whole = seen(of)) == NULL) {
        return NULL;
    }
    Py_INCREF(whole);
    key = Py_NewRef(SLOT(view, v_key));
    found = PyObject_GetItem((PyObject *)whole, key);
    if (found == NULL || !PyArray_CheckExact(found)) {
        PyErr_Clear();
        Py_CLEAR(found);
    }
    Py_DECREF(whole);
    Py_DECREF(key);
    return (PyArrayObject *)found;
}

/* Return the product of a vector at hand and a large matrix, or a part of one; NULL, without an error, for others. */
static PyObject *
product_with_large(Fast *f, PyObject *x, PyObject *y, int *failed)
{
    PyArrayObject *a = moved(x), *b = a == NULL ? NULL : moved(y);
    PyObject *value = NULL;
    if (b != NULL && PyArray_NDIM(a) + PyArray_NDIM(b) == 3 && PyArray_NDIM(a) != 0 && PyArray_NDIM(b) != 0 &&
        PyArray_DESCR(a) == PyArray_DESCR(b) && is_usual(f, a) &&
        Py_TYPE(NODE(PyArray_NDIM(a) == 1 ? x : y)) == Part &&
        PyArray_NBYTES(PyArray_NDIM(a) == 1 ? a : b) < part_bytes &&
        PyArray_NBYTES(PyArray_NDIM(a) == 1 ? b : a) >= part_bytes) {
        PyObject *args[2] = {(PyObject *)a, (PyObject *)b};
        value = call_host(f->host, args, 2, NULL, 0);
        if (value != NULL && forget_heard()) {
            Py_CLEAR(value); /* told where it is looked at */
        }
        value = value == NULL ? NULL : known_array(value, NULL);
        *failed = value == NULL && PyErr_Occurred() != NULL;
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return value;
}

/* Say whether a product of matrices is large, perhaps of small ones. */
static inline int
is_large_product(PyArrayObject *a, PyArrayObject *b)
{
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b);
    return m >= 2 && n >= 2 && PyArray_DIM(a, m - 1) > 0 &&
           PyArray_NBYTES(a) / PyArray_DIM(a, m - 1) * PyArray_DIM(b, n - 1) >= part_bytes;
}

/* Say whether numbers of Python's, one of them complex at least, are complex to a function (`y` may be NULL). */
static inline int
are_complex(Fast *f, PyObject *x, PyObject *y)
{
    int is_first = PyComplex_CheckExact(x), is_second = y != NULL && PyComplex_CheckExact(y);
    return (f->types >> NPY_CDOUBLE & 1) && (is_first || is_second) &&
           (is_first || PyFloat_CheckExact(x) || PyLong_CheckExact(x)) &&
           (y == NULL || is_second || PyFloat_CheckExact(y) || PyLong_CheckExact(y));
}

/* Compute a function of numbers that are floats to it, or complex (`y` may be NULL); NULL, without an error, if they are not. */
static PyObject *
compute_numbers(Fast *f, PyObject *x, PyObject *y)
{
    PyObject *args[2] = {x, y}, *value;
    int are_doubles = (f->types >> NPY_DOUBLE & 1) && is_double(f, x) && (y == NULL || is_double(f, y));
    int are_parts = !are_doubles && are_complex(f, x, y);
    if ((are_doubles || are_parts) && f->op != POW) {
        value = number_of(f, x, NULL, y, NULL, are_parts ? complex_dtype : double_dtype, NULL);
        if (value != NULL || PyErr_Occurred()) {
            return value;
        }
    }
    if (!f->is_ufunc || !(are_doubles || are_parts || are_integers(f, x, y))) {
        return NULL;
    }
    value = call_host(f->host, args, y == NULL ? 1 : 2, NULL, 0);
    if (value != NULL && forget_heard()) {
        Py_CLEAR(value);
    }
    return value == NULL ? NULL : known_array(value, NULL);
}

/* Return the dtype that a number has beside elements of a dtype (borrowed): theirs, unless it is of a larger kind. */
static inline PyArray_Descr *
dtype_of_number(PyObject *number, PyArray_Descr *dtype)
{
    int type = dtype->type_num;
    if (PyComplex_CheckExact(number)) {
        return type <= NPY_DOUBLE && type != NPY_FLOAT ? complex_dtype : dtype;
    }
    if (PyFloat_CheckExact(number) || Py_TYPE(number) == &PyDoubleArrType_Type) {
        return type < NPY_FLOAT ? double_dtype : dtype;
    }
    return type == NPY_BOOL && PyLong_CheckExact(number) ? integer_dtype : dtype;
}

/* Return the dtype that two have in common (borrowed); NULL where that is not so simple. */
static inline PyArray_Descr *
larger_dtype(PyArray_Descr *p, PyArray_Descr *q)
{
    PyArray_Descr *larger = p == complex_dtype || q == complex_dtype   ? complex_dtype
                            : p == double_dtype || q == double_dtype   ? double_dtype
                            : p == integer_dtype || q == integer_dtype ? integer_dtype
                                                                       : NULL;
    int last = larger == integer_dtype ? NPY_BOOL : NPY_DOUBLE; /* of the types that it holds */
    return p == q ? p : larger != NULL && (larger == p ? q : p)->type_num <= last ? larger : NULL;
}

/* Return the dtype in which a function takes single elements, and perhaps a number (borrowed); NULL where that is not so
 * simple. One of `a` and `b` may be NULL.
 */
static PyArray_Descr *
element_dtype(Fast *f, PyArrayObject *a, PyArrayObject *b, PyObject *number)
{
    PyArray_Descr *p = PyArray_DESCR(a != NULL ? a : b), *q = PyArray_DESCR(b != NULL ? b : a), *found;
    found = larger_dtype(p, number != NULL ? dtype_of_number(number, p) : q);
    return found == integer_dtype && makes_floats(f) ? double_dtype : found;
}

/* Say whether this is what NumPy has as a float64, which is a `float` to Python's complex numbers: their operators come first,
 * and give Python's.
 */
static int
is_pythons(PyObject *x)
{
    PyObject *dtype = NULL;
    int is_double;
    if (IS_ARRAY(x) && !is_watched() && is_scalar(x) && PyTuple_GET_SIZE(SLOT(x, x_levels)) == 0) {
        dtype = PyObject_GetAttr(SLOT(NODE(x), n_aval), s_dtype);
    }
    is_double = dtype == (PyObject *)double_dtype;
    Py_XDECREF(dtype);
    return is_double;
}

/* Return the element (borrowed) of an array without axes that is known and up to date, NULL for anything else. */
static inline PyArrayObject *
sole_element(PyObject *x)
{
    PyArrayObject *value = IS_ARRAY(x) ? seen(x) : NULL;
    return value != NULL && PyArray_NDIM(value) == 0 ? value : NULL;
}

/* Return what a function gives for a known array without axes, for two, or for one and a number of Python's; NULL,
 * without an error, where that is not so simple. `y` is NULL for a function of one.
 */
static PyObject *
of_elements(Fast *f, PyObject *x, PyObject *y)
{
    PyArrayObject *a = sole_element(x), *b = y == NULL ? NULL : sole_element(y);
    PyObject *number = a == NULL ? x : b == NULL ? y : NULL;
    PyArray_Descr *dtype;
    if ((a == NULL && b == NULL) || (number != NULL && IS_ARRAY(number))) {
        return NULL;
    }
    dtype = element_dtype(f, a, b, number);
    if (dtype == NULL || (f->op == POW ? PyArray_ISBOOL(a != NULL ? a : b) /* NumPy's squares are small */
                                       : dtype->type_num >= 64 || !(f->types >> dtype->type_num & 1))) {
        return NULL;
    }
    return number_of(f, x, a, y, b, dtype,
                     dtype == double_dtype || dtype == integer_dtype || dtype == complex_dtype
                         ? NULL
                         : SLOT(NODE(a != NULL ? x : y), n_aval));
}

/* Say whether this divides integers, which is done at once, as NumPy tells of zeros and of what does not fit. */
static inline int
divides_integers(Fast *f, PyArrayObject *some)
{
    return f->op == DIVIDE && PyTypeNum_ISINTEGER(PyArray_DESCR(some)->type_num) && tiny() > 0 &&
           PyArray_NBYTES(some) < part_bytes;
}

/* Compute an operator at once; NULL, without an error, where the package must, and with one where `*failed` is set.
 *
 * `y` is NULL for an operator on one array; with `into`, the result is written there.
 */
static PyObject *
compute(Fast *f, PyObject *x, PyObject *y, PyObject *into, int *failed)
{
    PyArrayObject *a = NULL, *b = NULL, *some;
    PyObject *args[3], *value, *m, *n, *number;
    Py_ssize_t many = 0;
    int is_part, is_mixed = 0;
    if (is_watched()) {
        return NULL;
    }
    if (into == NULL && ((value = record_operator(f, x, y)) != NULL || PyErr_Occurred())) {
        *failed = value == NULL;
        return value;
    }
    if (f->op == MATMUL && into == NULL && IS_ARRAY(x) && y != NULL && IS_ARRAY(y) && tiny() != 0 &&
        ((value = product_with_large(f, x, y, failed)) != NULL || *failed)) {
        return value;
    }
    /* What is pending first: to compute it may run anything. To look at `y` runs nothing, so `a` stays what it is. */
    if (y != NULL && IS_ARRAY(y) && (has_loop(NODE(y)) || is_stale(y))) {
        fresh(y);
    }
    if ((IS_ARRAY(x) && (a = fresh(x)) == NULL) ||
        (y != NULL && IS_ARRAY(y) && (b = seen(y)) == NULL)) {
        return NULL;
    }
    some = a != NULL ? a : b;
    if (some == NULL) {
        value = into == NULL ? compute_numbers(f, x, y) : NULL;
        *failed = value == NULL && PyErr_Occurred() != NULL;
        return value;
    }
    m = NODE(a != NULL ? x : y);
    n = NODE(b != NULL ? y : x);
    number = a == NULL ? x : b == NULL ? y : NULL;
    if (into == NULL && PyArray_NDIM(some) == 0 && ((value = of_elements(f, x, y)) != NULL || PyErr_Occurred())) {
        *failed = value == NULL;
        return value;
    }
    if (number != NULL && !is_number(number, some)) {
        if (into != NULL || !is_promoted(f, number)) {
            return NULL;
        }
        is_mixed = 1;
    }
    if (b == NULL) {
        n = m;
    }
    if (a != NULL && b != NULL && PyArray_DESCR(a) != PyArray_DESCR(b) &&
        !((f->is_ufunc || f->op == MATMUL) && (is_usual(f, b) || becomes_float(f, b)))) {
        return NULL;
    }
    if (into == NULL && f->op != POW && (PyArray_NDIM(some) != 0 || (b != NULL && PyArray_NDIM(b) != 0))) {
        value = few_of(f, x, a, m, y, b, n);
        if (value != NULL || PyErr_Occurred()) {
            *failed = value == NULL;
            return value;
        }
    }
    is_part = is_at_hand(m) || is_at_hand(n) || divides_integers(f, some);
    is_mixed |= into == NULL && (becomes_float(f, some) || (b != NULL && becomes_float(f, b)));
    if (f->host == Py_None || (into != NULL && !f->is_ufunc) || !(is_mixed || is_usual(f, some))) {
        return NULL;
    }
    if (f->op == MATMUL) {
        if (a == NULL || b == NULL || PyArray_NDIM(a) == 0 || PyArray_NDIM(b) == 0 ||
            !(is_part || (PyArray_NDIM(a) == 1 && PyArray_NDIM(b) == 1) ||
              (tiny() > 0 && PyArray_NBYTES(a) < large_bytes && PyArray_NBYTES(b) < large_bytes &&
               !is_large_product(a, b))) ||
            PyArray_NBYTES(a) >= part_bytes || PyArray_NBYTES(b) >= part_bytes) {
            return NULL;
        }
        if ((value = dot(a, b)) != NULL) {
            return known(value, Py_NewRef(SLOT(SLOT(m, n_aval), a_element)));
        }
    }
    else if (SLOT(m, n_aval) == SLOT(n, n_aval)) {
        if (!is_part && PyArray_NDIM(some) != 0) {
            return NULL;
        }
    }
    else if (!is_part || !is_small(a, m, b, n)) {
        return NULL;
    }
    if (number != NULL && !is_mixed) {
        int type = PyArray_DESCR(some)->type_num;
        is_mixed = PyBool_Check(number) ? 0
                   : type == NPY_BOOL   ? 1
                                        : PyTypeNum_ISINTEGER(type) && !PyLong_CheckExact(number);
        if (is_mixed && (into != NULL || !is_promoted(f, number))) {
            return NULL;
        }
    }
    args[many++] = a != NULL ? (PyObject *)a : x;
    if (y != NULL) {
        args[many++] = b != NULL ? (PyObject *)b : y;
    }
    if (into != NULL) {
        args[many++] = into;
    }
    Py_INCREF(m);
    Py_INCREF(n);
    value = call_host(f->host, args, many, NULL, into != NULL);
    if (value != NULL && !f->is_ufunc && forget_heard()) {
        Py_CLEAR(value); /* it may be another function of NumPy's that noted them: `x ** 2` is a square */
    }
    if (value != NULL && is_mixed && (forget_heard() || !is_held((PyArrayObject *)value))) {
        Py_CLEAR(value); /* what is told is told of the promoted number */
    }
    if (value != NULL && count_heard() != 0 && told(f, PyTuple_Pack(2, m, n), value) < 0) {
        Py_CLEAR(value);
    }
    else if (value != NULL && into == NULL) {
        value = known_array(value, m);
    }
    Py_DECREF(m);
    Py_DECREF(n);
    *failed = value == NULL && PyErr_Occurred() != NULL;
    return value;
}

/* Do an operator on arrays of middling size and write to `out`; NULL, without an error, if that is not so simple. */
static PyObject *
record_into(Fast *f, PyObject *x, PyObject *y, PyObject *out, int *failed)
{
    PyObject *found = is_watched() ? NULL : record_operator(f, x, y);
    int done = 0;
    if (found == NULL) {
        *failed = PyErr_Occurred() != NULL;
        return NULL;
    }
    if (SLOT(NODE(found), n_aval) == SLOT(NODE(out), n_aval)) {
        if (has_loop(NODE(out)) && SLOT(out, x_view) == Py_None && !is_frozen(out) && is_ours(out)) {
            Py_SETREF(NODE(out), Py_NewRef(NODE(found)));
            done = 1;
        }
        else {
            PyArrayObject *value = seen(out);
            done = value != NULL && run_into(out, value, NODE(found));
        }
    }
    Py_DECREF(found);
    return done ? Py_NewRef(out) : NULL;
}

/* Do an operator with `out=` and `where=`; NULL, without an error, where the package must. */
static PyObject *
compute_into(Fast *f, PyObject *const *args, Py_ssize_t n, PyObject *names, int *failed)
{
    PyObject *out = NULL, *owner, *value, *node, *given[4];
    PyArrayObject *memory;
    Py_ssize_t keywords = PyTuple_GET_SIZE(names);
    if (!f->is_ufunc || n != f->nin || keywords > 2 || is_watched()) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *arg = args[n + i];
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && IS_ARRAY(arg)) {
            out = arg;
        }
        else if (PyUnicode_CompareWithASCIIString(name, "where") != 0 || !IS_ARRAY(arg) || fresh(arg) == NULL ||
                 PyArray_DESCR(fresh(arg)) != truth_dtype) {
            return NULL;
        }
    }
    if (out == NULL || is_frozen(out)) {
        return NULL;
    }
    if (keywords == 1 && ((value = record_into(f, args[0], n == 2 ? args[1] : NULL, out, failed)) != NULL || *failed)) {
        return value;
    }
    memory = target(out, args, n + keywords, &owner);
    if (memory == NULL || !is_usual(f, memory) ||
        PyArray_NBYTES(memory) >= (Py_TYPE(NODE(out)) == Part ? part_bytes : large_bytes)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n + keywords; i++) {
        PyArrayObject *array = IS_ARRAY(args[i]) ? seen(args[i]) : NULL;
        if (i < n && (array == NULL ? !is_number(args[i], memory) : PyArray_DESCR(array) != PyArray_DESCR(memory))) {
            return NULL;
        }
        given[i] = array != NULL ? (PyObject *)array : args[i];
    }
    value = call_host(f->host, given, n, names, 1);
    if (value == NULL) {
        *failed = PyErr_Occurred() != NULL;
        return NULL;
    }
    Py_INCREF(node = NODE(out));
    *failed = count_heard() != 0 && told(f, PyTuple_Pack(1, node), value) < 0;
    Py_DECREF(node);
    Py_DECREF(value);
    return *failed ? NULL : Py_NewRef(out);
}

static PyObject *
call_operator(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    int failed = 0;
    PyObject *found = NULL;
    if (names != NULL && PyTuple_GET_SIZE(names) != 0) {
        found = compute_into(f, args, n, names, &failed);
    }
    else if (n == f->nin) {
        PyObject *x = args[n == 2 && f->reflected], *y = n == 1 ? NULL : args[!f->reflected], *own_x, *own_y;
        if (n == 2 && f->reflected && PyComplex_CheckExact(x) && is_pythons(y)) {
            return NULL;
        }
        if (!is_watched() && ((found = of_elements(f, x, y)) != NULL || PyErr_Occurred())) {
            return found;
        }
        own_x = adopt(&x, y, f->op == MATMUL ? 2 : 1);
        own_y = adopt(&y, x, f->op == MATMUL ? 2 : 1);
        found = is_recorded(x) || (y != NULL && is_recorded(y)) ? record_seen(f, x, y, &failed)
                                                                : compute(f, x, y, NULL, &failed);
        let_adopted_go(own_x, &found);
        let_adopted_go(own_y, &found);
    }
    else if (n == f->nin + 1 && IS_ARRAY(args[n - 1])) {
        found = record_into(f, args[0], n == 3 ? args[1] : NULL, args[n - 1], &failed);
    }
    return found;
}

/* x += y: into the memory, where nobody else looks at that; an array that owns its elements may get new ones. */
static PyObject *
compute_in_place(Fast *f, PyObject *x, PyObject *y)
{
    PyObject *owner, *found;
    PyArrayObject *memory;
    int failed = 0;
    if (SLOT(x, x_view) == Py_None && !is_watched() && ((found = of_elements(f, x, y)) != NULL || PyErr_Occurred())) {
        return found; /* a scalar in NumPy: `+=` makes a new one */
    }
    if ((found = record_into(f, x, y, x, &failed)) != NULL || failed) {
        return found;
    }
    memory = SLOT(x, x_view) == Py_None ? target(x, &y, 1, &owner) : memory_of(x, &y, 1, &owner);
    if (memory == NULL && Py_TYPE(NODE(x)) == Exported) {
        return NULL; /* new elements would not be in the memory that others have */
    }
    if (SLOT(x, x_view) == Py_None && is_ours(x) && (memory == NULL || PyArray_NDIM(memory) == 0)) {
        if ((found = compute(f, x, y, NULL, &failed)) == NULL) {
            return NULL;
        }
        if (PyTuple_GET_SIZE(SLOT(SLOT(NODE(x), n_aval), a_shape)) == 0) {
            return found;
        }
        if (SLOT(NODE(found), n_aval) != SLOT(NODE(x), n_aval)) {
            Py_DECREF(found);
            return NULL;
        }
        Py_SETREF(NODE(x), Py_NewRef(NODE(found)));
        Py_DECREF(found);
        return Py_NewRef(x);
    }
    if (memory == NULL || PyArray_NBYTES(memory) >= part_bytes ||
        (found = compute(f, x, y, (PyObject *)memory, &failed)) == NULL) {
        return NULL;
    }
    Py_DECREF(found);
    return Py_NewRef(x);
}

static PyObject *
call_in_place(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *y, *own_y, *found;
    if (PyVectorcall_NARGS(nargsf) != 2 || names != NULL || !IS_ARRAY(args[0]) || is_frozen(args[0])) {
        return NULL;
    }
    y = args[1];
    own_y = adopt(&y, args[0], 0);
    found = compute_in_place((Fast *)self, args[0], y);
    Py_XDECREF(own_y);
    return found;
}
