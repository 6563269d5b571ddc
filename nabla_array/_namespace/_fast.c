/* The short way of operators, for arrays whose elements are known: what `direct.py` does, without Python's time.
 *
 * Each object made here wraps the Python function of an operator. It answers by itself where both operands are
 * known, small, and of one dtype, and nothing watches (no tape, no batch level, no stale view); anything else, each
 * error among it, is left to the function, which knows how to say it. So the package gives the same results where
 * this file could not be compiled, later. The global interpreter lock is held throughout.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <math.h>
#include <stddef.h>

/* -- what `setup` is told of --------------------------------------------------------------------------- */

static PyTypeObject *Array, *Part, *View;
static PyObject *no_levels; /* the empty tuple */
static PyObject *tapes;     /* list: not empty while somebody must see each node */
static PyObject *frozen;    /* dict: not empty while some array is read-only */
static PyObject *notes;     /* list of functions that are told of an array that is written to */
static PyObject *recent;    /* dict: (shape, dtype) -> aval, the last ones */
static PyObject *aval_of;   /* the function behind it */
static PyObject *faults;    /* dict of the module: `_entered`, a context where faults are heard */
static PyObject *listener;  /* what hears them: `heard`, a list */
static PyObject *tell;      /* function(prim, nodes, aval): warns of them */
static Py_ssize_t part_bytes, large_bytes;
static PyArray_Descr *truth_dtype;

static Py_ssize_t x_node, x_levels, x_view;           /* where an Array has its slots */
static Py_ssize_t n_aval, n_value;                    /* a Node */
static Py_ssize_t v_base, v_seen, v_steps, v_part;    /* a View */
static Py_ssize_t a_element, a_shape;                 /* an Aval */
static PyObject *s_entered, *s_heard, *truth_aval;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define IS_ARRAY(o) (Py_TYPE(o) == Array)
#define NODE(x) SLOT(x, x_node)
#define VALUE_OF(node) SLOT(node, n_value)

/* Say whether each step must be recorded, or left to Python at least. */
static inline int
is_watched(void)
{
    return part_bytes == 0 || PyList_GET_SIZE(tapes) != 0;
}

/* Return the elements of an array (borrowed) if they are known and up to date; NULL, without an error, if not. */
static inline PyArrayObject *
fresh(PyObject *x)
{
    PyObject *view = SLOT(x, x_view), *value;
    if (PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0) {
        return NULL;
    }
    if (view != Py_None && NODE(SLOT(view, v_base)) != SLOT(view, v_seen)) {
        return NULL;
    }
    value = VALUE_OF(NODE(x));
    return value != NULL && PyArray_CheckExact(value) ? (PyArrayObject *)value : NULL;
}

/* Return a new array with a node, an aval and a value, which is stolen, as the aval is. */
static PyObject *
known(PyObject *value, PyObject *aval)
{
    PyObject *node = NULL, *x = NULL;
    if (value != NULL && aval != NULL && (node = Part->tp_alloc(Part, 0)) != NULL) {
        x = Array->tp_alloc(Array, 0);
    }
    if (x == NULL) {
        Py_XDECREF(value);
        Py_XDECREF(aval);
        Py_XDECREF(node);
        return NULL;
    }
    SLOT(node, n_aval) = aval;
    SLOT(node, n_value) = value;
    SLOT(x, x_node) = node;
    SLOT(x, x_levels) = Py_NewRef(no_levels);
    SLOT(x, x_view) = Py_NewRef(Py_None);
    return x;
}

static PyObject *
find_any_aval(int ndim, const npy_intp *dims, PyArray_Descr *dtype)
{
    PyObject *shape = PyTuple_New(ndim), *key, *aval;
    if (shape == NULL) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        PyObject *n = PyLong_FromSsize_t(dims[i]);
        if (n == NULL) {
            Py_DECREF(shape);
            return NULL;
        }
        PyTuple_SET_ITEM(shape, i, n);
    }
    key = PyTuple_Pack(2, shape, (PyObject *)dtype);
    Py_DECREF(shape);
    if (key == NULL) {
        return NULL;
    }
    aval = PyDict_GetItemWithError(recent, key);
    if (aval != NULL) {
        Py_INCREF(aval);
    }
    else if (!PyErr_Occurred()) {
        aval = PyObject_CallObject(aval_of, key);
    }
    Py_DECREF(key);
    return aval;
}

/* The avals that were asked for last, by what one hopes are different places for different ones. */
enum { PLACES = 256, AXES = 3 };
static struct {
    PyObject *aval;
    int type, ndim;
    npy_intp dims[AXES];
} places[PLACES];

/* Return the aval of a shape and a dtype. */
static PyObject *
find_aval(int ndim, const npy_intp *dims, PyArray_Descr *dtype)
{
    npy_uintp place = (npy_uintp)dtype->type_num * 31 + (npy_uintp)ndim;
    PyObject *aval;
    int same;
    if (ndim > AXES) {
        return find_any_aval(ndim, dims, dtype);
    }
    for (int i = 0; i < ndim; i++) {
        place = place * 31 + (npy_uintp)dims[i];
    }
    place %= PLACES;
    same = places[place].aval != NULL && places[place].type == dtype->type_num && places[place].ndim == ndim;
    if (same && PyArray_CompareLists(places[place].dims, dims, ndim)) {
        return Py_NewRef(places[place].aval);
    }
    aval = find_any_aval(ndim, dims, dtype);
    if (aval != NULL && PyArray_ISNBO(dtype->byteorder)) {
        Py_XSETREF(places[place].aval, Py_NewRef(aval));
        places[place].type = dtype->type_num;
        places[place].ndim = ndim;
        for (int i = 0; i < ndim; i++) {
            places[place].dims[i] = dims[i];
        }
    }
    return aval;
}

/* Return an array with a value (stolen) that may be like that of a node, if one is given. */
static PyObject *
known_array(PyObject *value, PyObject *node)
{
    PyArrayObject *new = (PyArrayObject *)value, *old = node == NULL ? NULL : (PyArrayObject *)VALUE_OF(node);
    int ndim = PyArray_NDIM(new);
    if (old != NULL && PyArray_DESCR(new) == PyArray_DESCR(old) && ndim == PyArray_NDIM(old) &&
        PyArray_CompareLists(PyArray_DIMS(new), PyArray_DIMS(old), ndim)) {
        return known(value, Py_NewRef(SLOT(node, n_aval)));
    }
    return known(value, find_aval(ndim, PyArray_DIMS(new), PyArray_DESCR(new)));
}

/* Return a new array of one element, which `data` points to; `aval` is borrowed, or NULL for that of a truth value. */
static PyObject *
known_number(PyArray_Descr *dtype, const void *data, PyObject *aval)
{
    PyObject *value;
    if (aval == NULL) { /* a truth value */
        if (truth_aval == NULL && (truth_aval = find_aval(0, NULL, dtype)) == NULL) {
            return NULL;
        }
        aval = truth_aval;
    }
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    if (value != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)value), data, PyDataType_ELSIZE(dtype));
    }
    return known(value, Py_NewRef(aval));
}

/* -- numbers --------------------------------------------------------------------------------------------- */

enum op { ADD, SUB, MUL, DIV, EQ, NE, LT, LE, GT, GE, AND, OR, XOR, RSHIFT, FLOORDIV, MOD, MATMUL, OTHER };
static const char *op_names[] = {"add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge",
                                 "and", "or", "xor", "shift_right", "floor_divide", "remainder", "matmul"};

#define IS_COMPARISON(op) ((op) >= EQ && (op) <= GE)

static inline int
compare(enum op op, int less, int equal, int greater)
{
    switch (op) {
    case EQ: return equal;
    case NE: return !equal;
    case LT: return less;
    case LE: return less || equal;
    case GT: return greater;
    default: return greater || equal;
    }
}

/* Integers of all widths but 64 bits without a sign, as 64 bits. */
static int
load_integer(int type, const void *data, long long *out)
{
    switch (type) {
    case NPY_INT8: *out = *(const npy_int8 *)data; return 1;
    case NPY_INT16: *out = *(const npy_int16 *)data; return 1;
    case NPY_INT32: *out = *(const npy_int32 *)data; return 1;
    case NPY_INT64: *out = *(const npy_int64 *)data; return 1;
    case NPY_UINT8: *out = *(const npy_uint8 *)data; return 1;
    case NPY_UINT16: *out = *(const npy_uint16 *)data; return 1;
    case NPY_UINT32: *out = *(const npy_uint32 *)data; return 1;
    default: return 0;
    }
}

/* Return whether the integer is one of the type, having stored it if so. */
static int
store_integer(int type, long long value, void *data)
{
    switch (type) {
    case NPY_INT8: *(npy_int8 *)data = (npy_int8)value; return value >= NPY_MIN_INT8 && value <= NPY_MAX_INT8;
    case NPY_INT16: *(npy_int16 *)data = (npy_int16)value; return value >= NPY_MIN_INT16 && value <= NPY_MAX_INT16;
    case NPY_INT32: *(npy_int32 *)data = (npy_int32)value; return value >= NPY_MIN_INT32 && value <= NPY_MAX_INT32;
    case NPY_INT64: *(npy_int64 *)data = value; return 1;
    case NPY_UINT8: *(npy_uint8 *)data = (npy_uint8)value; return value >= 0 && value <= NPY_MAX_UINT8;
    case NPY_UINT16: *(npy_uint16 *)data = (npy_uint16)value; return value >= 0 && value <= NPY_MAX_UINT16;
    case NPY_UINT32: *(npy_uint32 *)data = (npy_uint32)value; return value >= 0 && value <= NPY_MAX_UINT32;
    default: return 0;
    }
}

/* Return what an operator gives for two integers; 0 where that does not fit, or is not so simple. */
static int
integers(enum op op, long long a, long long b, long long *out)
{
    switch (op) {
    case ADD: return !__builtin_add_overflow(a, b, out);
    case SUB: return !__builtin_sub_overflow(a, b, out);
    case MUL: return !__builtin_mul_overflow(a, b, out);
    case AND: *out = a & b; return 1;
    case OR: *out = a | b; return 1;
    case XOR: *out = a ^ b; return 1;
    case RSHIFT:
        if (b < 0) {
            return 0;
        }
        *out = a >> (b > 63 ? 63 : b);
        return 1;
    case FLOORDIV:
    case MOD:
        if (b == 0 || b == -1) {
            return 0;
        }
        *out = op == MOD ? a % b : a / b;
        if (a % b != 0 && ((a < 0) != (b < 0))) {
            *out += op == MOD ? b : -1;
        }
        return 1;
    default: return 0;
    }
}

/* Load the operand `o`, an array of one element of this type or a number of Python's, as a double or an integer. */
static int
load(PyObject *o, PyArrayObject *value, int type, double *real, long long *integer)
{
    if (value != NULL) {
        const void *data = PyArray_DATA(value);
        if (!PyArray_ISBEHAVED_RO(value)) {
            return 0;
        }
        if (type == NPY_DOUBLE) {
            *real = *(const double *)data;
            return 1;
        }
        if (type == NPY_FLOAT) {
            *real = *(const float *)data;
            return 1;
        }
        return load_integer(type, data, integer);
    }
    if (PyFloat_CheckExact(o) || (type == NPY_DOUBLE && Py_TYPE(o) == &PyDoubleArrType_Type)) {
        *real = PyFloat_AS_DOUBLE(o);
        return type == NPY_DOUBLE || type == NPY_FLOAT;
    }
    if (PyLong_CheckExact(o)) {
        int overflow;
        *integer = PyLong_AsLongLongAndOverflow(o, &overflow);
        *real = (double)*integer;
        /* A double of a larger one may be rounded twice on the way to fewer bits. */
        return !overflow && (type != NPY_FLOAT || (*integer > -(1 << 24) && *integer < (1 << 24)));
    }
    return 0;
}

/* Return an operator's result for two numbers of one dtype; NULL, without an error, where that is not so simple.
 *
 * `a` and `b` are their elements, one of them NULL for a number of Python's. Results that are not finite, or do not
 * fit, are left to NumPy, which warns of them.
 */
static PyObject *
numbers(enum op op, PyObject *x, PyArrayObject *a, PyObject *y, PyArrayObject *b, PyObject *aval)
{
    PyArray_Descr *dtype = PyArray_DESCR(a != NULL ? a : b);
    int type = dtype->type_num;
    double p, q;
    long long i, j, k;
    union {
        double d;
        float f;
        long long i;
        npy_bool truth;
    } out;
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        if (op > GE || !load(x, a, type, &p, &i) || !load(y, b, type, &q, &j)) {
            return NULL;
        }
        if (type == NPY_FLOAT) { /* a number of Python's takes the dtype first */
            p = (float)p;
            q = (float)q;
            if (!isfinite(p) || !isfinite(q)) {
                return NULL;
            }
        }
        if (IS_COMPARISON(op)) {
            out.truth = (npy_bool)compare(op, p < q, p == q, p > q);
            return known_number(truth_dtype, &out, NULL);
        }
        if (op == DIV && q == 0) {
            return NULL;
        }
        if (type == NPY_FLOAT) {
            float f = (float)p, g = (float)q;
            out.f = op == ADD ? f + g : op == SUB ? f - g : op == MUL ? f * g : f / g;
            return isfinite(out.f) ? known_number(dtype, &out, aval) : NULL;
        }
        out.d = op == ADD ? p + q : op == SUB ? p - q : op == MUL ? p * q : p / q;
        return isfinite(out.d) ? known_number(dtype, &out, aval) : NULL;
    }
    if (op == DIV || !load(x, a, type, &p, &i) || !load(y, b, type, &q, &j)) {
        return NULL;
    }
    if (a == NULL || b == NULL) { /* a number of Python's that the dtype has not is an error */
        long long unused;
        if (!store_integer(type, a == NULL ? i : j, &unused)) {
            return NULL;
        }
    }
    if (IS_COMPARISON(op)) {
        out.truth = (npy_bool)compare(op, i < j, i == j, i > j);
        return known_number(truth_dtype, &out, NULL);
    }
    if (!integers(op, i, j, &k) || !store_integer(type, k, &out)) {
        return NULL;
    }
    return known_number(dtype, &out, aval);
}

/* -- operators ------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *slow;  /* the function behind it, which answers where this does not */
    PyObject *prim;
    PyObject *host;  /* NumPy's function */
    enum op op;
    int reflected, is_ufunc, nin;
    Py_ssize_t out;   /* the place of the argument that `whole` would write to */
    char kind;        /* what `scalar` makes: 'b'ool, 'f'loat, 'i'nt, inde'x' */
    npy_uint64 types; /* a bit for each dtype, by its number in NumPy, on which the host's function is the package's */
} Fast;

/* Return how many faults NumPy noted that nobody was told of, -1 for an error. */
static Py_ssize_t
count_heard(void)
{
    PyObject *heard = PyObject_GetAttr(listener, s_heard);
    Py_ssize_t n = heard == NULL ? -1 : PyList_GET_SIZE(heard);
    Py_XDECREF(heard);
    return n;
}

/* Tell of the faults that NumPy noted at what was computed from some nodes (stolen); returns -1 if that raised. */
static int
told(Fast *f, PyObject *nodes, PyObject *value)
{
    PyArrayObject *array = (PyArrayObject *)value;
    PyObject *aval = find_aval(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_DESCR(array));
    PyObject *done = nodes && aval ? PyObject_CallFunctionObjArgs(tell, f->prim, nodes, aval, NULL) : NULL;
    Py_XDECREF(nodes);
    Py_XDECREF(aval);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Call NumPy's function where its faults are heard; NULL where Python should do it, and say what is wrong.
 *
 * An error is set only for what is none of Python's `Exception`: somebody presses Ctrl-C.
 */
static PyObject *
call_host(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *context = PyDict_GetItemWithError(faults, s_entered), *value;
    Py_ssize_t all = n + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (context == NULL || PyContext_Enter(context) < 0) {
        PyErr_Clear(); /* somebody is in there */
        return NULL;
    }
    Py_INCREF(context);
    for (Py_ssize_t i = 0; i < all; i++) { /* other threads may let go of them while NumPy works */
        Py_INCREF(args[i]);
    }
    value = PyObject_Vectorcall(host, args, (size_t)n, names);
    for (Py_ssize_t i = 0; i < all; i++) {
        Py_DECREF(args[i]);
    }
    if (value != NULL && !PyArray_CheckExact(value)) {
        Py_SETREF(value, PyArray_FROM_O(value));
    }
    if (value == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
    }
    if (PyContext_Exit(context) < 0) {
        Py_CLEAR(value);
    }
    Py_DECREF(context);
    return value;
}

/* Say whether NumPy's function gives for this dtype what the package's does. */
static inline int
is_usual(Fast *f, PyArrayObject *a)
{
    int type = PyArray_DESCR(a)->type_num;
    return type < 64 && (f->types >> type & 1);
}

/* Say whether this is a number that takes the dtype of the array that it meets. */
static inline int
is_number(PyObject *o, PyArrayObject *with)
{
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) ||
           (Py_TYPE(o) == &PyDoubleArrType_Type && PyArray_DESCR(with)->type_num == NPY_DOUBLE);
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

/* Compute an operator at once; NULL, without an error, where the package must, and with one where `*failed` is set.
 *
 * `y` is NULL for an operator on one array; with `into`, the result is written there.
 */
static PyObject *
compute(Fast *f, PyObject *x, PyObject *y, PyObject *into, int *failed)
{
    PyArrayObject *a = NULL, *b = NULL, *some;
    PyObject *args[3], *value, *m, *n;
    Py_ssize_t many = 0;
    int is_part;
    if (is_watched() || (IS_ARRAY(x) && (a = fresh(x)) == NULL) ||
        (y != NULL && IS_ARRAY(y) && (b = fresh(y)) == NULL)) {
        return NULL;
    }
    some = a != NULL ? a : b;
    if (some == NULL) {
        return NULL;
    }
    m = NODE(a != NULL ? x : y);
    n = NODE(b != NULL ? y : x);
    if ((a == NULL && !is_number(x, some)) || (y != NULL && b == NULL && !is_number(y, some))) {
        return NULL;
    }
    if (b == NULL) {
        n = m;
    }
    if (a != NULL && b != NULL && PyArray_DESCR(a) != PyArray_DESCR(b) && !(f->is_ufunc && is_usual(f, b))) {
        return NULL;
    }
    if (f->op != OTHER && into == NULL && SLOT(m, n_aval) == SLOT(n, n_aval) && PyArray_NDIM(some) == 0) {
        value = numbers(f->op, x, a, y, b, SLOT(m, n_aval));
        if (value != NULL || PyErr_Occurred()) {
            *failed = value == NULL;
            return value;
        }
    }
    is_part = Py_TYPE(m) == Part || Py_TYPE(n) == Part;
    if (f->host == Py_None || (into != NULL && !f->is_ufunc) || !is_usual(f, some)) {
        return NULL;
    }
    if (f->op == MATMUL) {
        if (a == NULL || b == NULL || PyArray_NDIM(a) == 0 || PyArray_NDIM(b) == 0 ||
            !(is_part || (PyArray_NDIM(a) == 1 && PyArray_NDIM(b) == 1)) || PyArray_NBYTES(a) >= part_bytes ||
            PyArray_NBYTES(b) >= part_bytes) {
            return NULL;
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
    if (y != NULL && (a == NULL || b == NULL)) {
        int type = PyArray_DESCR(some)->type_num;
        if (type == NPY_BOOL || (PyTypeNum_ISINTEGER(type) && !PyLong_CheckExact(a == NULL ? x : y))) {
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
    value = call_host(f->host, args, many, NULL);
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

/* Tell of an array that is written to; returns -1 if that raised. */
static int
note_write(PyObject *owner)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(notes); i++) {
        PyObject *done = PyObject_CallOneArg(PyList_GET_ITEM(notes, i), owner);
        if (done == NULL) {
            return -1;
        }
        Py_DECREF(done);
    }
    return 0;
}

/* Return how many views of the owner's memory `y` is, 0 or 1; -1 if it is one that others know. */
static inline int
uses(PyObject *y, PyObject *owner)
{
    PyObject *view = SLOT(y, x_view), *part;
    if (view == Py_None || SLOT(view, v_base) != owner) {
        return 0;
    }
    part = VALUE_OF(NODE(y));
    if (part == NULL || !PyArray_CheckExact(part) || PyArray_BASE((PyArrayObject *)part) != VALUE_OF(NODE(owner)) ||
        Py_REFCNT(NODE(y)) != 1) {
        return -1;
    }
    return 1;
}

/* Return the elements of `x` (borrowed) to be written to, if nobody but `others` would see that, or NULL.
 *
 * `*owner` becomes the array that they are of. Each count is of what is known: the owner has its node and a view's
 * `seen` names it; the node has its value and a view's memory is based on it.
 */
static PyArrayObject *
target(PyObject *x, PyObject *const *others, Py_ssize_t n, PyObject **owner)
{
    PyObject *view = SLOT(x, x_view);
    PyArrayObject *value = fresh(x), *memory;
    Py_ssize_t many;
    if (value == NULL) {
        return NULL;
    }
    *owner = view == Py_None ? x : SLOT(view, v_base);
    if (PyTuple_GET_SIZE(SLOT(*owner, x_levels)) != 0 || VALUE_OF(NODE(*owner)) == NULL ||
        !PyArray_CheckExact(VALUE_OF(NODE(*owner)))) {
        return NULL;
    }
    memory = (PyArrayObject *)VALUE_OF(NODE(*owner));
    if (!PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)) {
        return NULL;
    }
    if ((many = uses(x, *owner)) < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int seen = others[i] == x, used;
        for (Py_ssize_t k = 0; k < i; k++) {
            seen |= others[k] == others[i];
        }
        if (!seen && IS_ARRAY(others[i])) {
            if ((used = uses(others[i], *owner)) < 0) {
                return NULL;
            }
            many += used;
        }
    }
    return Py_REFCNT(NODE(*owner)) == 1 + many && Py_REFCNT(memory) == 1 + many ? value : NULL;
}

/* Do an operator with `out=` and `where=`; NULL, without an error, where the package must. */
static PyObject *
compute_into(Fast *f, PyObject *const *args, Py_ssize_t n, PyObject *names, int *failed)
{
    PyObject *out = NULL, *owner, *value, *given[4];
    PyArrayObject *memory;
    Py_ssize_t keywords = PyTuple_GET_SIZE(names);
    if (!f->is_ufunc || n != f->nin || keywords > 2 || IS_COMPARISON(f->op) || is_watched() ||
        PyDict_GET_SIZE(frozen) != 0) {
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
    if (out == NULL) {
        return NULL;
    }
    memory = target(out, args, n + keywords, &owner);
    if (memory == NULL || !is_usual(f, memory) ||
        PyArray_NBYTES(memory) >= (Py_TYPE(NODE(out)) == Part ? part_bytes : large_bytes)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n + keywords; i++) {
        PyArrayObject *array = IS_ARRAY(args[i]) ? fresh(args[i]) : NULL;
        if (i < n && (array == NULL ? !is_number(args[i], memory) : PyArray_DESCR(array) != PyArray_DESCR(memory))) {
            return NULL;
        }
        given[i] = array != NULL ? (PyObject *)array : args[i];
    }
    value = call_host(f->host, given, n, names);
    if (value == NULL) {
        *failed = PyErr_Occurred() != NULL;
        return NULL;
    }
    *failed = (count_heard() != 0 && told(f, PyTuple_Pack(1, NODE(out)), value) < 0) || note_write(owner) < 0;
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
    else if (n == 1 && f->nin == 1) {
        found = IS_ARRAY(args[0]) ? compute(f, args[0], NULL, NULL, &failed) : NULL;
    }
    else if (n == 2 && f->nin == 2) {
        found = compute(f, args[f->reflected], args[!f->reflected], NULL, &failed);
    }
    return found != NULL || failed ? found : PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* x += y: into the memory of a view; an array that owns its elements gets the new ones. */
static PyObject *
call_in_place(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    PyObject *x, *y, *owner, *found;
    PyArrayObject *memory;
    int failed = 0;
    if (PyVectorcall_NARGS(nargsf) != 2 || names != NULL || !IS_ARRAY(args[0]) || PyDict_GET_SIZE(frozen) != 0) {
        goto slow;
    }
    x = args[0];
    y = args[1];
    if (SLOT(x, x_view) == Py_None) {
        found = compute(f, x, y, NULL, &failed);
        if (failed) {
            return NULL;
        }
        if (found == NULL) {
            goto slow;
        }
        if (PyArray_NDIM((PyArrayObject *)VALUE_OF(NODE(x))) == 0) {
            return found; /* a scalar in NumPy: `+=` makes a new one */
        }
        if (SLOT(NODE(found), n_aval) != SLOT(NODE(x), n_aval)) {
            Py_DECREF(found);
            goto slow;
        }
        Py_SETREF(NODE(x), Py_NewRef(NODE(found)));
        Py_DECREF(found);
        return note_write(x) < 0 ? NULL : Py_NewRef(x);
    }
    memory = target(x, &y, 1, &owner);
    if (memory == NULL || PyArray_NBYTES(memory) >= part_bytes) {
        goto slow;
    }
    found = compute(f, x, y, (PyObject *)memory, &failed);
    if (failed) {
        return NULL;
    }
    if (found == NULL) {
        goto slow;
    }
    Py_DECREF(found);
    return note_write(owner) < 0 ? NULL : Py_NewRef(x);
slow:
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* -- keys ------------------------------------------------------------------------------------------------ */

/* Read an index: an int, or an array of one integer that is known; returns 0 for anything else. */
static inline int
as_index(PyObject *key, npy_intp *out)
{
    if (PyLong_CheckExact(key)) {
        *out = PyLong_AsSsize_t(key);
        if (*out == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return 1;
    }
    if (IS_ARRAY(key)) {
        PyArrayObject *value = fresh(key);
        long long i;
        if (value == NULL || PyArray_NDIM(value) != 0 || !PyArray_ISBEHAVED_RO(value) ||
            !load_integer(PyArray_DESCR(value)->type_num, PyArray_DATA(value), &i)) {
            return 0;
        }
        *out = (npy_intp)i;
        return 1;
    }
    return 0;
}

/* Return where the one element is that a key gives, NULL if it does not give one that is there. */
static char *
element(PyArrayObject *value, PyObject *key)
{
    char *data = PyArray_BYTES(value);
    int ndim = PyArray_NDIM(value), many = PyTuple_CheckExact(key);
    if (ndim == 0 || ndim != (many ? (int)PyTuple_GET_SIZE(key) : 1)) {
        return NULL;
    }
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp i, n = PyArray_DIM(value, axis);
        if (!as_index(many ? PyTuple_GET_ITEM(key, axis) : key, &i) || i >= n || i < -n) {
            return NULL;
        }
        data += (i < 0 ? i + n : i) * PyArray_STRIDE(value, axis);
    }
    return data;
}

static inline int
is_plain(PyObject *item)
{
    return PyLong_CheckExact(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis;
}

/* Return a key that gives a view (a new reference), with ints in it for numbers; NULL, without an error, if not. */
static PyObject *
plain_key(PyObject *key)
{
    npy_intp i;
    PyObject *out = NULL;
    if (!PyTuple_CheckExact(key)) {
        return is_plain(key) ? Py_NewRef(key) : as_index(key, &i) ? PyLong_FromSsize_t(i) : NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(key), plain = 0;
    while (plain < n && is_plain(PyTuple_GET_ITEM(key, plain))) {
        plain++;
    }
    if (plain == n) {
        return Py_NewRef(key);
    }
    out = PyTuple_New(n);
    for (Py_ssize_t k = 0; out != NULL && k < n; k++) {
        PyObject *item = PyTuple_GET_ITEM(key, k);
        PyObject *ready = is_plain(item) ? Py_NewRef(item) : as_index(item, &i) ? PyLong_FromSsize_t(i) : NULL;
        if (ready == NULL) {
            Py_CLEAR(out);
            break;
        }
        PyTuple_SET_ITEM(out, k, ready);
    }
    PyErr_Clear();
    return out;
}

/* x[key] */
static PyObject *
read_part(PyObject *x, PyObject *key)
{
    PyArrayObject *value;
    PyObject *plain, *part, *out, *seen, *view, *node = NODE(x), *whole;
    char *data;
    if (is_watched() || (value = fresh(x)) == NULL) {
        return NULL;
    }
    data = element(value, key);
    if (data != NULL) {
        return known_number(PyArray_DESCR(value), data, SLOT(SLOT(node, n_aval), a_element));
    }
    if (PyDict_GET_SIZE(frozen) != 0 || (plain = plain_key(key)) == NULL) {
        return NULL;
    }
    part = PyObject_GetItem((PyObject *)value, plain);
    if (part == NULL || !PyArray_CheckExact(part) || PyArray_NBYTES((PyArrayObject *)part) >= part_bytes) {
        PyErr_Clear(); /* told elsewhere, in our words */
        Py_XDECREF(part);
        Py_DECREF(plain);
        return NULL;
    }
    out = known_array(part, node);
    view = out != NULL ? View->tp_alloc(View, 0) : NULL;
    if (view == NULL) {
        Py_XDECREF(out);
        Py_DECREF(plain);
        return NULL;
    }
    seen = SLOT(x, x_view);
    whole = seen == Py_None ? x : seen;
    PyObject *shape = SLOT(SLOT(node, n_aval), a_shape);
    SLOT(view, v_base) = Py_NewRef(seen == Py_None ? x : SLOT(seen, v_base));
    SLOT(view, v_seen) = Py_NewRef(seen == Py_None ? node : SLOT(seen, v_seen));
    SLOT(view, v_steps) = Py_NewRef(Py_None);
    SLOT(view, v_part) = PyTuple_Pack(3, whole, plain, shape);
    Py_DECREF(plain);
    Py_SETREF(SLOT(out, x_view), view);
    if (SLOT(view, v_part) == NULL) {
        Py_CLEAR(out);
    }
    return out;
}

static PyObject *
call_getitem(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 2 && names == NULL && IS_ARRAY(args[0])) {
        PyObject *found = read_part(args[0], args[1]);
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return PyObject_Vectorcall(((Fast *)self)->slow, args, nargsf, names);
}

/* Write a number where `data` points; returns 0 where NumPy should do it. */
static int
write_number(int type, char *data, PyObject *y, PyArrayObject *value)
{
    double real;
    long long integer, kept;
    if (!load(y, value, type, &real, &integer)) {
        return 0;
    }
    switch (type) {
    case NPY_DOUBLE: *(double *)data = real; return 1;
    case NPY_FLOAT:
        if (value == NULL && !isfinite((float)real)) {
            return 0;
        }
        *(float *)data = (float)real;
        return 1;
    default:
        if (!store_integer(type, integer, &kept)) {
            return 0;
        }
        store_integer(type, integer, data);
        return 1;
    }
}

/* x[key] = y; returns 1 if that is done, 0 if the package must do it, -1 for an error. */
static int
write_part(PyObject *x, PyObject *key, PyObject *y)
{
    PyObject *owner, *plain;
    PyArrayObject *memory, *new = NULL;
    char *data;
    int type, done;
    if (is_watched() || PyDict_GET_SIZE(frozen) != 0) {
        return 0;
    }
    if (IS_ARRAY(y)) {
        PyObject *view = SLOT(y, x_view);
        if (view != Py_None && SLOT(view, v_part) != Py_None && SLOT(view, v_part) != NULL &&
            PyTuple_GET_ITEM(SLOT(view, v_part), 1) == key &&
            PyTuple_GET_ITEM(SLOT(view, v_part), 0) == (SLOT(x, x_view) == Py_None ? x : SLOT(x, x_view))) {
            return 1; /* Python's last step of `x[key] += v`, which has been written */
        }
        if ((new = fresh(y)) == NULL || PyArray_NBYTES(new) >= part_bytes) {
            return 0;
        }
    }
    memory = target(x, &y, 1, &owner);
    if (memory == NULL || (new == NULL && !is_number(y, memory)) ||
        (new != NULL && !PyArray_CanCastTypeTo(PyArray_DESCR(new), PyArray_DESCR(memory), NPY_SAME_KIND_CASTING))) {
        return 0;
    }
    type = PyArray_DESCR(memory)->type_num;
    if (new == NULL && (type == NPY_BOOL || (PyFloat_CheckExact(y) && PyTypeNum_ISINTEGER(type)))) {
        return 0;
    }
    data = NULL;
    if (new == NULL || (PyArray_NDIM(new) == 0 && PyArray_DESCR(new) == PyArray_DESCR(memory))) {
        data = element(memory, key);
    }
    if (data != NULL && PyArray_ISBEHAVED(memory) && write_number(type, data, y, new)) {
        return note_write(owner) < 0 ? -1 : 1;
    }
    plain = plain_key(key);
    if (plain == NULL) {
        return 0;
    }
    done = PyObject_SetItem((PyObject *)memory, plain, new != NULL ? (PyObject *)new : y);
    Py_DECREF(plain);
    if (done < 0) {
        PyErr_Clear(); /* told elsewhere, in our words */
        return 0;
    }
    return note_write(owner) < 0 ? -1 : 1;
}

static PyObject *
call_setitem(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 3 && names == NULL && IS_ARRAY(args[0])) {
        int done = write_part(args[0], args[1], args[2]);
        if (done != 0) {
            return done < 0 ? NULL : Py_NewRef(Py_None);
        }
    }
    return PyObject_Vectorcall(((Fast *)self)->slow, args, nargsf, names);
}

/* bool(x), float(x), int(x), operator.index(x) of one element */
static PyObject *
call_scalar(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyArrayObject *value;
    Fast *f = (Fast *)self;
    if (PyVectorcall_NARGS(nargsf) == 1 && names == NULL && IS_ARRAY(args[0]) && !is_watched() &&
        (value = fresh(args[0])) != NULL && PyArray_NDIM(value) == 0) {
        int type = PyArray_DESCR(value)->type_num;
        int is_real = type == NPY_DOUBLE || type == NPY_FLOAT;
        double real = 0;
        long long integer = 0;
        if (type == NPY_BOOL && f->kind == 'b') { /* one byte, aligned anyway */
            return PyBool_FromLong(*(npy_bool *)PyArray_DATA(value));
        }
        if (load(NULL, value, type, &real, &integer)) {
            if (f->kind == 'b') {
                return PyBool_FromLong(is_real ? real != 0 : integer != 0);
            }
            if (f->kind == 'f') {
                return PyFloat_FromDouble(is_real ? real : (double)integer);
            }
            if (!is_real) {
                return PyLong_FromLongLong(integer);
            }
            if (f->kind == 'i' && isfinite(real)) {
                return PyLong_FromDouble(real);
            }
        }
    }
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* -- functions of NumPy's that take whole arrays ------------------------------------------------------------ */

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
    if (arg == Py_None || PyBool_Check(arg) || PyLong_CheckExact(arg) || PyFloat_CheckExact(arg)) {
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
    /* Faults are told of by the package, which knows the operation. */
    if (count_heard() != 0) {
        PyObject *heard = PyObject_GetAttr(listener, s_heard);
        if (heard == NULL || PyList_SetSlice(heard, 0, PY_SSIZE_T_MAX, NULL) < 0) {
            PyErr_Clear();
        }
        Py_XDECREF(heard);
        Py_DECREF(value);
        goto slow;
    }
    if (!PyArray_CHKFLAGS((PyArrayObject *)value, NPY_ARRAY_OWNDATA) || !is_usual(f, (PyArrayObject *)value)) {
        Py_DECREF(value);
        goto slow;
    }
    return known_array(value, NULL);
slow:
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* -- the wrapping type ----------------------------------------------------------------------------------- */

static void
fast_dealloc(PyObject *self)
{
    Fast *f = (Fast *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(f->slow);
    Py_CLEAR(f->prim);
    Py_CLEAR(f->host);
    PyObject_GC_Del(self);
}

static int
fast_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Fast *)self)->slow);
    Py_VISIT(((Fast *)self)->prim);
    Py_VISIT(((Fast *)self)->host);
    return 0;
}

static PyObject *
fast_get(PyObject *self, PyObject *object, PyObject *type)
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

/* pickle finds it where the function behind it says that it is. */
static PyObject *
fast_reduce(PyObject *self, PyObject *unused)
{
    return PyObject_GetAttrString(((Fast *)self)->slow, "__qualname__");
}

static PyMethodDef fast_methods[] = {
    {"__reduce__", fast_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* What else one asks of a function (its name, its signature) is asked of the one behind it. */
static PyObject *
fast_getattro(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__class__", "__reduce__", "__reduce_ex__"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        return Py_NewRef(((Fast *)self)->slow);
    }
    return PyObject_GetAttr(((Fast *)self)->slow, name);
}

static int
fast_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Fast *)self)->slow, name, value);
}

static PyObject *
fast_repr(PyObject *self)
{
    return PyObject_Repr(((Fast *)self)->slow);
}

static PyTypeObject FastType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._namespace._fast.Fast",
    .tp_basicsize = sizeof(Fast),
    .tp_dealloc = fast_dealloc,
    .tp_traverse = fast_traverse,
    .tp_vectorcall_offset = offsetof(Fast, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = fast_get,
    .tp_methods = fast_methods,
    .tp_getattro = fast_getattro,
    .tp_setattro = fast_setattro,
    .tp_repr = fast_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC,
};

static Fast *
new_fast(vectorcallfunc call, PyObject *slow, PyObject *prim, PyObject *host)
{
    Fast *f = PyObject_GC_New(Fast, &FastType);
    if (f != NULL) {
        f->call = call;
        f->slow = Py_NewRef(slow);
        f->prim = Py_NewRef(prim);
        f->host = Py_NewRef(host);
        f->op = OTHER;
        f->kind = 0;
        f->reflected = f->is_ufunc = 0;
        f->nin = 2;
        f->out = -1;
        f->types = 0;
        PyObject_GC_Track((PyObject *)f);
    }
    return f;
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

static const struct {
    const char *name;
    vectorcallfunc call;
} ways[] = {
    {"binary", call_operator},   {"reflected", call_operator}, {"unary", call_operator},   {"in_place", call_in_place},
    {"getitem", call_getitem},   {"setitem", call_setitem},    {"scalar", call_scalar},
    {"whole", call_whole},
    {"array_ufunc", call_array_ufunc},
};

/* wrap(way, slow, name, prim=None, host=None, types=(), out=-1): see `fast.py` */
static PyObject *
wrap(PyObject *module, PyObject *args)
{
    const char *way, *name;
    PyObject *slow, *prim = Py_None, *host = Py_None, *types = no_levels;
    Fast *f = NULL;
    Py_ssize_t out = -1;
    if (!PyArg_ParseTuple(args, "sOs|OOO!n", &way, &slow, &name, &prim, &host, &PyTuple_Type, &types, &out)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(way, ways[i].name) == 0 && (f = new_fast(ways[i].call, slow, prim, host)) == NULL) {
            return NULL;
        }
    }
    if (f == NULL) {
        return PyErr_Format(PyExc_ValueError, "wrap: no way to wrap %s", way);
    }
    f->reflected = strcmp(way, "reflected") == 0;
    f->nin = strcmp(way, "unary") == 0 ? 1 : 2;
    f->is_ufunc = strcmp(Py_TYPE(host)->tp_name, "numpy.ufunc") == 0;
    f->out = out;
    f->kind = strcmp(name, "index") == 0 ? 'x' : name[0];
    for (int op = 0; op < OTHER; op++) {
        if (strcmp(name, op_names[op]) == 0) {
            f->op = (enum op)op;
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        f->types |= (npy_uint64)1 << PyLong_AsLong(PyTuple_GET_ITEM(types, i));
    }
    return (PyObject *)f;
}

/* like(fast, slow): the short way of one function for another */
static PyObject *
like(PyObject *module, PyObject *args)
{
    Fast *old, *f;
    PyObject *slow;
    if (!PyArg_ParseTuple(args, "O!O", &FastType, &old, &slow)) {
        return NULL;
    }
    f = new_fast(old->call, slow, old->prim, old->host);
    if (f != NULL) {
        f->op = old->op;
        f->reflected = old->reflected;
        f->is_ufunc = old->is_ufunc;
        f->nin = old->nin;
        f->out = old->out;
        f->kind = old->kind;
        f->types = old->types;
    }
    return (PyObject *)f;
}

/* limit(part, large): see `direct.py` */
static PyObject *
limit(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "nn", &part_bytes, &large_bytes)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Return where a class keeps a slot, -1 with an error if it does not. */
static Py_ssize_t
offset_of(PyObject *type, const char *name)
{
    PyObject *slot = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (slot != NULL) {
        if (Py_TYPE(slot) == &PyMemberDescr_Type) {
            offset = ((PyMemberDescrObject *)slot)->d_member->offset;
        }
        else {
            PyErr_Format(PyExc_TypeError, "setup: %s is no slot", name);
        }
        Py_DECREF(slot);
    }
    return offset;
}

/* setup(Array, Node, Part, View, Aval, tapes, frozen, notes, recent, aval_of, faults, listener, tell) */
static PyObject *
setup(PyObject *module, PyObject *args)
{
    PyObject *array, *node, *part, *view, *aval, *running;
    if (!PyArg_ParseTuple(args, "OOOOOO!O!O!O!OO!OO", &array, &node, &part, &view, &aval, &PyList_Type, &running,
                          &PyDict_Type, &frozen, &PyList_Type, &notes, &PyDict_Type, &recent, &aval_of,
                          &PyDict_Type, &faults, &listener, &tell)) {
        return NULL;
    }
    if ((x_node = offset_of(array, "_node")) < 0 || (x_levels = offset_of(array, "_levels")) < 0 ||
        (x_view = offset_of(array, "_view")) < 0 || (n_aval = offset_of(node, "aval")) < 0 ||
        (n_value = offset_of(node, "value")) < 0 || (v_base = offset_of(view, "base")) < 0 ||
        (v_seen = offset_of(view, "seen")) < 0 || (v_steps = offset_of(view, "_steps")) < 0 ||
        (v_part = offset_of(view, "_part")) < 0 || (a_element = offset_of(aval, "element")) < 0 ||
        (a_shape = offset_of(aval, "shape")) < 0) {
        return NULL;
    }
    Array = (PyTypeObject *)Py_NewRef(array);
    Part = (PyTypeObject *)Py_NewRef(part);
    View = (PyTypeObject *)Py_NewRef(view);
    Py_INCREF(frozen);
    Py_INCREF(notes);
    Py_INCREF(recent);
    Py_INCREF(aval_of);
    Py_INCREF(faults);
    Py_INCREF(listener);
    Py_INCREF(tell);
    tapes = Py_NewRef(running);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "Take what operators must know of."},
    {"like", like, METH_VARARGS, "Return a function that answers simple calls as another does."},
    {"limit", limit, METH_VARARGS, "Take from how many bytes on parts, and other arrays, are recorded."},
    {"wrap", wrap, METH_VARARGS, "Return a function that answers simple calls in the place of another."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_fast",
    .m_doc = "The short way of operators.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    import_array();
    no_levels = PyTuple_New(0);
    truth_dtype = PyArray_DescrFromType(NPY_BOOL);
    s_entered = PyUnicode_InternFromString("_entered");
    s_heard = PyUnicode_InternFromString("heard");
    if (no_levels == NULL || s_entered == NULL || s_heard == NULL || PyType_Ready(&FastType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "Fast", (PyObject *)&FastType) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
