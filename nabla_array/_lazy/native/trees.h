/* Trees of pending elementwise nodes, which are run as one job. */

static PyTypeObject *Node;
static PyObject *slice_prim;  /* the primitive of slices */
static Py_ssize_t n_prim, n_inputs, n_params, n_depth; /* where a Node has these */
static Py_ssize_t a_dtype, a_weight, a_nbytes;         /* an Aval */
static PyObject *no_params;   /* the dict of a node without any */
static PyObject *scalar_node; /* function(aval, number): its node, or None */
static PyObject *stats;       /* counts evaluations */
static PyObject *s_usual, *s_warnings, *s_evaluations;

/* Say whether some evaluation computes a node (`CLAIMED` of node.py). */
static inline int
is_claimed(PyObject *node)
{
    return PyLong_AsLongLong(SLOT(node, n_depth)) >= (long long)1 << 40;
}

/* The ufuncs that elementwise primitives are, by the primitive, with the dtypes of which loops here may be used. */
enum { MOST_LOOPS = 512 };
static struct {
    PyObject *prim;
    PyUFuncObject *ufunc;
    npy_uint64 types; /* a bit for each, by its number in NumPy */
} known_loops[MOST_LOOPS];

static inline size_t
place_of(PyObject *prim)
{
    size_t place = ((size_t)prim >> 4) % MOST_LOOPS;
    while (known_loops[place].prim != NULL && known_loops[place].prim != prim) {
        place = (place + 1) % MOST_LOOPS;
    }
    return place;
}

/* Say whether a node is pending, nobody computes it, and a ufunc does: no error state is noted in its params. */
static inline int
has_loop(PyObject *node)
{
    return VALUE_OF(node) == Py_None && Py_TYPE(node) == Node && SLOT(node, n_params) == no_params && !is_claimed(node) &&
           known_loops[place_of(SLOT(node, n_prim))].prim != NULL;
}

/* Remember them; returns 0 where there is no room. */
static int
learn_loops(PyObject *prim, PyUFuncObject *ufunc, npy_uint64 types)
{
    const npy_uint64 inexact = 1 << NPY_FLOAT | 1 << NPY_DOUBLE | 1 << NPY_CFLOAT | 1 << NPY_CDOUBLE;
    static int many;
    size_t place = place_of(prim);
    if (known_loops[place].prim == NULL && many < MOST_LOOPS / 2) {
        known_loops[place].prim = Py_NewRef(prim);
        known_loops[place].ufunc = (PyUFuncObject *)Py_NewRef((PyObject *)ufunc);
        known_loops[place].types = strcmp(ufunc->name, "power") == 0 ? types & inexact : types; /* it can raise */
        many++;
    }
    return known_loops[place].prim == prim;
}

/* Return the number of a ufunc's loop for operands of one dtype, -1 if it has none. */
static inline int
find_loop(PyUFuncObject *u, int type)
{
    for (int i = 0; i < u->ntypes; i++) {
        const char *types = u->types + i * u->nargs;
        if (types[0] == type && (u->nin == 1 || types[1] == type)) {
            return u->functions[i] == NULL ? -1 : i;
        }
    }
    return -1;
}

static inline npy_intp
aval_bytes(PyObject *aval)
{
    return PyLong_AsSsize_t(SLOT(aval, a_nbytes));
}

static inline PyArray_Descr *
aval_dtype(PyObject *aval)
{
    return (PyArray_Descr *)SLOT(aval, a_dtype);
}

/* Put the shape of an aval into `dims`; returns how many axes there are, -1 if those are too many. */
static inline int
dims_of(PyObject *aval, npy_intp *dims)
{
    PyObject *shape = SLOT(aval, a_shape);
    int ndim = (int)PyTuple_GET_SIZE(shape);
    if (ndim > MOST_DIMS) {
        return -1;
    }
    for (int axis = 0; axis < ndim; axis++) {
        dims[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
    }
    return ndim;
}

/* Let a node be a part: both have one layout, and what a part has not is of its class. */
static inline void
become_part(PyObject *node)
{
    Py_INCREF(Part);
    Py_SET_TYPE(node, Part);
    Py_DECREF(Node);
}

/* Let a step be what a ufunc does for operands of one dtype; returns 0 if it has no loop for them. */
static int
set_loop(Step *step, PyUFuncObject *ufunc, int type)
{
    int loop = find_loop(ufunc, type);
    if (loop < 0) {
        return 0;
    }
    step->kind = EACH;
    step->cost = cost_of(ufunc, type);
    step->loop = ufunc->functions[loop];
    step->data = ufunc->data == NULL ? NULL : ((void *const *)ufunc->data)[loop];
    step->many = ufunc->nargs;
    step->result = ufunc->types[loop * ufunc->nargs + ufunc->nin];
    step->is_quiet = step->result == NPY_BOOL;
    return 1;
}

/* What a job is made of: the pending nodes, inputs before users, and the arrays and numbers that they begin with. */
typedef struct {
    PyObject *nodes[MOST_OPERANDS];
    int users[MOST_OPERANDS]; /* how many inputs of the pending ones it is */
    int n_leaves, n_nodes;    /* leaves lie behind the others, from the end on */
    unsigned char places[2 * MOST_OPERANDS]; /* numbers by what one hopes are different places, 255 where none is */
} Tree;

/* Return where the number of a node is, or would be. */
static inline unsigned char *
place_in(Tree *tree, PyObject *node)
{
    size_t place = ((size_t)node >> 4) * 0x9e3779b1u;
    unsigned char *found = &tree->places[(place ^ place >> 16) % (2 * MOST_OPERANDS)];
    while (*found != 255 && tree->nodes[*found] != node) {
        found = found + 1 < tree->places + 2 * MOST_OPERANDS ? found + 1 : tree->places;
    }
    return found;
}

static inline int
number_in(Tree *tree, PyObject *node)
{
    return *place_in(tree, node);
}

/* Give a node its number. */
static inline void
add_to(Tree *tree, PyObject *node, int number)
{
    *place_in(tree, node) = (unsigned char)number;
    tree->nodes[number] = node;
    tree->users[number] = 0;
}

/* Collect what is pending below a node; returns 0 where that is not all for loops, or where it is too much, with the
 * node to run before in `*first`.
 */
static int
collect(PyObject *root, Tree *tree, PyObject **first)
{
    PyObject *stack[4 * MOST_STEPS];
    int depth = 0;
    tree->n_leaves = tree->n_nodes = 0;
    memset(tree->places, 255, sizeof(tree->places));
    *first = NULL;
    stack[depth++] = root;
    while (depth > 0) {
        PyObject *node = stack[depth - 1], *inputs;
        int is_ready = 1;
        if (number_in(tree, node) != 255) {
            depth--;
            continue;
        }
        if (!has_loop(node)) {
            if (VALUE_OF(node) == Py_None) {
                *first = NULL;
                return 0;
            }
            if (tree->n_nodes + tree->n_leaves == MOST_OPERANDS) {
                return 0;
            }
            tree->n_leaves++;
            add_to(tree, node, MOST_OPERANDS - tree->n_leaves);
            depth--;
            continue;
        }
        inputs = SLOT(node, n_inputs);
        for (Py_ssize_t i = PyTuple_GET_SIZE(inputs) - 1; i >= 0; i--) {
            PyObject *input = PyTuple_GET_ITEM(inputs, i);
            if (number_in(tree, input) == 255) {
                if (depth == 4 * MOST_STEPS) {
                    return 0;
                }
                stack[depth++] = input;
                is_ready = 0;
            }
        }
        if (is_ready) {
            if (tree->n_nodes == MOST_STEPS || tree->n_nodes + tree->n_leaves == MOST_OPERANDS) {
                return 0;
            }
            add_to(tree, node, tree->n_nodes++);
            *first = node; /* the largest part of the tree that fits, so far */
            depth--;
        }
    }
    for (int k = 0; k < tree->n_nodes; k++) {
        PyObject *inputs = SLOT(tree->nodes[k], n_inputs);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            tree->users[number_in(tree, PyTuple_GET_ITEM(inputs, i))]++;
        }
    }
    return 1;
}

/* Make an operand of a known array; returns 0 if its elements do not lie as a loop wants them. */
static int
set_array(Operand *o, PyArrayObject *array, const npy_intp *dims, int ndim)
{
    if (!PyArray_ISBEHAVED_RO(array) || PyArray_NDIM(array) != ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), dims, ndim)) {
        return 0;
    }
    o->data = PyArray_BYTES(array);
    o->is_narrow = 0;
    o->itemsize = PyArray_ITEMSIZE(array);
    for (int axis = 0; axis < ndim; axis++) {
        o->strides[axis] = PyArray_STRIDE(array, axis);
    }
    return 1;
}

/* Return a new array like those of an aval. */
static PyObject *
new_value(PyObject *aval, int ndim, npy_intp *dims)
{
    PyArray_Descr *dtype = aval_dtype(aval);
    Py_INCREF(dtype);
    return new_array(dtype, ndim, dims);
}

/* Say whether floating-point faults that were seen are for somebody to hear of: then Python computes again, and tells. */
static int
are_for_somebody(int seen)
{
    static const struct {
        int bit;
        const char *name;
    } kinds[] = {{FE_DIVBYZERO, "divide"}, {FE_OVERFLOW, "over"}, {FE_INVALID, "invalid"}};
    PyObject *states = PyDict_GetItemWithError(faults, s_usual), *state;
    int is_wanted = setting(s_warnings) == Py_True;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!(seen & kinds[i].bit)) {
            continue;
        }
        state = states == NULL ? NULL : PyDict_GetItemString(states, kinds[i].name);
        if (state == NULL || PyUnicode_CompareWithASCIIString(state, "usual") == 0 ? is_wanted
            : PyUnicode_CompareWithASCIIString(state, "ignore") != 0) {
            return 1;
        }
    }
    return 0;
}

/* Let a step be what a node does; returns 0 if no loop does that, or it can raise an error. */
static int
set_node(Step *step, PyObject *node)
{
    size_t place = place_of(SLOT(node, n_prim));
    PyUFuncObject *ufunc = known_loops[place].ufunc;
    PyObject *inputs = SLOT(node, n_inputs);
    int type = aval_dtype(SLOT(PyTuple_GET_ITEM(inputs, 0), n_aval))->type_num;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(inputs); i++) {
        if (aval_dtype(SLOT(PyTuple_GET_ITEM(inputs, i), n_aval))->type_num != type) {
            return 0;
        }
    }
    return type < 64 && known_loops[place].types >> type & 1 && PyTuple_GET_SIZE(inputs) == ufunc->nin &&
           set_loop(step, ufunc, type) && step->result == aval_dtype(SLOT(node, n_aval))->type_num;
}

/* Say whether a tree is for loops here: what is large and stands on no part is for plans, and MAX to see. */
static int
is_for_loops(const Tree *tree)
{
    PyObject *root = tree->nodes[tree->n_nodes - 1];
    npy_intp bytes = aval_bytes(SLOT(PyTuple_GET_ITEM(SLOT(root, n_inputs), 0), n_aval));
    enum mode now = mode();
    if (bytes == 0 || bytes >= part_bytes || now == MAX_MODE) {
        return 0;
    }
    if (bytes < large_bytes || now == HOST_MODE) {
        return 1;
    }
    for (int i = 1; i <= tree->n_leaves; i++) {
        if (Py_TYPE(tree->nodes[MOST_OPERANDS - i]) == Part) {
            return 1;
        }
    }
    return 0;
}

/* Put the pending nodes of a tree, and the arrays that hold what others need of them, into a job.
 *
 * `values[k]` becomes a new array for what is kept of node k, and the node is held; the last, the root's, is `into`
 * if that is given.
 * Returns 0 where something is not for this.
 */
static int
make_job(Tree *tree, Job *job, PyArrayObject *into, PyObject **values)
{
    npy_intp *dims = job->dims;
    int base = tree->n_nodes, ndim = dims_of(SLOT(tree->nodes[base - 1], n_aval), dims);
    if (ndim < 0) {
        return 0;
    }
    job->ndim = ndim;
    job->n_steps = tree->n_nodes;
    job->n_operands = tree->n_nodes + tree->n_leaves;
    for (int i = 1; i <= tree->n_leaves; i++) {
        PyObject *value = VALUE_OF(tree->nodes[MOST_OPERANDS - i]);
        if (!PyArray_CheckExact(value) ||
            !set_array(&job->operands[base + i - 1], (PyArrayObject *)value, dims, ndim)) {
            return 0;
        }
    }
    for (int k = 0; k < tree->n_nodes; k++) {
        PyObject *node = tree->nodes[k], *aval = SLOT(node, n_aval), *inputs = SLOT(node, n_inputs);
        Py_ssize_t many = PyTuple_GET_SIZE(inputs);
        Step *step = &job->steps[k];
        if (!set_node(step, node)) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < many; i++) {
            int number = number_in(tree, PyTuple_GET_ITEM(inputs, i));
            step->args[i] = number < base ? number : base + MOST_OPERANDS - number - 1;
        }
        step->args[many] = k;
        job->operands[k].data = NULL;
        job->operands[k].is_narrow = 0;
        job->operands[k].itemsize = PyDataType_ELSIZE(aval_dtype(aval));
        if (k == base - 1 && into != NULL) {
            values[k] = Py_NewRef((PyObject *)into);
        }
        else if (k == base - 1 || Py_REFCNT(node) > tree->users[k]) {
            values[k] = new_value(aval, ndim, dims);
        }
        else {
            continue;
        }
        if (values[k] == NULL) {
            return 0;
        }
        Py_INCREF(node);
        if (!set_array(&job->operands[k], (PyArrayObject *)values[k], dims, ndim)) {
            return 0;
        }
    }
    return 1;
}

/* Let a node be a part whose elements these are (stolen); returns its inputs, to be let go of once all are settled: that
 * may run anything.
 */
static PyObject *
settle(PyObject *node, PyObject *value)
{
    PyObject *inputs = SLOT(node, n_inputs);
    become_part(node);
    Py_SETREF(SLOT(node, n_value), value);
    Py_CLEAR(SLOT(node, n_prim));
    Py_CLEAR(SLOT(node, n_params));
    Py_CLEAR(SLOT(node, n_depth));
    SLOT(node, n_inputs) = NULL;
    return inputs;
}

/* Compute a tree, its root into memory if that is given; returns 0, without an error, where Python must. */
static int
run_tree(Tree *tree, PyArrayObject *into)
{
    Job job;
    PyObject *values[MOST_STEPS], *kept[MOST_STEPS], *aval = SLOT(tree->nodes[tree->n_nodes - 1], n_aval);
    npy_intp size = aval_bytes(aval) / PyDataType_ELSIZE(aval_dtype(aval));
    int done;
    memset(values, 0, sizeof(*values) * (size_t)tree->n_nodes);
    done = is_for_loops(tree) && make_job(tree, &job, into, values) &&
           run_job(&job, threads_for(cost_of_job(&job), size), 0) == 0 && !are_for_somebody(job.faults);
    PyErr_Clear();
    for (int k = 0; k < tree->n_nodes; k++) {
        kept[k] = values[k] == NULL ? NULL : tree->nodes[k];
        if (kept[k] != NULL && done && values[k] != (PyObject *)into) {
            values[k] = settle(kept[k], values[k]);
        }
    }
    for (int k = 0, many = tree->n_nodes; k < many; k++) { /* those of the tree that nobody holds go on the way */
        Py_XDECREF(values[k]);
        Py_XDECREF(kept[k]);
    }
    return done;
}

/* Compute a pending node; returns 0, without an error, where Python must. */
static int
run_loops(PyObject *root)
{
    Tree tree;
    PyObject *first;
    int done;
    Py_INCREF(root); /* what a smaller tree lets go of may be the last to hold it */
    while (!(done = collect(root, &tree, &first)) && first != NULL && run_loops(first)) {
    }
    done = done && tree.n_nodes > 0 && run_tree(&tree, NULL);
    Py_DECREF(root);
    return done;
}

/* Operations that may be pending on what is written to next: weak references to those recorded last. To make one takes
 * half as long as to record an operation, so there are some only for a while after a write in place was kept from that
 * by who else holds the array; else that costs it a copy, once.
 */
enum { READERS = 64, WATCHED = 1024 };
static PyObject *readers[READERS];
static unsigned next_reader, watched; /* how many more are noted */

static inline void
note_reader(PyObject *node)
{
    if (__builtin_expect(watched > 0, 0)) {
        watched--;
        Py_XSETREF(readers[next_reader++ % READERS], PyWeakref_NewRef(node, NULL));
        PyErr_Clear(); /* then it is not noted */
    }
}

/* Compute those that are pending, the newest first: what is in between for it may go unseen. */
static void
run_readers(void)
{
    for (unsigned i = 0; i < READERS; i++) {
        PyObject **ref = &readers[(next_reader - 1 - i) % READERS], *node;
        if (*ref != NULL) {
            node = Py_NewRef(PyWeakref_GET_OBJECT(*ref));
            Py_CLEAR(*ref);
            if (node != Py_None && has_loop(node)) {
                run_loops(node);
            }
            Py_DECREF(node);
        }
    }
}

/* Count what somebody looked at. */
static void
count_evaluation(void)
{
    PyObject *before = PyObject_GetAttr(stats, s_evaluations), *one = PyLong_FromLong(1);
    PyObject *after = before == NULL || one == NULL ? NULL : PyNumber_Add(before, one);
    if (after == NULL || PyObject_SetAttr(stats, s_evaluations, after) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(before);
    Py_XDECREF(one);
    Py_XDECREF(after);
}

/* Return the elements of an array (borrowed) if they are known and up to date, or can be computed here at once. */
static PyArrayObject *
fresh(PyObject *x)
{
    PyArrayObject *value = seen(x);
    if (value == NULL && has_loop(NODE(x)) && run_loops(NODE(x))) {
        count_evaluation();
        value = seen(x);
    }
    return value;
}

/* Say whether the elements of an array are those of another, or surely none of them. */
static int
is_apart_or_same(PyArrayObject *a, PyArrayObject *b)
{
    char *ends[2][2];
    PyArrayObject *both[2] = {a, b};
    int same = PyArray_DATA(a) == PyArray_DATA(b) && PyArray_DESCR(a) == PyArray_DESCR(b) &&
               PyArray_NDIM(a) == PyArray_NDIM(b);
    for (int i = 0; i < 2; i++) {
        ends[i][0] = ends[i][1] = PyArray_BYTES(both[i]);
        for (int axis = 0; axis < PyArray_NDIM(both[i]); axis++) {
            npy_intp way = (PyArray_DIM(both[i], axis) - 1) * PyArray_STRIDE(both[i], axis);
            ends[i][way > 0] += way;
            same = same && PyArray_DIM(a, axis) == PyArray_DIM(b, axis) && PyArray_STRIDE(a, axis) == PyArray_STRIDE(b, axis);
        }
        ends[i][1] += PyArray_ITEMSIZE(both[i]);
    }
    if (same || ends[0][1] <= ends[1][0] || ends[1][1] <= ends[0][0]) {
        return 1;
    }
    /* Columns, say: all steps are of a length, and one array's elements lie between those of the other. */
    npy_intp step = 0, between;
    for (int i = 0; i < 2; i++) {
        for (int axis = 0; axis < PyArray_NDIM(both[i]); axis++) {
            npy_intp other = PyArray_DIM(both[i], axis) == 1 ? 0 : PyArray_STRIDE(both[i], axis);
            other = other < 0 ? -other : other;
            while (other != 0) {
                npy_intp rest = step % other;
                step = other;
                other = rest;
            }
        }
    }
    if (step == 0) {
        return 0;
    }
    between = (PyArray_BYTES(b) - PyArray_BYTES(a)) % step;
    between += between < 0 ? step : 0;
    return between >= PyArray_ITEMSIZE(a) && between + PyArray_ITEMSIZE(b) <= step;
}

/* Return a view that repeats the elements of an array. */
static PyObject *
repeated(PyArrayObject *value, int ndim, npy_intp *dims)
{
    npy_intp strides[MOST_DIMS];
    int less = ndim - PyArray_NDIM(value);
    PyArray_Descr *dtype = PyArray_DESCR(value);
    PyObject *view;
    for (int axis = 0; axis < ndim; axis++) {
        int own = axis - less;
        strides[axis] = own < 0 || PyArray_DIM(value, own) == 1 ? 0 : PyArray_STRIDE(value, own);
    }
    Py_INCREF(dtype);
    view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, strides, PyArray_DATA(value), 0, NULL);
    if (view != NULL && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(value)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

/* Return a node that repeats the elements of an array (a new reference). */
static PyObject *
spread(PyArrayObject *value, PyObject *aval, int ndim, npy_intp *dims)
{
    PyObject *view = repeated(value, ndim, dims), *out = view == NULL ? NULL : make_object(Part, &nodes, 0);
    if (out == NULL) {
        Py_XDECREF(view);
        return NULL;
    }
    SLOT(out, n_aval) = Py_NewRef(aval);
    SLOT(out, n_value) = view;
    return out;
}

/* Give a leaf that repeats few elements a copy of them; returns 0 if it does not. */
static int
copy_few(PyObject *leaf)
{
    PyArrayObject *value = (PyArrayObject *)VALUE_OF(leaf);
    npy_intp dims[MOST_DIMS], bytes = PyArray_ITEMSIZE(value);
    int ndim = PyArray_NDIM(value);
    PyArray_Descr *dtype = PyArray_DESCR(value);
    PyObject *few, *copy, *view = NULL;
    for (int axis = 0; axis < ndim; axis++) {
        dims[axis] = PyArray_STRIDE(value, axis) == 0 ? 1 : PyArray_DIM(value, axis);
        bytes *= dims[axis];
    }
    if (bytes > PyArray_NBYTES(value) / 8) {
        return 0;
    }
    Py_INCREF(dtype);
    few = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, PyArray_STRIDES(value), PyArray_DATA(value), 0, NULL);
    copy = few == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)few, NPY_CORDER);
    if (copy != NULL && (view = repeated((PyArrayObject *)copy, ndim, PyArray_DIMS(value))) != NULL) {
        Py_SETREF(SLOT(leaf, n_value), view);
    }
    PyErr_Clear();
    Py_XDECREF(few);
    Py_XDECREF(copy);
    return view != NULL;
}

/* Compute a pending node, which nobody else knows, into a part of the elements of an array `x`, or all of them.
 *
 * `part` is its value itself, or a new view of that. Returns 0 where others would see that, or where elements are
 * read after others were written. Counts are those of `target`, and what the tree holds.
 */
static int
run_into(PyObject *x, PyArrayObject *part, PyObject *root)
{
    PyObject *view = SLOT(x, x_view), *owner = view == Py_None ? x : SLOT(view, v_base), *value = VALUE_OF(NODE(x));
    PyObject *held = NODE(owner), *memory = VALUE_OF(held), *aval = SLOT(root, n_aval), *first;
    Py_ssize_t nodes = 1, arrays = 1, mine = 1;
    npy_intp dims[MOST_DIMS];
    Tree tree;
    if (!has_loop(root) || PyTuple_GET_SIZE(SLOT(owner, x_levels)) != 0 || is_frozen(x) || !is_ours(owner) ||
        are_for_somebody(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID) || /* who tells of them computes again */
        memory == NULL || !PyArray_CheckExact(memory) || !PyArray_CheckExact(value) ||
        !PyArray_CHKFLAGS((PyArrayObject *)memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) ||
        aval_dtype(aval) != PyArray_DESCR(part) || dims_of(aval, dims) != PyArray_NDIM(part) ||
        !PyArray_CompareLists(dims, PyArray_DIMS(part), PyArray_NDIM(part)) || !PyArray_ISBEHAVED(part) ||
        !collect(root, &tree, &first)) {
        return 0;
    }
    for (int i = 1; i <= tree.n_leaves; i++) {
        PyObject *leaf = tree.nodes[MOST_OPERANDS - i], *elements = VALUE_OF(leaf);
        int users = tree.users[MOST_OPERANDS - i];
        if (!PyArray_CheckExact(elements)) {
            return 0;
        }
        if (leaf == NODE(x)) {
            mine += users;
        }
        else if (leaf == held) {
            nodes += users;
        }
        else if (elements == memory) {
            return 0;
        }
        else if (PyArray_BASE((PyArrayObject *)elements) == memory) {
            if (Py_REFCNT(leaf) != users || Py_REFCNT(elements) != 1) {
                return 0;
            }
            if (!is_apart_or_same((PyArrayObject *)elements, part)) {
                if (!copy_few(leaf)) {
                    return 0;
                }
                continue;
            }
            arrays++;
        }
        if (!is_apart_or_same((PyArrayObject *)elements, part)) {
            return 0;
        }
    }
    if (view == Py_None) {
        nodes += mine - 1;
    }
    else if (PyArray_BASE((PyArrayObject *)value) != memory || Py_REFCNT(NODE(x)) != mine) {
        return 0;
    }
    else {
        nodes++;
        arrays++;
    }
    arrays += (PyObject *)part != value;
    return Py_REFCNT(held) == nodes && Py_REFCNT(memory) == arrays && run_tree(&tree, part);
}
