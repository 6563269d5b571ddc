/* What the package told of itself, and arrays whose elements are known. */

static PyTypeObject *Array, *Part, *Exported, *View, *Aval;
static PyObject *no_levels; /* the empty tuple */
static PyObject *tapes;     /* list: not empty while somebody must see each node */
static PyObject *marks;     /* dict: not empty while some thread marks the nodes that it records */
static PyObject *weak;      /* list: not empty while arrays stand for Python numbers */
static PyObject *frozen;    /* dict: by id, the arrays that are read-only */
static PyObject *scopes;    /* list of numbers: not empty while a run may not write to what was there before */
static PyObject *recent;    /* dict: (shape, dtype) -> aval, the last ones */
static PyObject *aval_of;   /* the function behind it */
static PyObject *order_step; /* function(axes): the step that gives an array its order in memory */
static PyObject *faults;    /* dict of the module: `_entered`, a context where faults are heard */
static PyObject *listener;  /* what hears them: `heard`, a list */
static PyObject *tell;      /* function(prim, nodes, aval): warns of them */
static PyObject *tell_of_nodes; /* function(list): warns of those that were seen here */
static PyObject *settings;  /* dict: those of the process */
static PyObject *overrides; /* list: of `with` blocks, of all threads */
static PyObject *active;    /* whose `settings` are those of this thread */
static Py_ssize_t part_bytes, large_bytes, tiny_bytes, least_recorded;
static long deepest; /* a chain of pending nodes, before it evaluates itself */
static PyArray_Descr *truth_dtype, *integer_dtype, *double_dtype, *complex_dtype;

static Py_ssize_t x_node, x_levels, x_view, x_born;   /* where an Array has its slots */
static Py_ssize_t n_aval, n_value;                    /* a Node */
static Py_ssize_t v_base, v_seen, v_steps, v_of, v_key, v_shape, v_levels; /* a View */
static Py_ssize_t a_element, a_shape;                 /* an Aval */
static PyObject *s_entered, *s_heard, *s_mode, *s_settings, *s_aval, *s_kind, *s_ufunc, *s_dtype, *s_interface, *truth_aval,
    *integer_aval, *double_aval, *complex_aval, *s_axes, *s_shape, *s_offset, *s_real, *s_imag, *zero, *one;

#define IS_ARRAY(o) (Py_TYPE(o) == Array && SLOT(o, x_view) != NULL) /* `Array.__new__(Array)` has nothing in it */
#define NODE(x) SLOT(x, x_node)
#define VALUE_OF(node) SLOT(node, n_value)

/* Say whether each step must be recorded, or left to Python at least, as where arrays promote as numbers do. */
static inline int
is_watched(void)
{
    return part_bytes == 0 || PyList_GET_SIZE(tapes) != 0 || PyList_GET_SIZE(weak) != 0;
}

/* Return the mark of an array that is made now (a new reference): the number of the last scope; NULL outside of all. */
static inline PyObject *
birth(void)
{
    Py_ssize_t n = PyList_GET_SIZE(scopes);
    return __builtin_expect(n == 0, 1) ? NULL : Py_NewRef(PyList_GET_ITEM(scopes, n - 1));
}

/* Say whether an array, which owns its elements, may be written to in any scope that runs: it was made in the last. */
static inline int
is_ours(PyObject *owner)
{
    Py_ssize_t n = PyList_GET_SIZE(scopes);
    return n == 0 || SLOT(owner, x_born) == PyList_GET_ITEM(scopes, n - 1);
}

/* Say whether an array must not be written to: such, and views of it, are left to Python. */
static inline int
is_frozen(PyObject *x)
{
    PyObject *key;
    int found;
    if (PyDict_GET_SIZE(frozen) == 0) {
        return 0;
    }
    key = PyLong_FromVoidPtr(x); /* as `id` */
    found = key == NULL ? -1 : PyDict_Contains(frozen, key);
    Py_XDECREF(key);
    if (found < 0) {
        PyErr_Clear();
    }
    return found != 0;
}

enum { MOST = 16 }; /* arguments of a call that is simple */

enum mode { ANY_MODE, HOST_MODE, MAX_MODE };

/* Return a setting in force in this thread (borrowed), NULL for none. */
static inline PyObject *
setting(PyObject *name)
{
    PyObject *mine, *found;
    if (PyList_GET_SIZE(overrides) == 0) {
        return PyDict_GetItemWithError(settings, name);
    }
    mine = PyObject_GetAttr(active, s_settings);
    found = mine == NULL ? NULL : PyDict_GetItemWithError(mine, name);
    Py_XDECREF(mine); /* the thread holds it */
    return found;
}

/* Return the mode in force. */
static inline enum mode
mode(void)
{
    static PyObject *last;
    static enum mode known;
    PyObject *name = setting(s_mode);
    if (name != last) {
        known = name == NULL                                               ? ANY_MODE
                : PyUnicode_CompareWithASCIIString(name, "max") == 0  ? MAX_MODE
                : PyUnicode_CompareWithASCIIString(name, "host") == 0 ? HOST_MODE
                                                                      : ANY_MODE;
        Py_XSETREF(last, Py_XNewRef(name));
    }
    return known;
}

/* Return below how many bytes what is known is computed with at once: `max` mode shows MAX all it can. */
static inline Py_ssize_t
tiny(void)
{
    return mode() == MAX_MODE ? 0 : tiny_bytes;
}

/* Return the elements of an array (borrowed) if they are known and up to date; NULL, without an error, if not. */
static inline PyArrayObject *
seen(PyObject *x)
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

/* Return a new array with a node (stolen). */
static PyObject *
array_with(PyObject *node, int is_tracked)
{
    PyObject *x = make_object(Array, &arrays, is_tracked);
    if (x == NULL) {
        Py_DECREF(node);
        return NULL;
    }
    SLOT(x, x_node) = node;
    SLOT(x, x_levels) = Py_NewRef(no_levels);
    SLOT(x, x_view) = Py_NewRef(Py_None);
    SLOT(x, x_born) = birth();
    return x;
}

static PyObject *
array_of(PyObject *node)
{
    return array_with(node, 1);
}

/* Return a new array with a node, an aval and a value, which is stolen, as the aval is. One that has nothing else is in no
 * cycle, so that no collection need look at it.
 */
static PyObject *
known(PyObject *value, PyObject *aval)
{
    PyObject *node = value == NULL || aval == NULL ? NULL : make_object(Part, &nodes, 0);
    if (node == NULL) {
        Py_XDECREF(value);
        Py_XDECREF(aval);
        return NULL;
    }
    SLOT(node, n_aval) = aval;
    SLOT(node, n_value) = value;
    return array_with(node, 0);
}

/* Return numbers as a tuple. */
static PyObject *
tuple_of(int n, const npy_intp *numbers)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (number == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}

static PyObject *
find_any_aval(int ndim, const npy_intp *dims, PyArray_Descr *dtype)
{
    PyObject *shape = tuple_of(ndim, dims);
    PyObject *key = shape == NULL ? NULL : PyTuple_Pack(2, shape, (PyObject *)dtype);
    PyObject *aval = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(recent, key));
    if (aval == NULL && !PyErr_Occurred()) {
        aval = PyObject_CallObject(aval_of, key);
    }
    Py_XDECREF(key);
    Py_XDECREF(shape);
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

static PyObject *known_array(PyObject *value, PyObject *node);

/* Say whether NumPy made an array anew whose elements lie in another order than that of its axes. */
static inline int
is_turned(PyArrayObject *value)
{
    return PyArray_NDIM(value) > 1 && !PyArray_IS_C_CONTIGUOUS(value) && PyArray_CHKFLAGS(value, NPY_ARRAY_OWNDATA) &&
           Py_REFCNT(value) == 1;
}

/* Find the order of axes in which the elements of an array lie one after another; returns 0 where there is none. */
static int
lying(PyArrayObject *value, int *axes)
{
    int ndim = PyArray_NDIM(value), place;
    npy_intp step = PyArray_ITEMSIZE(value);
    for (int i = 0; i < ndim; i++) {
        if (PyArray_IS_F_CONTIGUOUS(value)) {
            axes[i] = ndim - 1 - i;
            continue;
        }
        for (place = i; place > 0 && PyArray_STRIDE(value, axes[place - 1]) < PyArray_STRIDE(value, i); place--) {
            axes[place] = axes[place - 1];
        }
        axes[place] = i;
    }
    for (int i = ndim - 1; i >= 0; i--) {
        npy_intp n = PyArray_DIM(value, axes[i]);
        if (n != 1 && PyArray_STRIDE(value, axes[i]) != step) {
            return 0;
        }
        step *= n;
    }
    return 1;
}

/* Return an array in the order of `value` (stolen), as `ordered` does in Python: a view of one in the order of its axes. */
static PyObject *
turned(PyArrayObject *value, const int *axes)
{
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], back[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(value);
    PyArray_Dims inverse = {back, ndim};
    PyObject *owner, *order = NULL, *step = NULL, *view = NULL, *out = NULL, *part;
    for (int i = 0; i < ndim; i++) {
        dims[i] = PyArray_DIM(value, axes[i]);
        strides[i] = PyArray_STRIDE(value, axes[i]);
        back[axes[i]] = i;
    }
    memcpy(PyArray_DIMS(value), dims, sizeof(npy_intp) * (size_t)ndim);
    memcpy(PyArray_STRIDES(value), strides, sizeof(npy_intp) * (size_t)ndim);
    PyArray_UpdateFlags(value, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    owner = known_array((PyObject *)value, NULL);
    if (owner != NULL && (order = tuple_of(ndim, back)) != NULL &&
        (step = PyObject_CallOneArg(order_step, order)) != NULL &&
        (part = PyArray_Transpose((PyArrayObject *)VALUE_OF(NODE(owner)), &inverse)) != NULL &&
        (out = known_array(part, NULL)) != NULL && (view = make_object(View, &views, 1)) != NULL) {
        SLOT(view, v_base) = Py_NewRef(owner);
        SLOT(view, v_seen) = Py_NewRef(NODE(owner));
        SLOT(view, v_steps) = PyTuple_Pack(1, step);
        SLOT(view, v_of) = Py_NewRef(Py_None);
        SLOT(view, v_key) = Py_NewRef(Py_None);
        SLOT(view, v_shape) = Py_NewRef(no_levels);
        Py_SETREF(SLOT(out, x_view), view);
    }
    if (view == NULL || SLOT(view, v_steps) == NULL) {
        Py_CLEAR(out);
    }
    Py_XDECREF(step);
    Py_XDECREF(order);
    Py_XDECREF(owner);
    return out;
}

/* Say whether an array is what NumPy has a scalar for; `is_scalar` in Python is the meaning. */
static inline int
is_scalar(PyObject *x)
{
    return SLOT(x, x_view) == Py_None &&
           PyTuple_GET_SIZE(SLOT(SLOT(NODE(x), n_aval), a_shape)) == PyTuple_GET_SIZE(SLOT(x, x_levels));
}

/* Say whether an array is as `zero_d` makes it: a view of another with its node. */
static inline int
is_zero_d(PyObject *x)
{
    PyObject *view = SLOT(x, x_view), *steps = view == Py_None ? NULL : SLOT(view, v_steps);
    return steps != NULL && PyTuple_CheckExact(steps) && PyTuple_GET_SIZE(steps) == 0;
}

/* Let an array (stolen, or NULL) without axes be no scalar, as `zero_d` does in Python. */
static PyObject *
zero_d(PyObject *x)
{
    PyObject *owner, *out, *view;
    if (x == NULL || !is_scalar(x)) {
        return x;
    }
    if (PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0) {
        Py_DECREF(x);
        return NULL;
    }
    owner = array_of(Py_NewRef(NODE(x)));
    out = array_of(Py_NewRef(NODE(x)));
    view = make_object(View, &views, 1);
    Py_DECREF(x);
    if (owner == NULL || out == NULL || view == NULL) {
        Py_XDECREF(owner);
        Py_XDECREF(view);
        Py_XDECREF(out);
        return NULL;
    }
    SLOT(view, v_base) = owner;
    SLOT(view, v_seen) = Py_NewRef(NODE(owner));
    SLOT(view, v_steps) = Py_NewRef(no_levels);
    SLOT(view, v_of) = Py_NewRef(Py_None);
    SLOT(view, v_key) = Py_NewRef(Py_None);
    SLOT(view, v_shape) = Py_NewRef(no_levels);
    Py_SETREF(SLOT(out, x_view), view);
    return out;
}

/* Return an array with a value (stolen) that may be like that of a node, if one is given. */
static PyObject *
known_array(PyObject *value, PyObject *node)
{
    PyArrayObject *new = (PyArrayObject *)value, *old = node == NULL ? NULL : (PyArrayObject *)VALUE_OF(node);
    int ndim = PyArray_NDIM(new), axes[NPY_MAXDIMS];
    if (__builtin_expect(is_turned(new), 0) && lying(new, axes)) {
        return turned(new, axes);
    }
    if (old != NULL && PyArray_DESCR(new) == PyArray_DESCR(old) && ndim == PyArray_NDIM(old) &&
        PyArray_CompareLists(PyArray_DIMS(new), PyArray_DIMS(old), ndim)) {
        return known(value, Py_NewRef(SLOT(node, n_aval)));
    }
    return known(value, find_aval(ndim, PyArray_DIMS(new), PyArray_DESCR(new)));
}

/* Arrays of one element that died with all that they are made of, by dtype: the next number is written into one. There
 * are enough of them for the lists of numbers that loops make and drop.
 */
enum { KEPT_NUMBERS = MOST_KEPT * 64, NUMBER_TYPES = NPY_CDOUBLE + 1 };
static struct {
    int n;
    struct {
        PyObject *array, *node;
        PyArray_Descr *dtype;
        char *data;
    } kept[KEPT_NUMBERS + 1];
} numbers_of[NUMBER_TYPES];

/* Say whether an array, which dies, is one element whose node and memory nobody else has. */
static int
is_sole_number(PyObject *x)
{
    PyObject *node = NODE(x), *value;
    if (Py_TYPE(x) != Array || SLOT(x, x_view) != Py_None || SLOT(x, x_levels) != no_levels || SLOT(x, x_born) != NULL ||
        node == NULL || Py_TYPE(node) != Part || Py_REFCNT(node) != 1 || has_weakrefs(x) || has_weakrefs(node)) {
        return 0;
    }
    value = VALUE_OF(node);
    return value != NULL && PyArray_CheckExact(value) && Py_REFCNT(value) == 1 && !has_weakrefs(value) &&
           PyArray_NDIM((PyArrayObject *)value) == 0 &&
           PyArray_FLAGS((PyArrayObject *)value) == (NPY_ARRAY_CARRAY | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_OWNDATA);
}

/* Keep an array that dies, and its reference to its class, for the next number of its dtype; returns 0 where it must be
 * let go of.
 */
static int
keep_number(PyObject *x)
{
    PyArrayObject *value;
    int type, n;
    if (!is_sole_number(x)) {
        return 0;
    }
    value = (PyArrayObject *)VALUE_OF(NODE(x));
    type = PyArray_DESCR(value)->type_num;
    if (type >= NUMBER_TYPES || (n = numbers_of[type].n) == KEPT_NUMBERS) {
        return 0;
    }
    PyObject_GC_UnTrack(x);
    PyObject_GC_UnTrack(NODE(x)); /* a collection that runs may be about to clear it, too */
    numbers_of[type].kept[n].array = x;
    numbers_of[type].kept[n].node = NODE(x);
    numbers_of[type].kept[n].dtype = PyArray_DESCR(value);
    numbers_of[type].kept[n].data = PyArray_BYTES(value);
    numbers_of[type].n++;
    return 1;
}

/* Return an array that was kept, with an element of a dtype and an aval; NULL, without an error, if there is none. */
static inline PyObject *
kept_number(PyArray_Descr *dtype, const void *data, PyObject *aval)
{
    int type = dtype->type_num, last;
    PyObject *x, *node;
    if (type >= NUMBER_TYPES || (last = numbers_of[type].n - 1) < 0 ||
        numbers_of[type].kept[last].dtype != dtype) { /* of another byte order, or with metadata */
        return NULL;
    }
    numbers_of[type].n--;
    x = numbers_of[type].kept[last].array;
    node = numbers_of[type].kept[last].node;
    Py_SET_REFCNT(x, 1);
    if (SLOT(node, n_aval) != aval) {
        Py_SETREF(SLOT(node, n_aval), Py_NewRef(aval));
    }
    if (PyDataType_ELSIZE(dtype) == sizeof(double)) { /* no call */
        memcpy(numbers_of[type].kept[last].data, data, sizeof(double));
    }
    else {
        memcpy(numbers_of[type].kept[last].data, data, (size_t)PyDataType_ELSIZE(dtype));
    }
    SLOT(x, x_born) = birth();
    return x;
}

/* Return a new array of one element, which `data` points to; `aval` is borrowed, or NULL for that of a truth value. */
static PyObject *
known_number(PyArray_Descr *dtype, const void *data, PyObject *aval)
{
    PyObject *value;
    if (aval == NULL) {
        PyObject **own = dtype == truth_dtype     ? &truth_aval
                         : dtype == integer_dtype ? &integer_aval
                         : dtype == complex_dtype ? &complex_aval
                                                  : &double_aval;
        if (*own == NULL && (*own = find_aval(0, NULL, dtype)) == NULL) {
            return NULL;
        }
        aval = *own;
    }
    if ((value = kept_number(dtype, data, aval)) != NULL) {
        return value;
    }
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    if (value != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)value), data, PyDataType_ELSIZE(dtype));
    }
    return known(value, Py_NewRef(aval));
}
