/* Operators on arrays of middling size are recorded, to run together once somebody looks. */

static inline long
depth_of(PyObject *node)
{
    PyObject *depth = Py_TYPE(node) == Part ? NULL : SLOT(node, n_depth);
    return depth == NULL ? 0 : PyLong_AsLong(depth);
}

/* Return how deep a pending node's input is; deeper than any may be where Python copies it first (`kept` of node.py). */
static inline long
depth_below(PyObject *node)
{
    return Py_TYPE(node) == Exported ? deepest + 1 : depth_of(node);
}

/* Return a pending array of `prim(*inputs, **params)` (`inputs` is stolen); NULL, without an error, where whoever
 * records evaluates or copies what it stands on first, or marks it.
 */
static PyObject *
pending_array_of(PyObject *prim, PyObject *params, PyObject *inputs, PyObject *aval)
{
    PyObject *node;
    long depth = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        long other = depth_below(PyTuple_GET_ITEM(inputs, i));
        depth = depth > other ? depth : other;
    }
    depth += PyLong_AsLong(SLOT(aval, a_weight));
    if (depth > deepest || PyDict_GET_SIZE(marks) != 0 || (node = make_object(Node, &nodes, 1)) == NULL) {
        Py_DECREF(inputs);
        return NULL;
    }
    SLOT(node, n_prim) = Py_NewRef(prim);
    SLOT(node, n_inputs) = inputs;
    SLOT(node, n_params) = Py_NewRef(params);
    SLOT(node, n_aval) = Py_NewRef(aval);
    SLOT(node, n_depth) = PyLong_FromLong(depth);
    SLOT(node, n_value) = Py_NewRef(Py_None);
    if (SLOT(node, n_depth) == NULL) {
        Py_DECREF(node);
        return NULL;
    }
    return array_of(node);
}

/* Return a pending array of `prim(a, b, **params)`, or of `a` alone, as `pending_array_of` does. */
static PyObject *
pending_array(PyObject *prim, PyObject *params, PyObject *a, PyObject *b, PyObject *aval)
{
    PyObject *inputs = b == NULL ? PyTuple_Pack(1, a) : PyTuple_Pack(2, a, b);
    return inputs == NULL ? NULL : pending_array_of(prim, params, inputs, aval);
}

/* Compute an operand below which there may be as much as one job has steps. */
static inline void
compute_deep(PyObject *node)
{
    long depth = depth_of(node), weight;
    if (depth < MOST_STEPS) {
        return;
    }
    weight = PyLong_AsLong(SLOT(SLOT(node, n_aval), a_weight));
    if (depth >= MOST_STEPS * weight || depth + weight > deepest) {
        run_loops(node);
    }
}

/* Known arrays whose memory could be another's, were what is pending computed, up to which it waits for more. */
enum { MOST_HELD = 4 };

/* Return how many arrays, whose memory is worth keeping, nothing but a pending node and those below it holds, along nodes that
 * nothing else holds either.
 */
static int
arrays_held(PyObject *node)
{
    PyObject *inputs = has_loop(node) ? SLOT(node, n_inputs) : NULL;
    int many = 0;
    for (Py_ssize_t i = 0; inputs != NULL && i < PyTuple_GET_SIZE(inputs) && many < MOST_HELD; i++) {
        PyObject *input = PyTuple_GET_ITEM(inputs, i), *value = VALUE_OF(input);
        if (has_loop(input)) { /* what others hold, too, is not followed: the ways to it may double with each step */
            many += Py_REFCNT(input) == 1 ? arrays_held(input) : 0;
        }
        else {
            many += Py_REFCNT(input) == 1 && value != NULL && PyArray_CheckExact(value) && Py_REFCNT(value) == 1 &&
                    PyArray_NBYTES((PyArrayObject *)value) >= KEPT_FROM;
        }
    }
    return many;
}

/* Compute a pending operand that another one, which is known, would add memory to: a sum of many products, as it grows. */
static inline void
compute_greedy(PyObject *node, PyObject *other)
{
    PyObject *value = has_loop(node) ? VALUE_OF(other) : NULL;
    if (value != NULL && PyArray_CheckExact(value) && PyArray_NBYTES((PyArrayObject *)value) >= KEPT_FROM &&
        arrays_held(node) >= MOST_HELD) {
        run_loops(node);
    }
}

/* Return a pending array of `prim(a, b)`, or `prim(a)`. */
static PyObject *
record(PyObject *prim, PyObject *a, PyObject *b, PyObject *aval)
{
    PyObject *x;
    compute_deep(a);
    if (b != NULL) {
        compute_deep(b);
        compute_greedy(a, b);
        compute_greedy(b, a);
    }
    x = pending_array(prim, no_params, a, b, aval);
    if (x != NULL) {
        note_reader(NODE(x));
    }
    return x;
}

/* Put a number into memory as an element; returns 0 where the dtype does not take it as it is. */
static int
put_number(char *data, int type, char kind, Py_complex value)
{
    if (isnan(value.real) || isnan(value.imag) || kind == 'b') {
        return 0;
    }
    switch (type) {
    case NPY_DOUBLE: *(npy_double *)data = value.real; return kind != 'c';
    case NPY_FLOAT: *(npy_float *)data = (npy_float)value.real; return kind != 'c' && fabs(value.real) <= FLT_MAX;
    case NPY_LONG: *(npy_long *)data = (npy_long)value.real; return kind == 'i';
    case NPY_CDOUBLE: memcpy(data, &value, sizeof(value)); return 1;
    default: return 0;
    }
}

static PyObject *new_node(PyObject *prim, PyObject *inputs, PyObject *params, PyObject *aval, PyObject *depth, PyObject *value);

/* Return a leaf of an aval full of a number; NULL, without an error, where Python must make a literal. */
static PyObject *
number_leaf(PyObject *aval, char kind, Py_complex value)
{
    PyArray_Descr *dtype = aval_dtype(aval);
    PyObject *one = NULL, *all = NULL, *node = NULL;
    npy_intp dims[MOST_DIMS], strides[MOST_DIMS] = {0};
    int ndim = dims_of(aval, dims);
    if (ndim >= 0) {
        Py_INCREF(dtype);
        one = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    }
    if (one != NULL && put_number(PyArray_BYTES((PyArrayObject *)one), dtype->type_num, kind, value)) {
        PyArray_CLEARFLAGS((PyArrayObject *)one, NPY_ARRAY_WRITEABLE);
        Py_INCREF(dtype);
        all = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, strides, PyArray_DATA((PyArrayObject *)one),
                                   NPY_ARRAY_ALIGNED, NULL);
    }
    if (all != NULL && PyArray_SetBaseObject((PyArrayObject *)all, Py_NewRef(one)) == 0) {
        node = new_node(Py_None, no_levels, no_params, aval, zero, all);
    }
    PyErr_Clear();
    Py_XDECREF(one);
    Py_XDECREF(all);
    return node;
}

/* The nodes of numbers that were met last, each with how many evaluations there were since, up to `SETTLED`. */
enum { NUMBERS = 1024, SETTLED = 4 };
static struct {
    PyObject *aval, *node;
    Py_complex number;
    unsigned long met_at;
    int times;
    char kind;
} numbers_met[NUMBERS];

/* The avals that new numbers came with last: in how many evaluations, with a few others between them, each had some. */
enum { CHANGING = 64, MANY_CHANGES = 12, GAP = 8 };
static struct {
    PyObject *aval;
    unsigned long met_at;
    int times;
} changing[CHANGING];

/* Note a number that was not met with an aval; returns whether numbers change in each evaluation. */
static int
numbers_change(PyObject *aval)
{
    size_t place = (size_t)(((npy_uint64)(npy_uintp)aval * 0x9e3779b97f4a7c15u) >> 58) % CHANGING;
    if (changing[place].aval != aval || n_evaluations - changing[place].met_at > GAP) {
        Py_XSETREF(changing[place].aval, Py_NewRef(aval));
        changing[place].times = 0;
    }
    else if (changing[place].met_at != n_evaluations) {
        changing[place].times += changing[place].times < MANY_CHANGES;
    }
    changing[place].met_at = n_evaluations;
    return changing[place].times == MANY_CHANGES;
}

/* Return the node (borrowed) of an aval full of a number; NULL, without an error, where Python must make it.
 *
 * A literal is a constant to plans, and to MAX's programs. While numbers change in each evaluation, as a step or a
 * parameter does, that would be another plan each time: then a new one is a leaf, until evaluations have it in common.
 */
static PyObject *
node_of_number(PyObject *aval, PyObject *number, int is_literal)
{
    Py_complex value = {0, 0};
    npy_uint64 bits[2];
    size_t place;
    PyObject *node;
    char kind = 'f';
    if (PyLong_CheckExact(number)) {
        kind = 'i';
        value.real = PyLong_AsDouble(number);
    }
    else if (PyBool_Check(number)) {
        kind = 'b';
        value.real = number == Py_True;
    }
    else if (PyComplex_CheckExact(number)) {
        kind = 'c';
        value = PyComplex_AsCComplex(number);
    }
    else if (PyFloat_CheckExact(number) ||
             (Py_TYPE(number) == &PyDoubleArrType_Type && aval_dtype(aval)->type_num == NPY_DOUBLE)) {
        value.real = PyFloat_AS_DOUBLE(number);
    }
    else {
        return NULL;
    }
    if (PyErr_Occurred() || (kind == 'i' && (value.real > 1e15 || value.real < -1e15))) {
        PyErr_Clear();
        return NULL;
    }
    memcpy(bits, &value, sizeof(bits));
    place = (size_t)(((bits[0] ^ (bits[1] << 1) ^ (npy_uint64)(npy_uintp)aval) * 0x9e3779b97f4a7c15u) >> 54) % NUMBERS;
    if (numbers_met[place].aval == aval && numbers_met[place].kind == kind &&
        memcmp(&numbers_met[place].number, &value, sizeof(value)) == 0) {
        if (numbers_met[place].met_at != n_evaluations) {
            numbers_met[place].met_at = n_evaluations;
            numbers_met[place].times += numbers_met[place].times < SETTLED;
        }
        is_literal |= numbers_met[place].times == SETTLED;
        if (!is_literal || SLOT(numbers_met[place].node, n_prim) != Py_None) {
            return numbers_met[place].node;
        }
    }
    else {
        numbers_met[place].times = 0;
        is_literal |= !numbers_change(aval);
    }
    node = is_literal ? NULL : number_leaf(aval, kind, value);
    if (node == NULL) {
        node = PyObject_CallFunctionObjArgs(scalar_node, aval, number, NULL);
    }
    if (node == NULL || node == Py_None) {
        PyErr_Clear();
        Py_XDECREF(node);
        return NULL;
    }
    Py_XSETREF(numbers_met[place].aval, Py_NewRef(aval));
    Py_XSETREF(numbers_met[place].node, node);
    numbers_met[place].number = value;
    numbers_met[place].kind = kind;
    numbers_met[place].met_at = n_evaluations;
    return node;
}

/* Return a literal (borrowed), as `node_of_number` does. */
static inline PyObject *
number_node(PyObject *aval, PyObject *number)
{
    return node_of_number(aval, number, 1);
}

/* number_operand(aval, number): what `node_of_number` returns for an operand, or None */
static PyObject *
number_operand(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject *node;
    if (n != 2 || Py_TYPE(args[0]) != Aval) {
        return PyErr_Format(PyExc_TypeError, "number_operand: takes an aval and a number");
    }
    node = node_of_number(args[0], args[1], 0);
    return Py_NewRef(node == NULL ? Py_None : node);
}

/* Say whether an array's elements lie in the order of its axes, as results here do. */
static int
lies_in_order(PyArrayObject *value)
{
    npy_intp last = NPY_MAX_INTP;
    for (int axis = 0; axis < PyArray_NDIM(value); axis++) {
        npy_intp stride = PyArray_STRIDE(value, axis);
        stride = stride < 0 ? -stride : stride;
        if (stride != 0 && PyArray_DIM(value, axis) != 1) {
            if (stride > last) {
                return 0;
            }
            last = stride;
        }
    }
    return PyArray_ISBEHAVED_RO(value) && PyArray_NDIM(value) <= MOST_DIMS;
}

/* Broadcast one shape to another; returns how many axes that has, -1 if it does not fit. */
static int
broadcast_dims(npy_intp *dims, int ndim, const npy_intp *others, int many)
{
    int most = ndim > many ? ndim : many;
    for (int axis = most - 1; axis >= 0; axis--) {
        npy_intp p = axis >= most - ndim ? dims[axis - (most - ndim)] : 1;
        npy_intp q = axis >= most - many ? others[axis - (most - many)] : 1;
        if (p != q && p != 1 && q != 1) {
            return -1;
        }
        dims[axis] = p == 1 ? q : p;
    }
    return most;
}

/* Return the node of an operand (borrowed) if it is for this: pending, or known and lying in order. */
static inline PyObject *
operand(PyObject *x)
{
    PyObject *node = NODE(x), *value;
    if (PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0 || is_stale(x)) {
        return NULL;
    }
    if (has_loop(node)) {
        return node;
    }
    value = VALUE_OF(node);
    return value != NULL && Py_TYPE(node) != Exported && PyArray_CheckExact(value) && lies_in_order((PyArrayObject *)value) ? node : NULL;
}

static Fast *square;
static PyObject *product; /* the primitive that multiplies */

static inline int
is_two(PyObject *y)
{
    int overflow;
    return y != NULL && ((PyLong_CheckExact(y) && PyLong_AsLongAndOverflow(y, &overflow) == 2) ||
                         (PyFloat_CheckExact(y) && PyFloat_AS_DOUBLE(y) == 2));
}

static inline int
is_inexact(PyObject *node)
{
    int type = aval_dtype(SLOT(node, n_aval))->type_num;
    return type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_CDOUBLE || type == NPY_CFLOAT;
}

/* Return the dtype (borrowed) that an operator works in, NULL where that is neither operand's. */
static PyArray_Descr *
common_dtype(PyObject *m, PyObject *n)
{
    PyArray_Descr *a = aval_dtype(SLOT(m, n_aval)), *b = n == NULL ? a : aval_dtype(SLOT(n, n_aval)), *both;
    if (a == b) {
        return a;
    }
    if (!PyTypeNum_ISNUMBER(a->type_num) || !PyTypeNum_ISNUMBER(b->type_num)) {
        return NULL;
    }
    both = PyArray_PromoteTypes(a, b);
    PyErr_Clear();
    Py_XDECREF(both); /* of numbers, there is one */
    return both == a || both == b ? both : NULL;
}

static inline int
is_near(PyObject *node)
{
    return Py_TYPE(node) == Part || has_loop(node);
}

/* Put the shape of a result into `dims`; returns how many axes it has, -1 if it is not for this. `n` may be NULL; so may
 * `mask`, of what chooses.
 */
static int
result_dims(PyObject *m, PyObject *n, PyObject *mask, PyArray_Descr *dtype, npy_intp *dims)
{
    npy_intp others[MOST_DIMS], bytes = PyDataType_ELSIZE(dtype);
    int ndim = dims_of(SLOT(m, n_aval), dims), many = n == NULL ? 0 : dims_of(SLOT(n, n_aval), others), is_part;
    if (ndim < 0 || many < 0 || (ndim = broadcast_dims(dims, ndim, others, many)) < 0) {
        return -1;
    }
    many = mask == NULL ? 0 : dims_of(SLOT(mask, n_aval), others);
    if (many < 0 || (ndim = broadcast_dims(dims, ndim, others, many)) <= 0) {
        return -1;
    }
    for (int axis = 0; axis < ndim; axis++) {
        if (dims[axis] == 0 || bytes >= part_bytes / dims[axis]) {
            return -1;
        }
        bytes *= dims[axis];
    }
    if (bytes < least_recorded || tiny() == 0) {
        return -1;
    }
    /* What parts are spread to, on the way to something large, is for plans. */
    is_part = n == NULL || SLOT(m, n_aval) == SLOT(n, n_aval) ? is_near(m) || (n != NULL && is_near(n))
                                                              : is_near(m) && is_near(n);
    is_part |= mask != NULL && is_near(mask) && PyTuple_GET_SIZE(SLOT(SLOT(mask, n_aval), a_shape)) == ndim;
    return !is_part && bytes >= large_bytes && mode() != HOST_MODE && !is_quick(1, dtype, bytes, 0) ? -1 : ndim;
}

/* Return a node (stolen) as one of an aval: with its elements cast, and repeated. */
static PyObject *
fitted(PyObject *node, PyObject *aval, int ndim, npy_intp *dims)
{
    PyArray_Descr *dtype = aval_dtype(aval);
    PyObject *out = NULL, *value;
    if (SLOT(node, n_aval) == aval) {
        return node;
    }
    if (has_loop(node) && !run_loops(node)) {
        Py_DECREF(node);
        return NULL;
    }
    value = Py_NewRef(VALUE_OF(node));
    Py_DECREF(node);
    if (PyArray_DESCR((PyArrayObject *)value) != dtype) {
        Py_INCREF(dtype);
        Py_SETREF(value, PyArray_CastToType((PyArrayObject *)value, dtype, 0));
    }
    if (value != NULL && PyArray_NDIM((PyArrayObject *)value) <= ndim) {
        out = spread((PyArrayObject *)value, aval, ndim, dims);
    }
    Py_XDECREF(value);
    return out;
}

/* Say whether this is a number, or an array of one. */
static inline int
is_single(PyObject *x)
{
    return !IS_ARRAY(x) || PyTuple_GET_SIZE(SLOT(SLOT(NODE(x), n_aval), a_shape)) == 0;
}

/* Record an operator on arrays of middling size, one of which is a part or pending itself, or all of which are not
 * large; NULL where it is to be done at once, or left to Python. `y` is NULL for an operator on one array.
 */
static PyObject *
record_operator(Fast *f, PyObject *x, PyObject *y)
{
    PyObject *m = NULL, *n = NULL, *aval = NULL, *out = NULL;
    npy_intp dims[MOST_DIMS];
    PyArray_Descr *dtype, *other;
    PyUFuncObject *ufunc;
    int ndim, loop;
    if (is_single(x) && (y == NULL || is_single(y))) {
        return NULL;
    }
    if (f->op == POW && !f->is_strict && is_two(y) && square != NULL && IS_ARRAY(x) && is_inexact(NODE(x))) {
        f = square; /* as NumPy's operator */
        y = NULL;
    }
    if (IS_ARRAY(x)) {
        renew(x);
    }
    if (y != NULL && IS_ARRAY(y)) {
        renew(y);
    }
    if (!f->is_strict || (IS_ARRAY(x) && (m = operand(x)) == NULL) ||
        (y != NULL && IS_ARRAY(y) && (n = operand(y)) == NULL) || (m == NULL && n == NULL)) {
        return NULL;
    }
    dtype = common_dtype(m != NULL ? m : n, m != NULL ? n : NULL);
    if (dtype == NULL || dtype->type_num >= 64 || !(f->types >> dtype->type_num & 1) ||
        ((f->op == POW || f->op == DIVIDE) && PyTypeNum_ISINTEGER(dtype->type_num)) || /* raises, or is told of, at once */
        (ndim = result_dims(m != NULL ? m : n, m != NULL ? n : NULL, NULL, dtype, dims)) < 0) {
        return NULL;
    }
    ufunc = (PyUFuncObject *)f->host;
    loop = find_loop(ufunc, dtype->type_num);
    if (loop < 0) {
        return NULL;
    }
    Py_XINCREF(m);
    Py_XINCREF(n);
    if (m != NULL && (n == NULL || SLOT(m, n_aval) == SLOT(n, n_aval))) {
        aval = Py_NewRef(SLOT(m, n_aval));
    }
    else {
        aval = m == NULL ? Py_NewRef(SLOT(n, n_aval)) : find_aval(ndim, dims, dtype);
    }
    if (aval != NULL && y != NULL) {
        int is_literal = f->op == POW; /* of which loops are made for an exponent */
        m = m == NULL ? Py_XNewRef(node_of_number(aval, x, is_literal)) : fitted(m, aval, ndim, dims);
        n = n == NULL ? Py_XNewRef(node_of_number(aval, y, is_literal)) : fitted(n, aval, ndim, dims);
    }
    if (aval != NULL && m != NULL && (n != NULL || y == NULL)) {
        int result = ufunc->types[loop * ufunc->nargs + ufunc->nin];
        if (result != dtype->type_num) {
            other = PyArray_DescrFromType(result);
            Py_SETREF(aval, find_aval(ndim, dims, other));
            Py_DECREF(other);
        }
        out = aval == NULL ? NULL : record(f->prim, m, n, aval);
    }
    Py_XDECREF(aval);
    Py_XDECREF(m);
    Py_XDECREF(n);
    return out;
}

/* Record `where(mask, x, y)` as operators are recorded; NULL, without an error, where it is to be done at once, or left to
 * Python.
 */
static PyObject *
record_select(PyObject *mask, PyObject *x, PyObject *y)
{
    PyObject *given[3] = {mask, x, y}, *in[3] = {NULL, NULL, NULL}, *avals[3] = {NULL, NULL, NULL};
    PyObject *inputs = NULL, *out = NULL, *m, *n;
    npy_intp dims[MOST_DIMS];
    PyArray_Descr *dtype;
    int ndim, is_good;
    for (int i = 0; i < 3; i++) {
        if (IS_ARRAY(given[i])) {
            renew(given[i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        if (IS_ARRAY(given[i]) && (in[i] = operand(given[i])) == NULL) {
            return NULL;
        }
    }
    if (in[0] == NULL || aval_dtype(SLOT(in[0], n_aval))->type_num != NPY_BOOL || (in[1] == NULL && in[2] == NULL)) {
        return NULL;
    }
    m = in[1] != NULL ? in[1] : in[2];
    n = in[1] != NULL ? in[2] : NULL;
    dtype = common_dtype(m, n);
    if (dtype == NULL || (ndim = result_dims(m, n, in[0], dtype, dims)) < 0) {
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        Py_XINCREF(in[i]);
    }
    avals[0] = find_aval(ndim, dims, truth_dtype);
    avals[1] = find_aval(ndim, dims, dtype);
    avals[2] = Py_XNewRef(avals[1]);
    is_good = avals[0] != NULL && avals[1] != NULL;
    for (int i = 0; i < 3 && is_good; i++) {
        in[i] = in[i] == NULL ? Py_XNewRef(node_of_number(avals[i], given[i], 0)) : fitted(in[i], avals[i], ndim, dims);
        is_good = in[i] != NULL;
        if (is_good) {
            compute_deep(in[i]);
        }
    }
    if (is_good && (inputs = PyTuple_Pack(3, in[0], in[1], in[2])) != NULL) {
        out = pending_array_of(select_prim, no_params, inputs, avals[1]);
    }
    if (out != NULL) {
        note_reader(NODE(out));
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(avals[i]);
        Py_XDECREF(in[i]);
    }
    return out;
}

/* Return the nodes of arrays, put before them in `avals` what is known of each (borrowed); NULL, without an error,
 * where Python must see to them: to levels, to views of what has changed, or to what is better done at once.
 */
static PyObject *
nodes_of(PyObject *const *xs, Py_ssize_t n, PyObject **avals)
{
    int is_single = 1;
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found != NULL && i < n; i++) {
        PyObject *view = IS_ARRAY(xs[i]) ? SLOT(xs[i], x_view) : NULL, *node;
        if (view == NULL || PyTuple_GET_SIZE(SLOT(xs[i], x_levels)) != 0 || is_stale(xs[i])) {
            Py_CLEAR(found);
            break;
        }
        node = NODE(xs[i]);
        if (Py_TYPE(node) == Part || Py_TYPE(node) == Exported) {
            Py_CLEAR(found);
            break;
        }
        avals[i] = SLOT(node, n_aval);
        is_single &= Py_TYPE(avals[i]) == Aval && PyTuple_GET_SIZE(SLOT(avals[i], a_shape)) == 0;
        PyTuple_SET_ITEM(found, i, Py_NewRef(node));
    }
    if (is_single) {
        Py_CLEAR(found);
    }
    return found;
}

/* Say whether a primitive is of a kind (`Primitive.kind`). */
static int
is_of_kind(PyObject *prim, const char *name)
{
    PyObject *kind = PyObject_GetAttr(prim, s_kind);
    int is = kind != NULL && PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, name) == 0;
    PyErr_Clear();
    Py_XDECREF(kind);
    return is;
}

/* Say whether an operation takes a small part of a large array that is known, which may be better done at once. */
static int
takes_little(PyObject *prim, PyObject *node, PyObject *aval)
{
    PyObject *value = VALUE_OF(node);
    return value != NULL && PyArray_CheckExact(value) && PyArray_NBYTES((PyArrayObject *)value) >= large_bytes &&
           aval_bytes(aval) < large_bytes && !is_of_kind(prim, "reduce");
}
