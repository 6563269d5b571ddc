/* Pending graphs written down, with a key for those that are met again: what `program.written` does. */

/* A node that was met: how often it is an input, and its number. Those of pending nodes are 3 k, of leaves 3 k + 1, of
 * literals 3 k + 2, so that equal graphs have equal numbers.
 */
typedef struct {
    PyObject *node;
    Py_ssize_t number, uses;
} Met;

typedef struct {
    Met *met; /* a hash table */
    size_t room, n;
    PyObject **order, **leaves;
    Py_ssize_t n_order, n_leaves, n_literals;
} Graph;

enum { UNNUMBERED = -1 };

static size_t
met_place(const Graph *g, PyObject *node)
{
    size_t place = (size_t)(((npy_uint64)(npy_uintp)node * 0x9e3779b97f4a7c15u) >> 20) & (g->room - 1);
    while (g->met[place].node != NULL && g->met[place].node != node) {
        place = (place + 1) & (g->room - 1);
    }
    return place;
}

/* Return what is known of a node, which has no number if it was not met before; NULL without memory. */
static Met *
meet(Graph *g, PyObject *node)
{
    Met *met;
    if (2 * g->n >= g->room) {
        Graph old = *g;
        g->room = old.room == 0 ? 256 : 2 * old.room;
        g->met = PyMem_Calloc(g->room, sizeof(Met));
        if (g->met == NULL) {
            *g = old;
            return NULL;
        }
        for (size_t i = 0; i < old.room; i++) {
            if (old.met[i].node != NULL) {
                g->met[met_place(g, old.met[i].node)] = old.met[i];
            }
        }
        PyMem_Free(old.met);
    }
    met = &g->met[met_place(g, node)];
    if (met->node == NULL) {
        *met = (Met){node, UNNUMBERED, 0};
        g->n++;
    }
    return met;
}

/* Make room for one more in a list that has n. */
static int
make_room(PyObject ***list, Py_ssize_t n)
{
    PyObject **larger;
    if (n < 64 ? n > 0 : (n & (n - 1)) != 0) { /* room comes in powers of two */
        return 1;
    }
    larger = PyMem_Realloc(*list, (size_t)(n < 64 ? 64 : 2 * n) * sizeof(PyObject *));
    if (larger == NULL) {
        return 0;
    }
    *list = larger;
    return 1;
}

/* Find the pending nodes below another that were not met, inputs before users. */
static int
descend(Graph *g, PyObject *root, PyObject *resident, PyObject ***stack)
{
    Py_ssize_t depth = 0;
    (*stack)[depth++] = root;
    while (depth > 0) {
        PyObject *node = (*stack)[depth - 1], *inputs;
        Met *met;
        if (node == NULL) { /* below it all is done */
            node = (*stack)[depth - 2];
            depth -= 2;
            if ((met = meet(g, node)) == NULL || !make_room(&g->order, g->n_order)) {
                return 0;
            }
            met->number = 3 * g->n_order;
            g->order[g->n_order++] = node;
            continue;
        }
        if (SLOT(node, n_value) != Py_None || SLOT(node, n_prim) == resident) {
            depth--;
            continue;
        }
        if ((met = meet(g, node)) == NULL) {
            return 0;
        }
        if (met->uses != 0) {
            depth--;
            continue;
        }
        met->uses = 1; /* been here; counted anew below */
        inputs = SLOT(node, n_inputs);
        for (Py_ssize_t i = PyTuple_GET_SIZE(inputs); i >= 0; i--) {
            if (!make_room(stack, depth)) {
                return 0;
            }
            (*stack)[depth++] = i == PyTuple_GET_SIZE(inputs) ? NULL : PyTuple_GET_ITEM(inputs, i);
        }
    }
    return 1;
}

/* Number the leaves and literals in the order in which they are used, and count the uses of each node. */
static int
number_leaves(Graph *g, PyObject *fill)
{
    for (Py_ssize_t k = 0; k < g->n_order; k++) {
        meet(g, g->order[k])->uses = 0;
    }
    for (Py_ssize_t k = 0; k < g->n_order; k++) {
        PyObject *inputs = SLOT(g->order[k], n_inputs);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            PyObject *input = PyTuple_GET_ITEM(inputs, i);
            Met *met = meet(g, input);
            if (met == NULL) {
                return 0;
            }
            if (met->number == UNNUMBERED && SLOT(input, n_prim) == fill) {
                met->number = 3 * g->n_literals++ + 2;
            }
            else if (met->number == UNNUMBERED) {
                if (!make_room(&g->leaves, g->n_leaves)) {
                    return 0;
                }
                met->number = 3 * g->n_leaves + 1;
                g->leaves[g->n_leaves++] = input;
            }
            met->uses++;
        }
    }
    return 1;
}

/* Say whether something else holds a node than those that use it. */
static int
is_wanted(const Graph *g, PyObject *node)
{
    return Py_REFCNT(node) > g->met[met_place(g, node)].uses;
}

static int
append_number(PyObject *list, Py_ssize_t number)
{
    PyObject *o = PyLong_FromSsize_t(number);
    int failed = o == NULL || PyList_Append(list, o) < 0;
    Py_XDECREF(o);
    return !failed;
}

/* Append all that an evaluation depends on: of each node its operation, aval, params, the numbers of its inputs, and
 * whether it is held; of the leaves their avals, and the literals themselves.
 */
static int
append_key(PyObject *key, const Graph *g, const char *held)
{
    for (Py_ssize_t k = 0; k < g->n_order; k++) {
        PyObject *node = g->order[k], *inputs = SLOT(node, n_inputs), *params = SLOT(node, n_params), *name, *value;
        Py_ssize_t at = 0;
        if (PyList_Append(key, SLOT(node, n_prim)) < 0 || PyList_Append(key, SLOT(node, n_aval)) < 0) {
            return 0;
        }
        while (PyDict_Next(params, &at, &name, &value)) {
            if (PyList_Append(key, name) < 0 || PyList_Append(key, value) < 0) {
                return 0;
            }
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            PyObject *input = PyTuple_GET_ITEM(inputs, i);
            const Met *met = &g->met[met_place(g, input)];
            if (!append_number(key, met->number) || (met->number % 3 == 2 && PyList_Append(key, input) < 0)) {
                return 0;
            }
        }
        if (PyList_Append(key, held[k] ? Py_True : Py_False) < 0) {
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < g->n_leaves; k++) {
        if (PyList_Append(key, SLOT(g->leaves[k], n_aval)) < 0) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
list_of(PyObject **nodes, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t k = 0; list != NULL && k < n; k++) {
        PyList_SET_ITEM(list, k, Py_NewRef(nodes[k]));
    }
    return list;
}

/* Return the key, order, leaves and places of a graph whose nodes are numbered. */
static PyObject *
written(const Graph *g)
{
    PyObject *key = NULL, *alone = PyList_New(0), *order = NULL, *leaves = NULL, *out = NULL;
    char *held = PyMem_Malloc((size_t)g->n_order + 1);
    int is_good = held != NULL && alone != NULL;
    /* References are counted before there are lists of the nodes. */
    for (Py_ssize_t k = 0; is_good && k < g->n_order; k++) {
        held[k] = is_wanted(g, g->order[k]);
    }
    for (Py_ssize_t k = 0; is_good && k < g->n_leaves; k++) {
        is_good = is_wanted(g, g->leaves[k]) || append_number(alone, k);
    }
    if (is_good && (order = list_of(g->order, g->n_order)) != NULL &&
        (leaves = list_of(g->leaves, g->n_leaves)) != NULL && (key = PyList_New(0)) != NULL &&
        append_key(key, g, held)) {
        PyObject *tuple = PyList_AsTuple(key);
        out = tuple == NULL ? NULL : Py_BuildValue("NOOO", tuple, order, leaves, alone);
    }
    else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    PyMem_Free(held);
    Py_XDECREF(key);
    Py_XDECREF(alone);
    Py_XDECREF(order);
    Py_XDECREF(leaves);
    return out;
}

/* line(roots, resident, fill): what `program.written` returns of the list `roots` */
static PyObject *
line(PyObject *module, PyObject *args)
{
    PyObject *roots, *resident, *fill, *out = NULL, **stack = NULL;
    Graph g = {NULL};
    int is_good, was_collecting;
    if (!PyArg_ParseTuple(args, "O!OO", &PyList_Type, &roots, &resident, &fill)) {
        return NULL;
    }
    /* What a collection lets go of may evaluate these nodes. */
    was_collecting = PyGC_Disable();
    is_good = make_room(&stack, 0);
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(roots); i++) {
        is_good = descend(&g, PyList_GET_ITEM(roots, i), resident, &stack);
    }
    is_good = is_good && number_leaves(&g, fill);
    out = is_good ? written(&g) : PyErr_NoMemory();
    if (was_collecting) {
        PyGC_Enable();
    }
    PyMem_Free(stack);
    PyMem_Free(g.met);
    PyMem_Free(g.order);
    PyMem_Free(g.leaves);
    return out;
}
