/* x[key] and x[key] = y.
 *
 * A key is made plain first, and then the array is looked at. To compute an index that is pending, or to make an object
 * (which may begin a collection), runs anything, and that may change the array; what is plain runs nothing.
 */

/* Say whether this is an integer of Python's or NumPy's own: that of a derived class may be what it says only once. */
static inline int
is_plain_integer(PyObject *o)
{
    return PyLong_CheckExact(o) || (PyArray_IsScalar(o, Integer) && !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE));
}

static inline int
is_bound(PyObject *o)
{
    return o == Py_None || is_plain_integer(o);
}

static inline int
is_plain(PyObject *item)
{
    return PyLong_CheckExact(item) || item == Py_None || item == Py_Ellipsis ||
           (PySlice_Check(item) && is_bound(((PySliceObject *)item)->start) && is_bound(((PySliceObject *)item)->stop) &&
            is_bound(((PySliceObject *)item)->step));
}

/* Return an integer of Python's for one of NumPy's, or for an array of one; NULL for anything else. */
static PyObject *
plain_integer(PyObject *o)
{
    PyArrayObject *value;
    if (is_plain_integer(o)) {
        return PyNumber_Index(o);
    }
    if (!IS_ARRAY(o) || (value = fresh(o)) == NULL || PyArray_NDIM(value) != 0 || !PyArray_ISBEHAVED_RO(value) ||
        !PyTypeNum_ISINTEGER(PyArray_DESCR(value)->type_num)) {
        return NULL;
    }
    return PyArray_GETITEM(value, PyArray_BYTES(value));
}

/* Return an item of a key made plain; NULL for one that cannot be. */
static PyObject *
plain_item(PyObject *item)
{
    PyObject *bounds[3], *out = NULL;
    if (is_plain(item)) {
        return Py_NewRef(item);
    }
    if (!PySlice_Check(item)) {
        return plain_integer(item);
    }
    bounds[0] = ((PySliceObject *)item)->start;
    bounds[1] = ((PySliceObject *)item)->stop;
    bounds[2] = ((PySliceObject *)item)->step;
    for (int i = 0; i < 3; i++) {
        bounds[i] = is_bound(bounds[i]) ? Py_NewRef(bounds[i]) : plain_integer(bounds[i]);
    }
    if (bounds[0] != NULL && bounds[1] != NULL && bounds[2] != NULL) {
        out = PySlice_New(bounds[0], bounds[1], bounds[2]);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(bounds[i]);
    }
    return out;
}

/* Read an integer of a plain key; returns 0 for anything else, or one that is too large. */
static inline int
as_index(PyObject *item, npy_intp *out)
{
    int overflow;
    if (!PyLong_CheckExact(item)) {
        return 0;
    }
    *out = (npy_intp)PyLong_AsLongLongAndOverflow(item, &overflow);
    return !overflow;
}

/* Return where the one element is that a plain key gives, NULL if it does not give one that is there. */
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

/* Return a key that gives a view (a new reference), with ints in it for numbers; NULL, without an error, if not. It is the
 * same key where nothing was run.
 */
static PyObject *
plain_key(PyObject *key)
{
    PyObject *out = NULL;
    if (!PyTuple_CheckExact(key)) {
        if ((out = plain_item(key)) == NULL) {
            PyErr_Clear();
        }
        return out;
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
        PyObject *ready = plain_item(PyTuple_GET_ITEM(key, k));
        if (ready == NULL) {
            Py_CLEAR(out);
            break;
        }
        PyTuple_SET_ITEM(out, k, ready);
    }
    PyErr_Clear();
    return out;
}

/* Return the view of a known array, whose node the caller holds, that a plain key gives; NULL, with an error or without,
 * where there is none.
 */
static PyObject *
part_of(PyArrayObject *value, PyObject *key)
{
    int ndim = PyArray_NDIM(value), many = PyTuple_CheckExact(key) ? (int)PyTuple_GET_SIZE(key) : 1, left = 0;
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char *data = PyArray_BYTES(value);
    PyArray_Descr *dtype = PyArray_DESCR(value);
    PyObject *part;
    if (many > ndim) {
        return PyObject_GetItem((PyObject *)value, key);
    }
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *item = axis >= many ? NULL : PyTuple_CheckExact(key) ? PyTuple_GET_ITEM(key, axis) : key;
        npy_intp n = PyArray_DIM(value, axis), stride = PyArray_STRIDE(value, axis), i;
        if (item != NULL && PyLong_CheckExact(item)) {
            if (!as_index(item, &i) || i >= n || i < -n) {
                return PyObject_GetItem((PyObject *)value, key);
            }
            data += (i < 0 ? i + n : i) * stride;
            continue;
        }
        if (item != NULL) {
            Py_ssize_t start, stop, step;
            if (!PySlice_Check(item) || PySlice_Unpack(item, &start, &stop, &step) < 0) {
                PyErr_Clear();
                return PyObject_GetItem((PyObject *)value, key);
            }
            n = PySlice_AdjustIndices(n, &start, &stop, step);
            if (n > 0) {
                data += start * stride;
                stride *= step;
            }
        }
        dims[left] = n;
        strides[left++] = stride;
    }
    if (left == 0) { /* NumPy gives a number, which is no view */
        return PyObject_GetItem((PyObject *)value, key);
    }
    Py_INCREF(dtype);
    part = PyArray_NewFromDescr(&PyArray_Type, dtype, left, dims, strides, data,
                                PyArray_FLAGS(value) & NPY_ARRAY_WRITEABLE, NULL);
    if (part != NULL && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef((PyObject *)value)) < 0) {
        Py_CLEAR(part);
    }
    return part;
}

enum { MOST_KEYS = 8 };

/* Say whether this is an array of NumPy's, or of a class derived from that, that is written as ours are. */
static inline int
is_numpys(PyObject *y)
{
    return PyArray_Check(y) && is_held((PyArrayObject *)y) && PyArray_NBYTES((PyArrayObject *)y) < part_bytes;
}

/* Say whether this is an array of NumPy's own that is read or written as ours are. */
static inline int
is_numpys_own(PyObject *y)
{
    return PyArray_CheckExact(y) && is_numpys(y);
}

/* Return NumPy's array (a new reference) for one of the package's that is a mask, or says places, if it is known, for one of
 * NumPy's own that has axes and is not large, or for a list of integers or truth values; NULL, without an error, if not.
 */
static PyArrayObject *
places_in(PyObject *item)
{
    PyArrayObject *value = NULL;
    int type;
    if (IS_ARRAY(item)) {
        value = (PyArrayObject *)Py_XNewRef(fresh(item));
    }
    else if (PyList_CheckExact(item)) {
        value = array_of_list(item, NPY_NOTYPE);
    }
    else if (is_numpys_own(item) && PyArray_NDIM((PyArrayObject *)item) > 0 && PyArray_ISBEHAVED_RO((PyArrayObject *)item)) {
        value = (PyArrayObject *)Py_NewRef(item);
    }
    type = value == NULL ? NPY_DOUBLE : PyArray_DESCR(value)->type_num;
    if (!PyTypeNum_ISINTEGER(type) && type != NPY_BOOL) {
        Py_CLEAR(value);
    }
    return value;
}

/* Return a key with NumPy's arrays in it for the package's, and for lists (a new reference), one at least; NULL, without an
 * error, if not. `arrays` becomes the package's, `*many` how many those are.
 */
static PyObject *
array_key(PyObject *key, PyObject **arrays, Py_ssize_t *many)
{
    PyObject *out;
    Py_ssize_t n, found = 0;
    *many = 0;
    if (!PyTuple_CheckExact(key)) {
        PyArrayObject *value = places_in(key);
        if (value != NULL && PyArray_NDIM(value) == 0 && PyArray_DESCR(value) != truth_dtype) {
            Py_CLEAR(value);
        }
        if (value != NULL && IS_ARRAY(key)) {
            arrays[(*many)++] = key;
        }
        return (PyObject *)value;
    }
    n = PyTuple_GET_SIZE(key);
    out = n > MOST_KEYS ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; out != NULL && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i), *value = is_plain(item) ? Py_NewRef(item) : (PyObject *)places_in(item);
        if (value == NULL) {
            Py_CLEAR(out);
            break;
        }
        found += !is_plain(item);
        if (IS_ARRAY(item)) {
            arrays[(*many)++] = item;
        }
        PyTuple_SET_ITEM(out, i, value);
    }
    if (out != NULL && found == 0) {
        Py_CLEAR(out);
    }
    PyErr_Clear();
    return out;
}

/* Let an array (stolen), made of what `x` was when it had that node, be the view of it that a key gives, or the last step
 * of a view; NULL, perhaps without an error, where `x` has another by now.
 */
static PyObject *
with_view(PyObject *x, PyObject *node, PyObject *out, PyObject *key)
{
    PyObject *view = out != NULL ? make_object(View, &views, 1) : NULL, *seen;
    /* Nobody writes to a scalar: a view of it is of another array with its node, and a scalar where it has no axes. */
    PyObject *owner = view == NULL ? NULL : is_scalar(x) ? array_of(Py_NewRef(node)) : Py_NewRef(x);
    if (owner == NULL || NODE(x) != node) {
        Py_XDECREF(owner);
        Py_XDECREF(view);
        Py_XDECREF(out);
        return NULL;
    }
    if (owner != x && is_scalar(out)) {
        Py_DECREF(owner);
        Py_DECREF(view);
        return out;
    }
    seen = SLOT(x, x_view);
    SLOT(view, v_of) = Py_NewRef(seen == Py_None ? owner : seen);
    SLOT(view, v_key) = Py_NewRef(key);
    SLOT(view, v_shape) = Py_NewRef(SLOT(SLOT(node, n_aval), a_shape));
    SLOT(view, v_base) = Py_NewRef(seen == Py_None ? owner : SLOT(seen, v_base));
    SLOT(view, v_seen) = Py_NewRef(seen == Py_None ? node : SLOT(seen, v_seen));
    SLOT(view, v_steps) = Py_NewRef(Py_None);
    Py_SETREF(SLOT(out, x_view), view);
    note_view(out);
    Py_DECREF(owner);
    return out;
}

/* Return an array whose elements `part` (stolen) are those of `x` that a key gives, as `with_view` does. */
static PyObject *
view_of(PyObject *x, PyObject *node, PyObject *part, PyObject *key)
{
    PyObject *out = known_array(part, node);
    if (out != NULL && Py_TYPE(node) == Exported) {
        Py_INCREF(Exported);
        Py_SET_TYPE(NODE(out), Exported); /* of one layout */
        Py_DECREF(Part);
    }
    return with_view(x, node, out, key);
}

/* Return a pending view of a large array that slices give; NULL, without an error, where that is not so simple. */
static PyObject *
large_view(PyObject *x, PyObject *node, PyArrayObject *part, PyObject *key)
{
    PyArrayObject *value = (PyArrayObject *)VALUE_OF(node);
    int ndim = PyArray_NDIM(value), is_many = PyTuple_CheckExact(key), is_whole = 1;
    int many = is_many ? (int)PyTuple_GET_SIZE(key) : 1;
    npy_intp starts[NPY_MAXDIMS], sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS];
    PyObject *params, *aval, *out = NULL;
    if (many > ndim || Py_TYPE(node) == Part) {
        return NULL;
    }
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *item = axis >= many ? NULL : is_many ? PyTuple_GET_ITEM(key, axis) : key;
        Py_ssize_t first = 0, end = PyArray_DIM(value, axis), by = 1;
        if (item != NULL && (!PySlice_Check(item) || PySlice_Unpack(item, &first, &end, &by) < 0 || by < 1)) {
            PyErr_Clear();
            return NULL;
        }
        sizes[axis] = PySlice_AdjustIndices(PyArray_DIM(value, axis), &first, &end, by);
        starts[axis] = first;
        steps[axis] = by;
        is_whole &= sizes[axis] == PyArray_DIM(value, axis);
    }
    if (is_whole) {
        return NULL;
    }
    params = Py_BuildValue("{sNsNsN}", "start", tuple_of(ndim, starts), "size", tuple_of(ndim, sizes), "step",
                           tuple_of(ndim, steps));
    aval = find_aval(PyArray_NDIM(part), PyArray_DIMS(part), PyArray_DESCR(part));
    if (params != NULL && aval != NULL) {
        out = with_view(x, node, pending_array(slice_prim, params, node, NULL, aval), key);
    }
    PyErr_Clear();
    Py_XDECREF(params);
    Py_XDECREF(aval);
    return out;
}

/* Say whether a key with arrays is for here: what is large, or takes more than a little of what is, is recorded.
 * `_takes_few` in Python says so too, with the lower limit for both.
 */
static int
takes_few(PyArrayObject *value, PyObject *key)
{
    PyArrayObject *places = (PyArrayObject *)key;
    npy_intp bytes = PyArray_NBYTES(value);
    if (!PyArray_CheckExact(key) || !PyTypeNum_ISINTEGER(PyArray_DESCR(places)->type_num) || bytes == 0 ||
        PyArray_NDIM(value) == 0) {
        return bytes < part_bytes;
    }
    return PyArray_SIZE(places) < (bytes < part_bytes ? part_bytes : large_bytes) / (bytes / PyArray_DIM(value, 0) + 1);
}

/* x[key] where arrays in the key choose elements, or say where they are */
static PyObject *
read_places(PyObject *x, PyObject *key)
{
    PyArrayObject *value = seen(x);
    PyObject *arrays[MOST_KEYS], *plain, *part = NULL;
    Py_ssize_t many;
    if (value == NULL || tiny() == 0 || (plain = array_key(key, arrays, &many)) == NULL) {
        return NULL;
    }
    if ((value = seen(x)) != NULL && takes_few(value, plain)) {
        Py_INCREF(value);
        part = PyArray_CheckExact(plain) ? take_chosen(value, (PyArrayObject *)plain) : NULL;
        if (part == NULL) {
            part = PyObject_GetItem((PyObject *)value, plain);
        }
        Py_DECREF(value);
    }
    Py_DECREF(plain);
    if (part == NULL || !PyArray_CheckExact(part) || PyArray_NBYTES((PyArrayObject *)part) >= part_bytes) {
        PyErr_Clear(); /* told elsewhere, in our words */
        Py_XDECREF(part);
        return NULL;
    }
    return known_array(part, NULL);
}

/* Say whether a plain key is an integer of Python's, which `*place` becomes, for which there is no place. */
static inline int
is_outside(PyArrayObject *value, PyObject *key, npy_intp *place)
{
    return PyArray_NDIM(value) > 0 && as_index(key, place) &&
           (*place >= PyArray_DIM(value, 0) || *place < -PyArray_DIM(value, 0));
}

/* x[key] */
static PyObject *
read_part(PyObject *x, PyObject *key)
{
    PyArrayObject *value;
    PyObject *plain, *part, *out = NULL, *node;
    npy_intp place;
    char *data;
    if (is_watched() || (value = fresh(x)) == NULL) {
        return NULL;
    }
    if ((plain = plain_key(key)) == NULL) {
        return read_places(x, key);
    }
    if (plain != key && (value = seen(x)) == NULL) {
        goto done;
    }
    data = PyArray_NDIM(value) == 0 && plain == no_levels ? PyArray_BYTES(value) : element(value, plain);
    if (data != NULL) {
        out = known_number(PyArray_DESCR(value), data, SLOT(SLOT(NODE(x), n_aval), a_element));
        goto done;
    }
    if (is_frozen(x)) {
        goto done;
    }
    if (is_outside(value, plain, &place)) { /* as at the end of every iteration */
        PyErr_Format(PyExc_IndexError, "getitem: index %zd is out of bounds for axis 0 with size %zd", (Py_ssize_t)place,
                     (Py_ssize_t)PyArray_DIM(value, 0));
        goto done;
    }
    node = Py_NewRef(NODE(x));
    part = part_of(value, plain);
    if (part == NULL || !PyArray_CheckExact(part)) {
        PyErr_Clear(); /* told elsewhere, in our words */
    }
    else if (PyArray_NBYTES((PyArrayObject *)part) >= part_bytes) {
        out = large_view(x, node, (PyArrayObject *)part, plain);
    }
    else {
        out = view_of(x, node, Py_NewRef(part), plain);
    }
    Py_XDECREF(part);
    Py_DECREF(node);
done:
    Py_DECREF(plain);
    return out;
}

static PyObject *
call_getitem(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyVectorcall_NARGS(nargsf) == 2 && names == NULL && IS_ARRAY(args[0]) ? read_part(args[0], args[1]) : NULL;
}

/* x[key] = y for a pending node that nobody else knows; returns what `write_part` does. */
static int
write_pending(PyObject *x, PyObject *key, PyObject *node)
{
    PyObject *plain = fresh(x) == NULL ? NULL : plain_key(key), *part;
    PyArrayObject *value = plain == NULL ? NULL : seen(x);
    PyObject *held = Py_NewRef(NODE(x));
    int done = 0;
    part = value == NULL ? NULL : part_of(value, plain);
    Py_DECREF(held);
    Py_XDECREF(plain);
    if (part != NULL && PyArray_CheckExact(part) && run_into(x, (PyArrayObject *)part, node)) {
        done = 1;
    }
    else {
        PyErr_Clear(); /* told elsewhere, in our words */
    }
    Py_XDECREF(part);
    return done;
}

/* Write the whole part of a floating-point number to the integer that a plain key names, as NumPy casts; returns 0 where
 * that is not so simple, or there is a fault to be told of.
 */
static int
write_whole(PyArrayObject *memory, PyObject *plain, PyObject *y, PyArrayObject *new)
{
    int kind = new == NULL ? NPY_NOTYPE : PyArray_DESCR(new)->type_num, done;
    PyObject *whole;
    char *data;
    double real;
    if (!PyTypeNum_ISINTEGER(PyArray_DESCR(memory)->type_num) || !PyArray_ISBEHAVED(memory)) {
        return 0;
    }
    if (new == NULL && (PyFloat_CheckExact(y) || Py_TYPE(y) == &PyDoubleArrType_Type)) {
        real = PyFloat_AS_DOUBLE(y);
    }
    else if ((kind == NPY_DOUBLE || kind == NPY_FLOAT) && PyArray_NDIM(new) == 0 && PyArray_ISBEHAVED_RO(new)) {
        real = kind == NPY_DOUBLE ? *(double *)PyArray_DATA(new) : *(float *)PyArray_DATA(new);
    }
    else {
        return 0;
    }
    if (!isfinite(real) || (data = element(memory, plain)) == NULL || (whole = PyLong_FromDouble(real)) == NULL) {
        PyErr_Clear(); /* told elsewhere, in our words */
        return 0;
    }
    done = write_number(PyArray_DESCR(memory), data, whole, NULL);
    Py_DECREF(whole);
    return done;
}

/* Write to where a plain key, or one of NumPy's arrays, says; returns 1 if that is done, 0 if the package must. */
static int
write_where(PyArrayObject *memory, PyObject *plain, PyObject *y, PyArrayObject *new)
{
    int type = PyArray_DESCR(memory)->type_num;
    char *data = NULL;
    if (write_whole(memory, plain, y, new)) {
        return 1;
    }
    if (new == NULL ? !is_number(y, memory) && !PyBool_Check(y)
                    : PyArray_DESCR(new) != PyArray_DESCR(memory) &&
                          !PyArray_CanCastTypeTo(PyArray_DESCR(new), PyArray_DESCR(memory), NPY_SAME_KIND_CASTING)) {
        return 0;
    }
    if (new == NULL && PyFloat_CheckExact(y) && (type == NPY_BOOL || PyTypeNum_ISINTEGER(type))) {
        return 0;
    }
    if (new == NULL || (PyArray_NDIM(new) == 0 && PyArray_DESCR(new) == PyArray_DESCR(memory))) {
        data = element(memory, plain);
    }
    if (data != NULL && PyArray_ISBEHAVED(memory) && write_number(PyArray_DESCR(memory), data, y, new)) {
        return 1;
    }
    if (PyArray_CheckExact(plain) && put_chosen(memory, (PyArrayObject *)plain, y, new)) {
        return 1;
    }
    if (PyObject_SetItem((PyObject *)memory, plain, new != NULL ? (PyObject *)new : y) < 0) {
        PyErr_Clear(); /* told elsewhere, in our words */
        return 0;
    }
    return 1;
}

/* Return integers (stolen) in another dtype; NULL, perhaps with an error, where one does not fit, or was none in its list. */
static PyArrayObject *
narrowed(PyArrayObject *integers, PyArray_Descr *dtype)
{
    const npy_long *numbers = PyArray_DATA(integers);
    npy_intp bits = 8 * PyDataType_ELSIZE(dtype), n = PyArray_SIZE(integers);
    int is_signed = PyTypeNum_ISSIGNED(dtype->type_num), fits = bits < 64;
    npy_long most = fits ? ((npy_long)1 << (bits - is_signed)) - 1 : 0, least = is_signed ? -most - 1 : 0;
    PyObject *made = NULL;
    for (npy_intp i = 0; fits && i < n; i++) {
        fits = numbers[i] >= least && numbers[i] <= most;
    }
    if (fits) {
        Py_INCREF(dtype);
        made = PyArray_CastToType(integers, dtype, 0);
    }
    Py_DECREF(integers);
    return (PyArrayObject *)made;
}

/* Return one array (a new reference) of those in a list, which are known and of a dtype; NULL, perhaps with an error, where
 * that is not so simple.
 */
static PyArrayObject *
rows_of(PyObject *list, PyObject *dtype)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list), ready = 0;
    PyObject *rows = PyList_New(n), *made = NULL;
    npy_intp bytes = 0;
    while (rows != NULL && ready < n && ready < PySequence_Fast_GET_SIZE(list)) { /* a finalizer may have changed it */
        PyObject *item = PySequence_Fast_GET_ITEM(list, ready);
        PyArrayObject *value = IS_ARRAY(item) ? seen(item) : NULL;
        if (value == NULL || (PyObject *)PyArray_DESCR(value) != dtype ||
            (bytes += PyArray_NBYTES(value)) >= part_bytes) {
            break;
        }
        PyList_SET_ITEM(rows, ready++, Py_NewRef((PyObject *)value));
    }
    if (ready == n && n > 0) {
        made = PyArray_FROM_O(rows); /* an error where the shapes differ */
    }
    Py_XDECREF(rows);
    return (PyArrayObject *)made;
}

/* Return an array (a new reference) of the numbers in a list, of the dtype of one that they are written to; NULL, without an
 * error, where that is not so simple. `is_assigned`: the list may hold arrays, and integers that fit are made narrow, as in
 * an assignment.
 */
static PyArrayObject *
listed_for(PyObject *x, PyObject *list, int is_assigned)
{
    PyObject *dtype = PyObject_GetAttr(SLOT(NODE(x), n_aval), s_dtype);
    PyArrayObject *value = NULL;
    if (dtype != NULL && PyArray_DescrCheck(dtype)) {
        int type = ((PyArray_Descr *)dtype)->type_num, is_narrow = is_assigned && PyTypeNum_ISINTEGER(type) && type != NPY_LONG;
        value = array_of_list(list, is_narrow ? NPY_LONG : type);
        value = !is_assigned ? value : value == NULL ? rows_of(list, dtype) : is_narrow ? narrowed(value, (PyArray_Descr *)dtype) : value;
    }
    Py_XDECREF(dtype);
    PyErr_Clear();
    return value;
}

/* x[key] = y; returns 1 if that is done, 0 if the package must do it, -1 for an error. */
static int
write_part(PyObject *x, PyObject *key, PyObject *y)
{
    PyObject *owner, *plain, *others[1 + MOST_KEYS];
    PyArrayObject *memory, *new = NULL, *numbers = NULL;
    Py_ssize_t many = 0;
    int done;
    if (is_watched() || is_frozen(x)) {
        return 0;
    }
    if (is_nested(y) && (numbers = listed_for(x, y, 1)) == NULL) {
        return 0;
    }
    if (IS_ARRAY(y)) {
        PyObject *view = SLOT(y, x_view), *seen_of_x = SLOT(x, x_view);
        if (view != Py_None && SLOT(view, v_key) == key && SLOT(view, v_of) == (seen_of_x == Py_None ? x : seen_of_x)) {
            PyArrayObject *value = seen(x);
            return value != NULL && PyArray_ISWRITEABLE(value); /* Python's last step of `x[key] += v`, which was written */
        }
        if (has_loop(NODE(y)) && Py_REFCNT(y) == 1 && Py_REFCNT(NODE(y)) == 1 &&
            (done = write_pending(x, key, NODE(y))) != 0) {
            return done;
        }
        if ((new = fresh(y)) == NULL || PyArray_NBYTES(new) >= part_bytes) {
            return 0; /* a glance: it is computed, and looked at once the key is plain */
        }
    }
    others[0] = y;
    plain = plain_key(key);
    if (plain == NULL && (tiny() == 0 || (plain = array_key(key, others + 1, &many)) == NULL)) {
        Py_XDECREF(numbers);
        return 0;
    }
    memory = memory_of(x, others, 1 + many, &owner);
    new = IS_ARRAY(y) ? seen(y) : is_numpys(y) ? (PyArrayObject *)y : numbers;
    done = 0;
    if (numbers != NULL && memory != NULL && element(memory, plain) != NULL) {
        memory = NULL; /* a list is no element */
    }
    if (memory != NULL && (new != NULL || !IS_ARRAY(y))) {
        Py_INCREF(memory);
        Py_XINCREF(new);
        done = write_where(memory, plain, y, new);
        Py_DECREF(memory);
        Py_XDECREF(new);
    }
    Py_DECREF(plain);
    Py_XDECREF(numbers);
    return done;
}

static PyObject *
call_setitem(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 3 && names == NULL && IS_ARRAY(args[0])) {
        return write_part(args[0], args[1], args[2]) > 0 ? Py_NewRef(Py_None) : NULL;
    }
    return NULL;
}

/* Return the number of axes that an array shows. */
static inline Py_ssize_t
axes_of(PyObject *x)
{
    return PyTuple_GET_SIZE(SLOT(SLOT(NODE(x), n_aval), a_shape)) - PyTuple_GET_SIZE(SLOT(x, x_levels));
}

/* len(x) */
static PyObject *
call_length(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (((Fast *)self)->kind == 'l' && PyVectorcall_NARGS(nargsf) == 1 && names == NULL && IS_ARRAY(args[0]) &&
        axes_of(args[0]) > 0) {
        PyObject *shape = SLOT(SLOT(NODE(args[0]), n_aval), a_shape);
        return Py_NewRef(PyTuple_GET_ITEM(shape, PyTuple_GET_SIZE(SLOT(args[0], x_levels))));
    }
    return NULL;
}

/* isinstance(x, ndarray): in a program under the runner, a scalar is none */
static PyObject *
call_instance(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *x = PyVectorcall_NARGS(nargsf) == 2 && names == NULL && program_hook != NULL ? args[1] : NULL;
    if (x == NULL) {
        return NULL;
    }
    if (IS_ARRAY(x)) {
        return PyBool_FromLong(PyList_GET_SIZE(program_hook) == 0 || SLOT(x, x_view) != Py_None || axes_of(x) > 0);
    }
    if (PyArray_Check(x)) {
        Py_RETURN_TRUE;
    }
    if (PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyUnicode_CheckExact(x) || PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
        Py_RETURN_FALSE;
    }
    return NULL; /* what may say of itself that it is one */
}
