/* Evaluation of small pending graphs of ufuncs: one fused kernel, planned each time. To look up a schedule by the graph key
 * would take longer than to make the job.
 */

static PyObject *slice_prim, *select_prim;     /* the primitives of slices, and of `where` */
static Py_ssize_t a_dtype, a_weight, a_nbytes; /* where an Aval has these */
static PyObject *scalar_node; /* function(aval, number): its node, or None */
static PyObject *stats;       /* counts evaluations */
static PyObject *s_evaluations;

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

/* Say whether MAX, which has no complex numbers, gains nothing by what costs so much for each element of some bytes: a call
 * of it takes as long as half a million sums, which is the number of bytes from which arrays are large, too.
 *
 * `is_last`: nothing is recorded on top of it first, with which it could be one program. Then that takes four times as
 * much, since MAX's loops are no quicker than NumPy's, but for those of them that know no vectors.
 */
static inline int
is_quick(npy_intp cost, PyArray_Descr *dtype, npy_intp bytes, int is_last)
{
    return PyTypeNum_ISCOMPLEX(dtype->type_num) ||
           cost * (bytes / PyDataType_ELSIZE(dtype)) <= (is_last ? 4 * large_bytes : large_bytes);
}

/* Return what a graph costs for each element, which are of a dtype. */
static npy_intp
cost_of_graph(const Graph *g, PyArray_Descr *dtype)
{
    npy_intp cost = 0;
    for (int k = 0; k < g->n_steps; k++) {
        PyUFuncObject *ufunc = known_loops[place_of(SLOT(step_in(g, k), n_prim))].ufunc;
        cost += ufunc == NULL ? 1 : cost_of(ufunc, dtype->type_num);
    }
    return cost;
}

/* Say whether a graph is for loops here: what is large, stands on no part, and is for MAX to see, is for plans. */
static int
is_for_loops(const Graph *g, int is_last)
{
    PyObject *inputs = SLOT(step_in(g, g->n_steps - 1), n_inputs);
    PyObject *aval = SLOT(PyTuple_GET_ITEM(inputs, PyTuple_GET_SIZE(inputs) - 1), n_aval); /* the first may be a mask */
    npy_intp bytes = aval_bytes(aval);
    enum mode now = mode();
    if (bytes == 0 || bytes >= part_bytes || now == MAX_MODE) {
        return 0;
    }
    if (bytes < large_bytes || now == HOST_MODE || is_quick(cost_of_graph(g, aval_dtype(aval)), aval_dtype(aval), bytes, is_last)) {
        return 1;
    }
    for (int i = 0; i < g->n_leaves; i++) {
        if (Py_TYPE(leaf_in(g, i)->node) == Part) {
            return 1;
        }
    }
    return 0;
}

/* Let step `k` of a job be what that of a graph does; returns 0 if no loop does that, or it can raise an error. */
static inline int
set_node(Job *job, int k, const Graph *g)
{
    PyObject *node = step_in(g, k), *inputs = SLOT(node, n_inputs);
    size_t place = place_of(SLOT(node, n_prim));
    PyUFuncObject *ufunc = known_loops[place].ufunc;
    PyArray_Descr *from = NULL, *to = aval_dtype(SLOT(node, n_aval));
    int nin = ufunc == NULL ? 3 : ufunc->nin;
    if (PyTuple_GET_SIZE(inputs) != nin) {
        return 0;
    }
    for (int i = 0; i < nin; i++) {
        const Met *met = met_in(g, PyTuple_GET_ITEM(inputs, i));
        PyArray_Descr *dtype = aval_dtype(SLOT(met->node, n_aval));
        if (i > 0 && dtype->type_num != from->type_num && ufunc != NULL) {
            return 0;
        }
        from = dtype;
        job->steps[k].args[i] = met->number / 3 + (met->number % 3 == 0 ? 0 : job->n_steps);
    }
    if (ufunc == NULL) { /* of a mask, and two operands of one aval (`_select_aval`) */
        return set_step(job, k, Py_None, EACH, from, to, 0);
    }
    return from->type_num < 64 && known_loops[place].types >> from->type_num & 1 &&
           set_step(job, k, (PyObject *)ufunc, EACH, from, to, 0) && job->steps[k].result == to->type_num;
}

/* Put the steps of a graph, behind which there are others, and its leaves into a job; returns 0 where something is not for
 * this.
 */
static int
set_graph(const Graph *g, Job *job, int others)
{
    npy_intp dims[MOST_DIMS];
    int ndim = dims_of(SLOT(step_in(g, g->n_steps - 1), n_aval), dims);
    if (ndim < 0 || g->n_steps + others > MOST_STEPS || g->n_steps + others + g->n_leaves > MOST_OPERANDS) {
        return 0;
    }
    begin_job(job, g->n_steps + others, g->n_leaves, ndim, dims, 0);
    for (int i = 0; i < g->n_leaves; i++) {
        if (!set_array(job, job->n_steps + i, VALUE_OF(leaf_in(g, i)->node))) {
            return 0;
        }
    }
    for (int k = 0; k < g->n_steps; k++) {
        if (!set_node(job, k, g)) {
            return 0;
        }
    }
    return 1;
}

/* Put a graph, and the arrays that hold what others need of it, into a job.
 *
 * `values[k]` becomes a new array for what is kept of step k, and the node is held; the last, the root's, is `into` if
 * that is given. Returns 0 where something is not for this.
 */
static int
make_job(const Graph *g, Job *job, PyArrayObject *into, PyObject **values)
{
    int last = g->n_steps - 1;
    if (!set_graph(g, job, 0)) {
        return 0;
    }
    for (int k = 0; k <= last; k++) {
        const Met *met = &g->met[g->met[k].step];
        if (k == last && into != NULL) {
            values[k] = Py_NewRef((PyObject *)into);
        }
        else if (k == last || is_held_outside(met)) {
            PyArray_Descr *dtype = aval_dtype(SLOT(met->node, n_aval));
            Py_INCREF(dtype);
            values[k] = new_array(dtype, job->ndim, job->dims);
        }
        else {
            continue;
        }
        if (values[k] == NULL) {
            return 0;
        }
        Py_INCREF(met->node);
        if (!set_array(job, k, values[k])) {
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

/* Run a job that makes new arrays, without the interpreter's lock and that of the graph; returns whether it was done.
 *
 * Others may evaluate the same nodes meanwhile. The leaves and their elements are held: nobody writes to these in place.
 */
static int
run_unlocked(const Graph *g, Job *job)
{
    PyObject *held[2 * MOST_OPERANDS];
    int n = 0, done;
    long depth = graph_lock.depth == 1 ? drop_lock() : 0; /* unless Python has it: that is in the midst of something */
    for (int i = 0; i < g->n_leaves; i++) {
        PyObject *leaf = leaf_in(g, i)->node;
        held[n++] = Py_NewRef(leaf);
        held[n++] = Py_NewRef(VALUE_OF(leaf));
    }
    done = run_job(job, 1) == 0;
    regain_lock(depth);
    while (n > 0) {
        Py_DECREF(held[--n]);
    }
    return done;
}

/* Note the faults of an operation, as <fenv.h> names them. */
static void
note_faults_of(PyObject *prim, PyObject *params, PyObject *aval, int seen)
{
    PyObject *one = Py_BuildValue("OOOl", prim, params == NULL ? no_params : params, aval, numpys_faults(seen));
    if (noted == NULL && (noted = PyList_New(0)) != NULL) {
        are_noted++;
    }
    if (one == NULL || noted == NULL || PyList_Append(noted, one) < 0) {
        PyErr_Clear(); /* of memory */
    }
    Py_XDECREF(one);
}

/* Compute a graph, its root into memory if that is given; returns 0, without an error, where Python must. */
static int
run_graph(const Graph *g, PyArrayObject *into, int is_last)
{
    Job job;
    PyObject *values[MOST_STEPS], *kept[MOST_STEPS], *held[MOST_STEPS];
    int n = g->n_steps, n_held, done, is_heard;
    memset(values, 0, sizeof(*values) * (size_t)n);
    done = is_for_loops(g, is_last) && make_job(g, &job, into, values) && cut_job(&job);
    for (n_held = 0; done && n_held < n; n_held++) { /* others may have a part of it computed, and let go of the rest */
        held[n_held] = Py_NewRef(step_in(g, n_held));
    }
    done = done && (into == NULL && is_long(&job) ? run_unlocked(g, &job) : run_job(&job, 0) == 0);
    PyErr_Clear();
    /* Who had all of it computed meanwhile told of it. */
    is_heard = done && job.faults != 0 && has_loop(step_in(g, n - 1)) && are_for_somebody(job.faults);
    for (int k = 0; is_heard && k < n; k++) {
        PyObject *node = step_in(g, k);
        if (job.step_faults[k] != 0 && SLOT(node, n_prim) != NULL) { /* else others computed it, and told of it */
            note_faults_of(SLOT(node, n_prim), SLOT(node, n_params), SLOT(node, n_aval), job.step_faults[k]);
        }
    }
    for (int k = 0; k < n; k++) {
        kept[k] = values[k] == NULL ? NULL : step_in(g, k);
        if (kept[k] != NULL && done && values[k] != (PyObject *)into && has_loop(kept[k])) {
            values[k] = settle(kept[k], values[k]);
        }
    }
    if (done && into == NULL) { /* another thread may have claimed it meanwhile */
        done = VALUE_OF(step_in(g, n - 1)) != Py_None;
    }
    for (int k = 0; k < n; k++) { /* those of the graph that nobody holds go on the way */
        Py_XDECREF(values[k]);
        Py_XDECREF(kept[k]);
    }
    while (n_held > 0) {
        Py_DECREF(held[--n_held]);
    }
    return done;
}

static const Reach loops_only = {.is_small = 1};

/* Compute a pending node that has a loop, as `is_quick` says; returns 0, without an error, where Python must. */
static int
run_looked_at(PyObject *root, int is_last)
{
    Graph g;
    enum walked how;
    int done;
    n_evaluations++;
    Py_INCREF(root); /* what a smaller graph lets go of may be the last to hold it */
    do {
        begin_graph(&g);
        how = has_loop(root) ? walk(&g, root, &loops_only) : NOT_FOR_LOOPS; /* others may have had it computed */
    } while (how == TOO_MUCH && g.n_steps > 0 && run_looked_at(step_in(&g, g.n_steps - 1), is_last));
    done = how == WALKED ? run_graph(&g, NULL, is_last) : VALUE_OF(root) != Py_None;
    Py_DECREF(root);
    return done;
}

static inline int
run_loops(PyObject *root)
{
    return run_looked_at(root, 0);
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

/* Return what a weak reference refers to (a new reference); NULL, without an error, where that is gone. */
static inline PyObject *
referent(PyObject *ref)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found;
    return PyWeakref_GetRef(ref, &found) == 1 ? found : NULL;
#else
    PyObject *found = PyWeakref_GET_OBJECT(ref);
    return found == Py_None ? NULL : Py_NewRef(found);
#endif
}

/* Compute those that are pending, the newest first: what is in between for it may go unseen. */
static void
run_readers(void)
{
    for (unsigned i = 0; i < READERS; i++) {
        PyObject **ref = &readers[(next_reader - 1 - i) % READERS], *node;
        if (*ref != NULL) {
            node = referent(*ref);
            Py_CLEAR(*ref);
            if (node != NULL && has_loop(node)) {
                run_loops(node);
            }
            Py_XDECREF(node);
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

/* Say whether an array is a view of one that has another node by now. */
static inline int
is_stale(PyObject *x)
{
    PyObject *view = SLOT(x, x_view);
    return view != Py_None && NODE(SLOT(view, v_base)) != SLOT(view, v_seen);
}

/* Return the part of an owner's new elements that lies as a view's did in those of before (a new reference); NULL where
 * that is not so simple. `same_part` in Python is the meaning.
 */
static PyArrayObject *
same_part(PyArrayObject *part, PyArrayObject *was, PyArrayObject *now)
{
    PyArray_Descr *dtype = PyArray_DESCR(part);
    int ndim = PyArray_NDIM(was), axes[NPY_MAXDIMS];
    PyObject *found, *memory = PyArray_BASE(was) != NULL ? PyArray_BASE(was) : (PyObject *)was;
    if (PyArray_SIZE(part) == 0 || !PyArray_ISWRITEABLE(part) || PyArray_BASE(part) != memory ||
        !PyArray_CHKFLAGS(now, NPY_ARRAY_OWNDATA) || PyArray_DESCR(was) != PyArray_DESCR(now) || !lying(now, axes) ||
        ndim != PyArray_NDIM(now) || !PyArray_CompareLists(PyArray_DIMS(was), PyArray_DIMS(now), ndim) ||
        !PyArray_CompareLists(PyArray_STRIDES(was), PyArray_STRIDES(now), ndim)) {
        return NULL;
    }
    Py_INCREF(dtype);
    found = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(part), PyArray_DIMS(part), PyArray_STRIDES(part),
                                 PyArray_BYTES(now) + (PyArray_BYTES(part) - PyArray_BYTES(was)),
                                 PyArray_FLAGS(now) & NPY_ARRAY_WRITEABLE, NULL);
    if (found != NULL && PyArray_SetBaseObject((PyArrayObject *)found, Py_NewRef((PyObject *)now)) < 0) {
        Py_CLEAR(found);
    }
    PyErr_Clear();
    return (PyArrayObject *)found;
}

/* Return the elements (a new reference) that a stale view is to have; NULL where Python must see to it. */
static PyArrayObject *
renewed(PyObject *x)
{
    PyObject *view = SLOT(x, x_view), *base, *was, *now;
    if (!is_stale(x) || Py_TYPE(NODE(x)) != Part || PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0) {
        return NULL;
    }
    base = SLOT(view, v_base);
    was = VALUE_OF(SLOT(view, v_seen));
    now = VALUE_OF(NODE(base));
    if (PyTuple_GET_SIZE(SLOT(base, x_levels)) != 0 || Py_TYPE(NODE(base)) == Exported || was == NULL || now == NULL ||
        !PyArray_CheckExact(was) || !PyArray_CheckExact(now)) {
        return NULL;
    }
    return same_part((PyArrayObject *)VALUE_OF(NODE(x)), (PyArrayObject *)was, (PyArrayObject *)now);
}

/* Give a view of what is known the elements that its owner has now, which may run anything; nothing where Python must. */
static void
renew(PyObject *x)
{
    PyObject *node, *view, *old, *value;
    if (!is_stale(x) || is_watched() || mode() == MAX_MODE || Py_TYPE(NODE(x)) != Part) {
        return;
    }
    node = make_object(Part, &nodes, 0);
    view = make_object(View, &views, 1); /* a collection may come of it: what is looked at is looked at afterwards */
    value = node == NULL || view == NULL ? NULL : (PyObject *)renewed(x);
    if (value != NULL) {
        old = SLOT(x, x_view);
        SLOT(node, n_aval) = Py_NewRef(SLOT(NODE(x), n_aval));
        SLOT(node, n_value) = value;
        SLOT(view, v_base) = Py_NewRef(SLOT(old, v_base));
        SLOT(view, v_seen) = Py_NewRef(NODE(SLOT(old, v_base)));
        SLOT(view, v_steps) = Py_XNewRef(SLOT(old, v_steps));
        SLOT(view, v_of) = Py_XNewRef(SLOT(old, v_of));
        SLOT(view, v_key) = Py_XNewRef(SLOT(old, v_key));
        SLOT(view, v_shape) = Py_XNewRef(SLOT(old, v_shape));
        old = NODE(x);
        NODE(x) = node;
        Py_SETREF(SLOT(x, x_view), view);
        note_view(x);
        Py_DECREF(old);
        return;
    }
    PyErr_Clear();
    Py_XDECREF(node);
    Py_XDECREF(view);
}

/* Return the elements of an array (borrowed) if they are known and up to date, or can be computed here at once. */
static PyArrayObject *
fresh(PyObject *x)
{
    PyArrayObject *value = seen(x);
    if (value == NULL && is_stale(x)) {
        renew(x);
        return seen(x);
    }
    if (value == NULL && has_loop(NODE(x)) && run_loops(NODE(x))) {
        count_evaluation();
        value = seen(x);
    }
    return value;
}

/* Say whether two arrays surely have other parts of each stretch of memory, of so many bytes, as columns of one table have.
 */
static int
are_apart_in(PyArrayObject *const *both, npy_intp stretch)
{
    npy_intp widths[2], between;
    char *first[2];
    for (int i = 0; i < 2; i++) {
        first[i] = PyArray_BYTES(both[i]);
        widths[i] = PyArray_ITEMSIZE(both[i]);
        for (int axis = 0; axis < PyArray_NDIM(both[i]); axis++) {
            npy_intp step = PyArray_STRIDE(both[i], axis), way = (PyArray_DIM(both[i], axis) - 1) * step;
            if (step % stretch != 0) {
                first[i] += way < 0 ? way : 0;
                widths[i] += way < 0 ? -way : way;
            }
        }
    }
    between = (first[1] - first[0]) % stretch;
    between += between < 0 ? stretch : 0;
    return between >= widths[0] && between + widths[1] <= stretch;
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
    npy_intp longest = 0, common = 0;
    for (int i = 0; i < 2; i++) {
        for (int axis = 0; axis < PyArray_NDIM(both[i]); axis++) {
            npy_intp other = PyArray_DIM(both[i], axis) == 1 ? 0 : PyArray_STRIDE(both[i], axis);
            other = other < 0 ? -other : other;
            longest = other > longest ? other : longest;
            while (other != 0) {
                npy_intp rest = common % other;
                common = other;
                other = rest;
            }
        }
    }
    /* Some columns each of rows that long; or one array's elements lie between those of the other. */
    return longest != 0 && (are_apart_in(both, longest) || are_apart_in(both, common));
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
    PyObject *held = NODE(owner), *memory = VALUE_OF(held), *aval = SLOT(root, n_aval);
    Py_ssize_t nodes = 1, arrays = 1, mine = 1;
    npy_intp dims[MOST_DIMS];
    Graph g;
    if (!has_loop(root) || PyTuple_GET_SIZE(SLOT(owner, x_levels)) != 0 || is_frozen(x) || !is_ours(owner) ||
        are_for_somebody(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID) || /* one may raise, before which nothing is written */
        memory == NULL || !PyArray_CheckExact(memory) || !PyArray_CheckExact(value) ||
        !PyArray_CHKFLAGS((PyArrayObject *)memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) ||
        aval_dtype(aval) != PyArray_DESCR(part) || dims_of(aval, dims) != PyArray_NDIM(part) ||
        !PyArray_CompareLists(dims, PyArray_DIMS(part), PyArray_NDIM(part)) || !PyArray_ISBEHAVED(part)) {
        return 0;
    }
    begin_graph(&g);
    if (walk(&g, root, &loops_only) != WALKED) {
        return 0;
    }
    for (int i = 0; i < g.n_leaves; i++) {
        PyObject *leaf = leaf_in(&g, i)->node, *elements = VALUE_OF(leaf);
        int users = leaf_in(&g, i)->uses;
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
    return Py_REFCNT(held) == nodes && Py_REFCNT(memory) == arrays && run_graph(&g, part, 0);
}
