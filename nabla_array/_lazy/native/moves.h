/* Views that move no elements: x.T, x.reshape(shape), and functions such as moveaxis(x, 0, 1). */

/* Return the elements of an array in a shape, given as arguments of `reshape`, perhaps copied; NULL where that is not so
 * simple.
 */
static PyObject *
reshaped(PyArrayObject *value, PyObject *const *args, Py_ssize_t n)
{
    npy_intp dims[NPY_MAXDIMS];
    PyArray_Dims shape = {dims, 0};
    PyObject *part;
    if (n == 1 && PyTuple_CheckExact(args[0])) {
        n = PyTuple_GET_SIZE(args[0]);
        args = &PyTuple_GET_ITEM(args[0], 0);
    }
    if (n > NPY_MAXDIMS) {
        return NULL;
    }
    for (; shape.len < n; shape.len++) {
        if (!PyLong_CheckExact(args[shape.len])) {
            return NULL;
        }
        dims[shape.len] = PyLong_AsSsize_t(args[shape.len]);
    }
    part = PyErr_Occurred() ? NULL : PyArray_Newshape(value, &shape, NPY_CORDER);
    PyErr_Clear(); /* told elsewhere, in our words */
    return part;
}

/* Say whether what NumPy made of an array by another shape is no view of it: views begin where the array does.
 *
 * Their bases do not tell: NumPy follows an array's base to the one that owns the memory, and that of a broadcast value
 * may not be it.
 */
static inline int
is_copy(PyObject *part, PyArrayObject *value)
{
    return PyArray_BYTES((PyArrayObject *)part) != PyArray_BYTES(value);
}

/* Say whether an array's elements lie as NumPy's do, so that NumPy copies them where it does there.
 *
 * Equal ones may lie in one place, what was written through a view may lie in the view's order, and what was
 * written to the whole of a view has memory of its own until the view is made anew.
 */
static int
lies_as_numpys(PyObject *x, PyArrayObject *value)
{
    PyObject *view = SLOT(x, x_view), *memory = view == Py_None ? (PyObject *)value : VALUE_OF(SLOT(view, v_seen));
    if (memory == NULL || !PyArray_CheckExact(memory) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)memory)) {
        return 0;
    }
    char *start = PyArray_BYTES((PyArrayObject *)memory);
    return PyArray_BYTES(value) >= start && PyArray_BYTES(value) <= start + PyArray_NBYTES((PyArrayObject *)memory);
}

/* Read an axis among `ndim`, an integer of Python's; returns 0 for anything else. */
static int
is_axis(PyObject *o, int ndim, int *axis)
{
    npy_intp i;
    if (!as_index(o, &i) || i < -ndim || i >= ndim) {
        return 0;
    }
    *axis = (int)(i < 0 ? i + ndim : i);
    return 1;
}

/* Return the axis in a tuple of one, which all but `swapaxes` take; anything else as it is. */
static inline PyObject *
only_axis(char kind, PyObject *axes)
{
    return kind != 's' && PyTuple_CheckExact(axes) && PyTuple_GET_SIZE(axes) == 1 ? PyTuple_GET_ITEM(axes, 0) : axes;
}

/* Read a length of a shape: an integer of Python's or NumPy's; returns 0 for anything else. */
static inline int
as_length(PyObject *o, npy_intp *out)
{
    if (PyArray_IsScalar(o, Integer)) {
        *out = PyNumber_AsSsize_t(o, NULL);
        return 1;
    }
    return as_index(o, out);
}

/* Read the axes that become those of a view, in this order, from the arguments of a function; returns 0 where that is not
 * so simple.
 */
static int
read_order(char kind, PyObject *const *args, Py_ssize_t n, int ndim, npy_intp *order)
{
    int from, to, taken[NPY_MAXDIMS] = {0}, places = 0;
    if ((kind == 'T' || kind == 'p') && n == 0) {
        for (int i = 0; i < ndim; i++) {
            order[i] = ndim - 1 - i;
        }
        return 1;
    }
    if (kind == 'T' || kind == 'p') { /* x.transpose(*axes) or (axes), permute_dims(x, axes) */
        int is_one = n == 1 && is_nested(args[0]);
        if ((is_one ? PySequence_Fast_GET_SIZE(args[0]) : n) != ndim || !(is_one || kind == 'T')) {
            return 0;
        }
        for (int i = 0; i < ndim; i++) {
            if (!is_axis(is_one ? PySequence_Fast_GET_ITEM(args[0], i) : args[i], ndim, &from) || taken[from]++) {
                return 0;
            }
            order[i] = from;
        }
        return 1;
    }
    if (n != 2 || !is_axis(only_axis(kind, args[0]), ndim, &from) || !is_axis(only_axis(kind, args[1]), ndim, &to)) {
        return 0;
    }
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
    }
    if (kind == 's') { /* swapaxes(x, from, to) */
        order[from] = to;
        order[to] = from;
        return 1;
    }
    for (int i = 0; i < ndim; i++) { /* moveaxis(x, from, to) */
        if (i == to) {
            order[i] = from;
            continue;
        }
        places += places == from;
        order[i] = places++;
    }
    return 1;
}

/* Return the elements of an array with one axis of length 1 more, or less, or without all such axes; NULL where that is not
 * so simple.
 */
static PyObject *
stretched(char kind, PyArrayObject *value, PyObject *const *args, Py_ssize_t n)
{
    npy_intp dims[NPY_MAXDIMS];
    PyArray_Dims shape = {dims, 0};
    int ndim = PyArray_NDIM(value), more = kind == 'g', axis;
    if (n == 0 && !more) {
        for (int i = 0; i < ndim; i++) {
            if (PyArray_DIM(value, i) != 1) {
                dims[shape.len++] = PyArray_DIM(value, i);
            }
        }
        return PyArray_Newshape(value, &shape, NPY_CORDER);
    }
    if (n != 1 || ndim + more > NPY_MAXDIMS || !is_axis(only_axis(kind, args[0]), ndim + more, &axis) ||
        (!more && PyArray_DIM(value, axis) != 1)) {
        return NULL;
    }
    for (int i = 0; i < ndim + more; i++) {
        if (i != axis) {
            dims[shape.len++] = PyArray_DIM(value, i - (more && i > axis));
        }
        else if (more) {
            dims[shape.len++] = 1;
        }
    }
    return PyArray_Newshape(value, &shape, NPY_CORDER);
}

/* Return a view whose elements lie as in another array, from one of them on, so far apart along each axis. */
static PyObject *
strided(PyArrayObject *value, char *first, int ndim, const npy_intp *dims, const npy_intp *strides)
{
    PyArray_Descr *dtype = PyArray_DESCR(value);
    PyObject *part;
    Py_INCREF(dtype);
    part = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, strides, first, 0, NULL);
    if (part != NULL && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef((PyObject *)value)) < 0) {
        Py_CLEAR(part);
    }
    return part;
}

/* Return a read-only view in a larger shape; NULL where that is not so simple, or large. */
static PyObject *
spread_to(PyArrayObject *value, PyObject *const *args, Py_ssize_t n)
{
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], size = PyArray_ITEMSIZE(value);
    int ndim = PyArray_NDIM(value), more;
    if (n != 1 || !PyTuple_CheckExact(args[0]) || PyTuple_GET_SIZE(args[0]) > NPY_MAXDIMS ||
        (more = (int)PyTuple_GET_SIZE(args[0]) - ndim) < 0) {
        return NULL;
    }
    for (int i = 0; i < more + ndim; i++) {
        npy_intp own = i < more ? 1 : PyArray_DIM(value, i - more);
        if (!as_length(PyTuple_GET_ITEM(args[0], i), &dims[i]) || dims[i] < 1 || (own != 1 && own != dims[i]) ||
            (size *= dims[i]) >= large_bytes) {
            return NULL;
        }
        strides[i] = own == 1 && dims[i] != 1 ? 0 : i < more ? 0 : PyArray_STRIDE(value, i - more);
    }
    return strided(value, PyArray_BYTES(value), more + ndim, dims, strides);
}

/* Put into `*part` an array with one axis, or all of them, reversed; returns the params of that slice, NULL where that is not
 * so simple.
 */
static PyObject *
flipped(PyArrayObject *value, PyObject *const *args, Py_ssize_t n, PyObject **part)
{
    npy_intp strides[NPY_MAXDIMS], start[NPY_MAXDIMS], step[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(value), is_one = n == 1 && args[0] != Py_None, axis = -1;
    char *first = PyArray_BYTES(value);
    if (n > 1 || ndim == 0 || PyArray_SIZE(value) == 0 || (is_one && !is_axis(args[0], ndim, &axis))) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        int turns = !is_one || i == axis;
        start[i] = turns ? PyArray_DIM(value, i) - 1 : 0;
        step[i] = turns ? -1 : 1;
        strides[i] = step[i] * PyArray_STRIDE(value, i);
        first += start[i] * PyArray_STRIDE(value, i);
    }
    if ((*part = strided(value, first, ndim, PyArray_DIMS(value), strides)) == NULL) {
        return NULL;
    }
    if (PyArray_ISWRITEABLE(value)) {
        PyArray_ENABLEFLAGS((PyArrayObject *)*part, NPY_ARRAY_WRITEABLE);
    }
    return Py_BuildValue("{sNsNsN}", "start", tuple_of(ndim, start), "size", tuple_of(ndim, PyArray_DIMS(value)), "step",
                         tuple_of(ndim, step));
}

/* Return the last step of a view (a new reference) as `View.steps` takes it for one with that param (stolen), which most
 * views are never asked for: a primitive, and the param's name.
 */
static PyObject *
move_of(Fast *f, PyObject *name, PyObject *value)
{
    PyObject *move = value == NULL ? NULL : PyTuple_Pack(3, f->prim, name, value);
    Py_XDECREF(value);
    return move;
}

/* Return the move that reverses so many axes, which is made once. */
static PyObject *
turn_of(Fast *f, int ndim, const npy_intp *axes)
{
    static PyObject *turns[MOST_DIMS + 1];
    if (ndim > MOST_DIMS) {
        return move_of(f, s_axes, tuple_of(ndim, axes));
    }
    if (turns[ndim] == NULL) {
        turns[ndim] = move_of(f, s_axes, tuple_of(ndim, axes));
    }
    return Py_XNewRef(turns[ndim]);
}

/* Return the last step of a view (a new reference): a primitive with its params. */
static PyObject *
step_of(Fast *f, PyObject *params)
{
    PyObject *fields = params == NULL ? NULL : PyTuple_Pack(3, f->prim, params, no_levels);
    PyObject *args = fields == NULL ? NULL : PyTuple_Pack(1, fields), *step = NULL;
    if (args != NULL) { /* what its class, a named tuple, does in Python */
        step = PyTuple_Type.tp_new((PyTypeObject *)f->host, args, NULL);
    }
    Py_XDECREF(args);
    Py_XDECREF(fields);
    Py_XDECREF(params);
    return step;
}

/* Put into `*part` what a function makes of an array; returns the step to it, NULL where that is not so simple, or where it
 * is a copy, as `reshape` and `ravel` make of what lies in another order.
 */
static PyObject *
shown(Fast *f, PyObject *x, PyArrayObject *value, PyObject *const *args, Py_ssize_t n, PyObject **part)
{
    npy_intp numbers[NPY_MAXDIMS];
    PyArray_Dims order = {numbers, PyArray_NDIM(value)};
    switch (f->kind) {
    case 'T':
    case 'p':
    case 'm':
    case 's':
        if (!read_order(f->kind, args, n, order.len, numbers) || (*part = PyArray_Transpose(value, &order)) == NULL) {
            return NULL;
        }
        return f->kind == 'T' && n == 0 ? turn_of(f, order.len, numbers) : move_of(f, s_axes, tuple_of(order.len, numbers));
    case 'b':
        if ((*part = spread_to(value, args, n)) == NULL) {
            return NULL;
        }
        n = PyArray_NDIM((PyArrayObject *)*part);
        for (int i = 0; i < order.len; i++) {
            numbers[i] = n - order.len + i;
        }
        return step_of(f, Py_BuildValue("{sNsN}", "shape", tuple_of((int)n, PyArray_DIMS((PyArrayObject *)*part)), "axes",
                                        tuple_of(order.len, numbers)));
    case 'R':
    case 'I':
        if (n != 0 || !PyArray_ISCOMPLEX(value)) {
            return NULL;
        }
        *part = PyObject_GetAttr((PyObject *)value, f->kind == 'R' ? s_real : s_imag);
        return *part == NULL || !PyArray_CheckExact(*part) ? NULL : step_of(f, PyDict_New());
    case 'D': /* diagonal(x, offset=0) of a matrix, read-only */
        numbers[0] = 0;
        if (order.len != 2 || n > 1 || (n == 1 && !as_length(args[0], numbers)) || numbers[0] != (int)numbers[0] ||
            (*part = PyArray_Diagonal(value, (int)numbers[0], 0, 1)) == NULL) {
            return NULL;
        }
        return move_of(f, s_offset, PyLong_FromSsize_t(numbers[0]));
    case 'f': /* flip(x, axis=None) */
        return step_of(f, flipped(value, args, n, part));
    case 'g':
    case 'd':
        *part = stretched(f->kind, value, args, n);
        break;
    case '1': /* atleast_1d(x) and atleast_2d(x), where x has less */
    case '2':
        order.len = f->kind - '0';
        for (int i = 0, more = order.len - PyArray_NDIM(value); i < order.len; i++) {
            numbers[i] = i < more ? 1 : PyArray_DIM(value, i - more);
        }
        *part = n != 0 ? NULL : PyArray_Newshape(value, &order, NPY_CORDER);
        break;
    default:
        if (lies_as_numpys(x, value)) {
            if (f->kind == 'n' || (f->kind == 'r' && n == 1)) {
                *part = n == 0 ? NULL : reshaped(value, args, n);
            }
            else if (f->kind == 'a' && n == 0) {
                *part = PyArray_Ravel(value, NPY_CORDER);
            }
        }
    }
    return *part == NULL || is_copy(*part, value)
               ? NULL
               : move_of(f, s_shape, tuple_of(PyArray_NDIM((PyArrayObject *)*part), PyArray_DIMS((PyArrayObject *)*part)));
}

/* Say whether the one keyword of a call, if it has any, is that of the function's last parameter. */
static int
names_last(Fast *f, PyObject *names)
{
    const char *last = f->kind == 'p' ? "axes" : strchr("gdf", f->kind) != NULL ? "axis" : "shape";
    return names == NULL || (PyTuple_GET_SIZE(names) == 1 && strchr("pgdrbf", f->kind) != NULL &&
                             PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), last) == 0);
}

/* Say whether a function of an array alone gives that itself: the real part of what is real, all axes but those of length 1
 * where there are none, and one or two axes or more (`atleast_1d`) where there are as many.
 */
static int
is_same(char kind, PyArrayObject *value)
{
    int same = kind == 'd' || (kind == 'R' && !PyArray_ISCOMPLEX(value)) ||
               ((kind == '1' || kind == '2') && PyArray_NDIM(value) >= kind - '0');
    for (int i = 0; kind == 'd' && i < PyArray_NDIM(value); i++) {
        same &= PyArray_DIM(value, i) != 1;
    }
    return same;
}

/* A view of a part, or of what is known and not large */
static PyObject *
call_view(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyArrayObject *value;
    PyObject *part = NULL, *node, *step, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) == 0 || !names_last(f, names) || !IS_ARRAY(args[0]) || is_watched() ||
        is_frozen(args[0]) || (value = fresh(args[0])) == NULL ||
        !(Py_TYPE(NODE(args[0])) == Part || (tiny() > 0 && PyArray_NBYTES(value) < part_bytes))) {
        return NULL;
    }
    if (n == 1 && is_same(f->kind, value)) {
        return Py_NewRef(args[0]);
    }
    node = Py_NewRef(NODE(args[0]));
    if ((step = shown(f, args[0], value, args + 1, n - 1, &part)) != NULL) {
        out = view_of(args[0], node, Py_NewRef(part), step);
        Py_DECREF(step);
    }
    else if (part != NULL && !PyErr_Occurred() && is_copy(part, value)) {
        out = known_array(Py_NewRef(part), NULL);
    }
    else {
        PyErr_Clear(); /* told elsewhere, in our words */
    }
    Py_XDECREF(part);
    Py_DECREF(node);
    return out;
}
