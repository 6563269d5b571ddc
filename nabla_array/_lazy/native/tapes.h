/* Nodes that somebody must see as they are recorded: those on top of what tapes run for, and those along batch levels.
 *
 * `note` of tape.py is the meaning of what tapes are told, `elementwise_calls.py` of what operators record, and `apply`
 * and `bind` of what functions do.
 */

static PyTypeObject *Tape, *Entry;
static PyObject *seeing;    /* list: not empty while some thread gathers what it records along levels */
static PyObject *slow_note; /* function(node): what `note` does, in Python */
static PyObject *unchanged; /* the batch rule of primitives whose params do not mention axes */
static Py_ssize_t t_thread, t_members, t_entries, t_derivative, t_everything, t_linear;
static PyObject *s_seen, *s_is_constant, *s_rules, *s_batch, *s_role, *s_projection;

enum { MOST_TAPES = 8 };

/* Make a tape hold a node that stands on what it holds; returns -1 for an error. */
static int
hold_on_tape(PyObject *tape, PyObject *node)
{
    const Py_ssize_t parts[] = {n_prim, n_inputs, n_params};
    PyObject *entry = Entry->tp_alloc(Entry, 4), *id = PyLong_FromVoidPtr(node);
    int failed = 1;
    if (entry != NULL && id != NULL) {
        PyTuple_SET_ITEM(entry, 0, Py_NewRef(node));
        for (int i = 0; i < 3; i++) {
            PyTuple_SET_ITEM(entry, i + 1, Py_NewRef(SLOT(node, parts[i])));
        }
        failed = PySet_Add(SLOT(tape, t_members), id) < 0 || PyList_Append(SLOT(tape, t_entries), entry) < 0;
    }
    Py_XDECREF(entry);
    Py_XDECREF(id);
    return failed ? -1 : 0;
}

/* Say whether a tape follows no operation of this kind, whose derivatives are all zero; -1 for an error. */
static int
is_left_out(PyObject *tape, PyObject *prim)
{
    PyObject *constant;
    int linear = PyObject_IsTrue(SLOT(tape, t_linear)), out;
    if (linear != 0 || SLOT(tape, t_derivative) != Py_True) {
        return linear < 0 ? -1 : 0;
    }
    constant = PyObject_GetAttr(prim, s_is_constant);
    out = constant == NULL ? -1 : PyObject_IsTrue(constant);
    Py_XDECREF(constant);
    return out;
}

/* Tell one tape of a new node; returns -1 for an error. */
static int
note_on(PyObject *tape, PyObject *node)
{
    PyObject *inputs = SLOT(node, n_inputs);
    long long thread = PyLong_AsLongLong(SLOT(tape, t_thread));
    int is_on;
    if (thread < 0) { /* hidden, or no thread's */
        return PyErr_Occurred() ? -1 : 0;
    }
    is_on = SLOT(tape, t_everything) == Py_True && thread == (long long)PyThread_get_thread_ident();
    for (Py_ssize_t i = 0; !is_on && i < PyTuple_GET_SIZE(inputs); i++) {
        is_on = has_id(SLOT(tape, t_members), PyTuple_GET_ITEM(inputs, i));
    }
    if (is_on > 0) {
        int is_out = is_left_out(tape, SLOT(node, n_prim));
        return is_out != 0 ? (is_out < 0 ? -1 : 0) : hold_on_tape(tape, node);
    }
    return is_on;
}

/* Tell the tapes that run of a new node with inputs; returns -1 for an error.
 *
 * They are held: another thread may end one. Who looks at a tape's nodes does so when it has stopped, or in the thread
 * that runs it; the interpreter's lock guards each change.
 */
static int
note(PyObject *node)
{
    PyObject *held[MOST_TAPES], *rule;
    Py_ssize_t n = PyList_GET_SIZE(tapes);
    int failed = 0;
    if (n == 0 && PyDict_GET_SIZE(marks) == 0) {
        return 0;
    }
    if ((rule = PyObject_GetAttr(SLOT(node, n_prim), s_seen)) == NULL) {
        return -1;
    }
    Py_DECREF(rule); /* the primitive holds it */
    if (rule != Py_None || n > MOST_TAPES || PyDict_GET_SIZE(marks) != 0) {
        PyObject *done = PyObject_CallOneArg(slow_note, node);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        held[i] = Py_NewRef(PyList_GET_ITEM(tapes, n - 1 - i)); /* innermost first */
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        failed = failed || note_on(held[i], node) < 0;
        Py_DECREF(held[i]);
    }
    return failed ? -1 : 0;
}

/* Do what calling a class does in Python. */
static PyObject *
call_class(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *given = PyTuple_New(n), *named = names == NULL ? NULL : PyDict_New(), *made = NULL;
    int is_good = given != NULL && (names == NULL || named != NULL);
    for (Py_ssize_t i = 0; is_good && i < n; i++) {
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; is_good && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        is_good = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) == 0;
    }
    if (is_good) {
        made = PyType_Type.tp_call(type, given, named);
    }
    Py_XDECREF(given);
    Py_XDECREF(named);
    return made;
}

/* Return a new node, of which the tapes that run are told, as `Node.__init__` does; `inputs` is a tuple. */
static PyObject *
new_node(PyObject *prim, PyObject *inputs, PyObject *params, PyObject *aval, PyObject *depth, PyObject *value)
{
    PyObject *node = make_object(Node, &nodes, 1);
    if (node == NULL) {
        return NULL;
    }
    SLOT(node, n_prim) = Py_NewRef(prim);
    SLOT(node, n_inputs) = Py_NewRef(inputs);
    SLOT(node, n_params) = Py_NewRef(params);
    SLOT(node, n_aval) = Py_NewRef(aval);
    SLOT(node, n_depth) = Py_NewRef(depth);
    SLOT(node, n_value) = Py_NewRef(value);
    if (PyTuple_GET_SIZE(inputs) != 0 && note(node) < 0) {
        Py_CLEAR(node);
    }
    return node;
}

/* Node(prim, inputs, params, aval, depth, value=None) */
static PyObject *
make_node(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if ((n != 5 && n != 6) || (names != NULL && PyTuple_GET_SIZE(names) != 0) || !PyTuple_CheckExact(args[1])) {
        return call_class(type, args, nargsf, names);
    }
    return new_node(args[0], args[1], args[2], args[3], args[4], n == 6 ? args[5] : Py_None);
}

/* Part(value): of an array of NumPy's numbers */
static PyObject *
make_part(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyArrayObject *value = (PyArrayObject *)(PyVectorcall_NARGS(nargsf) == 1 ? args[0] : Py_None);
    PyObject *aval, *node;
    if (!PyArray_CheckExact(value) || !PyTypeNum_ISNUMBER(PyArray_DESCR(value)->type_num) ||
        !PyArray_ISNBO(PyArray_DESCR(value)->byteorder) || (names != NULL && PyTuple_GET_SIZE(names) != 0)) {
        return call_class(type, args, nargsf, names);
    }
    aval = find_aval(PyArray_NDIM(value), PyArray_DIMS(value), PyArray_DESCR(value));
    if (aval == NULL || (node = make_object(Part, &nodes, 0)) == NULL) {
        Py_XDECREF(aval);
        return NULL;
    }
    SLOT(node, n_aval) = aval;
    SLOT(node, n_value) = Py_NewRef(args[0]);
    return node;
}

/* Return a new array of a node (stolen) along levels. */
static PyObject *
array_along(PyObject *node, PyObject *levels)
{
    PyObject *x = array_of(node);
    if (x != NULL) {
        Py_SETREF(SLOT(x, x_levels), Py_NewRef(levels));
    }
    return x;
}

/* Array(node, levels=()) */
static PyObject *
make_array(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if ((n != 1 && n != 2) || (names != NULL && PyTuple_GET_SIZE(names) != 0) ||
        !PyObject_TypeCheck(args[0], Node) || Py_TYPE(args[0]) == Exported || (n == 2 && !PyTuple_CheckExact(args[1]))) {
        return call_class(type, args, nargsf, names);
    }
    return array_along(Py_NewRef(args[0]), n == 2 ? args[1] : no_levels);
}

/* Say whether Python must see what is recorded, without the lock of the graph: who marks nodes may evaluate them at once,
 * and rules of the user's may run.
 */
static int
is_for_python(PyObject *prim)
{
    PyObject *rule = PyObject_GetAttr(prim, s_seen);
    int is = rule != Py_None || PyDict_GET_SIZE(marks) != 0;
    PyErr_Clear();
    Py_XDECREF(rule);
    return is;
}

/* Say whether what is done with an operand must be recorded: a tape runs, or it lies along levels. */
static inline int
is_recorded(PyObject *x)
{
    return PyList_GET_SIZE(tapes) != 0 || (IS_ARRAY(x) && PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0);
}

/* Say whether an array is up to date: its node is that of what it is a view of. */
static inline int
is_fresh(PyObject *x)
{
    PyObject *view = SLOT(x, x_view);
    return view == Py_None || NODE(SLOT(view, v_base)) == SLOT(view, v_seen);
}

/* Return what a value of an aval, or values of several, count for in a chain of pending nodes; -1 for another object. */
static long
weight_of(PyObject *aval)
{
    long all = 0;
    if (Py_TYPE(aval) == Aval) {
        return PyLong_AsLong(SLOT(aval, a_weight));
    }
    for (Py_ssize_t i = 0; PyTuple_CheckExact(aval) && i < PyTuple_GET_SIZE(aval); i++) {
        PyObject *one = PyTuple_GET_ITEM(aval, i);
        if (Py_TYPE(one) != Aval) {
            return -1;
        }
        all += PyLong_AsLong(SLOT(one, a_weight));
    }
    return PyTuple_CheckExact(aval) ? all : -1;
}

/* Return a new pending node of `prim(*inputs, **params)`; NULL where whoever records evaluates or copies what it stands on
 * first, or with an error.
 */
static PyObject *
recorded(PyObject *prim, PyObject *inputs, PyObject *params, PyObject *aval)
{
    PyObject *node, *depth;
    long most = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        long other = depth_below(PyTuple_GET_ITEM(inputs, i));
        most = most > other ? most : other;
    }
    most += weight_of(aval);
    if (most >= deepest || (depth = PyLong_FromLong(most)) == NULL) {
        return NULL;
    }
    node = new_node(prim, inputs, params, aval, depth, Py_None);
    Py_DECREF(depth);
    return node;
}

/* Return the node that a primitive's rule allows on inputs; NULL, without an error, where Python must record it. */
static PyObject *
record_by_rule(PyObject *prim, PyObject *inputs, PyObject *params)
{
    PyObject *given[MOST], *rule, *aval = NULL, *out = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    for (Py_ssize_t i = 0; i < n; i++) {
        given[i] = SLOT(PyTuple_GET_ITEM(inputs, i), n_aval); /* the nodes, which are held, hold them */
    }
    rule = PyObject_GetAttr(prim, s_aval);
    if (rule != NULL) {
        aval = PyObject_VectorcallDict(rule, given, n, params);
    }
    if (aval == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* Python says what is wrong */
    }
    if (aval != NULL && weight_of(aval) >= 0) {
        out = recorded(prim, inputs, params, aval);
    }
    Py_XDECREF(rule);
    Py_XDECREF(aval);
    return out;
}

/* record(prim, inputs, params={}): see `node.py`; it takes no lock, as there */
static PyObject *
call_record(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if ((n != 2 && n != 3) || (names != NULL && PyTuple_GET_SIZE(names) != 0) || Node == NULL ||
        !PyTuple_CheckExact(args[1]) || PyTuple_GET_SIZE(args[1]) > MOST || (n == 3 && !PyDict_Check(args[2]))) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(args[1], i), Node)) {
            return NULL;
        }
    }
    return record_by_rule(args[0], args[1], n == 3 ? args[2] : no_params);
}

/* Return the aval that a primitive's results have for operands like these, as far as it was met (borrowed). */
static PyObject *
known_aval(PyObject *prim, PyObject *a, PyObject *b)
{
    PyObject *rules = PyObject_GetAttr(prim, s_rules), *found = NULL;
    if (rules != NULL && PyDict_CheckExact(rules)) {
        if (b == NULL || b == a) {
            found = PyDict_GetItemWithError(rules, a);
        }
        else {
            PyObject *key = PyTuple_Pack(2, a, b);
            found = key == NULL ? NULL : PyDict_GetItemWithError(rules, key);
            Py_XDECREF(key);
        }
    }
    Py_XDECREF(rules); /* the primitive holds them */
    return found;
}

/* Say whether an array may be one that owns its elements in another order than that of its axes (`View.order`). */
static inline int
may_be_turned(PyObject *x)
{
    PyObject *view = SLOT(x, x_view), *steps = view == Py_None ? NULL : SLOT(view, v_steps);
    return steps != NULL && PyTuple_CheckExact(steps) && PyTuple_GET_SIZE(steps) == 1;
}

/* Record an operator where that must be seen; NULL, without an error, where Python must. `y` is NULL for an operator on
 * one array.
 */
static PyObject *
record_seen(Fast *f, PyObject *x, PyObject *y, int *failed)
{
    PyObject *model = IS_ARRAY(x) ? x : y, *levels, *a, *b = NULL, *aval, *inputs, *out = NULL;
    if (part_bytes == 0 || PyList_GET_SIZE(weak) != 0 || model == NULL || !IS_ARRAY(model) || !is_fresh(model) ||
        may_be_turned(model)) {
        return NULL;
    }
    if (f->op == POW && !f->is_strict && is_two(y) && square != NULL && IS_ARRAY(x) && is_inexact(NODE(x))) {
        f = square; /* as NumPy's operator */
        y = NULL;
    }
    levels = SLOT(model, x_levels);
    if (f->op != OTHER || f->prim == Py_None || is_for_python(f->prim) ||
        (PyTuple_GET_SIZE(levels) != 0 && PyList_GET_SIZE(seeing) != 0)) {
        return NULL;
    }
    if (y != NULL && IS_ARRAY(x) && IS_ARRAY(y) && (SLOT(y, x_levels) != levels || !is_fresh(y) || may_be_turned(y))) {
        return NULL;
    }
    /* What makes a number's node, or a tuple, may run anything. */
    Py_INCREF(levels);
    a = Py_NewRef(NODE(model));
    if (y != NULL) {
        b = IS_ARRAY(x) && IS_ARRAY(y) ? NODE(y) : number_node(SLOT(a, n_aval), model == x ? y : x);
        Py_XINCREF(b);
    }
    if (b != NULL && model == y) {
        PyObject *other = a;
        a = b;
        b = other;
    }
    inputs = b != NULL ? PyTuple_Pack(2, a, b) : y == NULL ? PyTuple_Pack(1, a) : NULL;
    if (inputs != NULL) {
        aval = known_aval(f->prim, SLOT(a, n_aval), b == NULL ? NULL : SLOT(b, n_aval));
        if (aval != NULL) {
            Py_INCREF(aval);
            out = recorded(f->prim, inputs, no_params, aval);
            out = out == NULL ? NULL : array_along(out, levels);
            Py_DECREF(aval);
        }
        Py_DECREF(inputs);
    }
    Py_DECREF(levels);
    Py_DECREF(a);
    Py_XDECREF(b);
    *failed = out == NULL && PyErr_Occurred() != NULL;
    return out;
}

/* Return params for one more axis of each size among the levels, the oldest first; a new reference. */
static PyObject *
batched_params(PyObject *prim, PyObject *params, PyObject *shape, Py_ssize_t levels)
{
    PyObject *rule = PyObject_GetAttr(prim, s_batch);
    Py_INCREF(params);
    for (Py_ssize_t i = levels; rule != NULL && rule != unchanged && params != NULL && i-- > 0;) {
        Py_SETREF(params, PyObject_CallFunctionObjArgs(rule, params, PyTuple_GET_ITEM(shape, i), NULL));
    }
    if (rule == NULL) {
        Py_CLEAR(params);
    }
    Py_XDECREF(rule);
    return params;
}

static inline int
is_projection(PyObject *prim)
{
    PyObject *role = PyObject_GetAttr(prim, s_role);
    int is = role == NULL || role == s_projection || PyObject_RichCompareBool(role, s_projection, Py_EQ) != 0;
    PyErr_Clear();
    Py_XDECREF(role);
    return is;
}

/* Do `apply` where what is recorded must be seen, of arrays along one and the same levels; NULL, without an error, where
 * Python must.
 */
static PyObject *
apply_seen(PyObject *prim, PyObject *const *xs, Py_ssize_t n, PyObject *params)
{
    PyObject *levels = SLOT(xs[0], x_levels), *shape, *inputs, *out = NULL;
    Py_ssize_t many = PyTuple_GET_SIZE(levels);
    if (part_bytes == 0 || is_for_python(prim) || (many != 0 && (PyList_GET_SIZE(seeing) != 0 || is_projection(prim))) ||
        (inputs = PyTuple_New(n)) == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!IS_ARRAY(xs[i]) || SLOT(xs[i], x_levels) != levels || !is_fresh(xs[i]) ||
            Py_TYPE(SLOT(NODE(xs[i]), n_aval)) != Aval) {
            Py_DECREF(inputs);
            return NULL;
        }
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(NODE(xs[i])));
    }
    Py_INCREF(levels);
    shape = SLOT(SLOT(PyTuple_GET_ITEM(inputs, 0), n_aval), a_shape);
    if ((params = batched_params(prim, params, shape, many)) != NULL) {
        out = record_by_rule(prim, inputs, params);
        out = out == NULL ? NULL : array_along(out, levels);
        Py_DECREF(params);
    }
    Py_DECREF(levels);
    Py_DECREF(inputs);
    return out;
}

/* Return the params that keywords give (a new reference). */
static PyObject *
params_of(PyObject *names, PyObject *const *values)
{
    Py_ssize_t n = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *params = n == 0 ? Py_NewRef(no_params) : PyDict_New();
    for (Py_ssize_t i = 0; params != NULL && i < n; i++) {
        if (PyDict_SetItem(params, PyTuple_GET_ITEM(names, i), values[i]) < 0) {
            Py_CLEAR(params);
        }
    }
    return params;
}

/* apply(prim, *arrays, **params): see `array.py` */
static PyObject *
call_apply(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) - 1, keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *given[MOST], *inputs, *rule = NULL, *aval = NULL, *params = NULL, *out = NULL;
    if (n < 1 || n + keywords > MOST) {
        return NULL;
    }
    if (is_recorded(args[1])) {
        if ((params = params_of(names, args + 1 + n)) != NULL) {
            out = apply_seen(args[0], args + 1, n, params);
            Py_DECREF(params);
        }
        return out;
    }
    if (is_watched() || (inputs = nodes_of(args + 1, n, given)) == NULL) {
        PyErr_Clear();
        return NULL;
    }
    memcpy(given + n, args + 1 + n, keywords * sizeof(*given));
    if ((rule = PyObject_GetAttr(args[0], s_aval)) != NULL) {
        aval = PyObject_Vectorcall(rule, given, n, names);
        Py_DECREF(rule);
    }
    if (aval != NULL && Py_TYPE(aval) == Aval && (params = params_of(names, args + 1 + n)) != NULL &&
        !takes_little(args[0], PyTuple_GET_ITEM(inputs, 0), aval)) {
        out = pending_array_of(args[0], params, Py_NewRef(inputs), aval);
    }
    Py_XDECREF(aval);
    Py_XDECREF(params);
    Py_DECREF(inputs);
    return out;
}
