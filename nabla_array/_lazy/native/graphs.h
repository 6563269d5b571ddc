/* Pending graphs: the walk that puts their nodes in order, and the graph key of those that are met again. */

static PyTypeObject *Node;
static Py_ssize_t n_prim, n_inputs, n_params, n_depth; /* where a Node has these */
static PyObject *no_params;                            /* the dict of a node without any */

/* The ufuncs that elementwise primitives are, by the primitive, with the dtypes of which loops here may be used; of `select`,
 * which is none, NULL.
 */
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

/* Remember them; returns 0 where there is no room. */
static int
learn_loops(PyObject *prim, PyUFuncObject *ufunc, npy_uint64 types)
{
    const npy_uint64 inexact = 1 << NPY_FLOAT | 1 << NPY_DOUBLE | 1 << NPY_CFLOAT | 1 << NPY_CDOUBLE;
    static int many;
    size_t place = place_of(prim);
    if (known_loops[place].prim == NULL && many < MOST_LOOPS / 2) {
        known_loops[place].prim = Py_NewRef(prim);
        known_loops[place].ufunc = (PyUFuncObject *)Py_XNewRef((PyObject *)ufunc);
        if (ufunc != NULL && strcmp(ufunc->name, "power") == 0) { /* of integers, it can raise */
            types &= inexact;
        }
        known_loops[place].types = types;
        many++;
    }
    return known_loops[place].prim == prim;
}

/* Say whether some evaluation computes a node (`CLAIMED` of node.py). */
static inline int
is_claimed(PyObject *node)
{
    return PyLong_AsLongLong(SLOT(node, n_depth)) >= (long long)1 << 40;
}

/* Say whether a node is pending, nobody computes it, and a loop does: no error state is noted in its params. */
static inline int
has_loop(PyObject *node)
{
    return VALUE_OF(node) == Py_None && Py_TYPE(node) == Node && SLOT(node, n_params) == no_params && !is_claimed(node) &&
           known_loops[place_of(SLOT(node, n_prim))].prim != NULL;
}

/* A node that was met: its number, and how often it is an input. Numbers of pending nodes are 3 k, of leaves 3 k + 1, of
 * literals 3 k + 2, so that equal graphs have equal numbers. Pending nodes have theirs once all below them do; until
 * then `next` is the input to go to, and `parent` the user to go back to.
 */
typedef struct {
    PyObject *node;
    int number, uses, next, parent;
    int step, leaf; /* which one met is step k, and which leaf k, where this is the k-th that was met */
} Met;

enum { UNNUMBERED = -1, FIRST_ROOM = 32, SMALL = 256 };

/* The pending nodes below some others, inputs before users, and the leaves in the order in which they are used. All
 * references are borrowed: nothing may run before those that are needed are held.
 */
typedef struct {
    Met *met;
    int *places; /* a hash table of those met: twice as many places as there is room for */
    int n, room, n_steps, n_leaves, n_literals;
    Met small[SMALL];
    int small_places[2 * SMALL];
} Graph;

static void
begin_graph(Graph *g)
{
    g->met = g->small;
    g->places = g->small_places;
    g->n = g->n_steps = g->n_leaves = g->n_literals = 0;
    g->room = FIRST_ROOM;
    memset(g->places, 255, 2 * FIRST_ROOM * sizeof(int));
}

static void
end_graph(Graph *g)
{
    if (g->met != g->small) {
        PyMem_Free(g->met);
    }
}

/* Return the place of a node in the table, which is -1 there if it was not met. */
static inline int *
place_in(const Graph *g, PyObject *node)
{
    unsigned mask = 2 * (unsigned)g->room - 1;
    unsigned place = (unsigned)(((npy_uint64)(npy_uintp)node * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (g->places[place] >= 0 && g->met[g->places[place]].node != node) {
        place = (place + 1) & mask;
    }
    return &g->places[place];
}

static inline Met *
met_in(const Graph *g, PyObject *node)
{
    return &g->met[*place_in(g, node)];
}

static inline PyObject *
step_in(const Graph *g, int k)
{
    return g->met[g->met[k].step].node;
}

static inline Met *
leaf_in(const Graph *g, int k)
{
    return &g->met[g->met[k].leaf];
}

/* Say whether something else holds a node than those that use it. */
static inline int
is_held_outside(const Met *met)
{
    return Py_REFCNT(met->node) > met->uses;
}

/* Make room for as many again; returns 0 without memory. */
static int
grow(Graph *g)
{
    int room = 2 * g->room;
    if (room > SMALL) {
        Met *met = PyMem_Malloc((size_t)room * (sizeof(Met) + 2 * sizeof(int)));
        if (met == NULL) {
            return 0;
        }
        memcpy(met, g->met, (size_t)g->n * sizeof(Met));
        end_graph(g);
        g->met = met;
        g->places = (int *)(met + room);
    }
    g->room = room;
    memset(g->places, 255, 2 * (size_t)room * sizeof(int));
    for (int i = 0; i < g->n; i++) {
        *place_in(g, g->met[i].node) = i;
    }
    return 1;
}

/* How many evaluations there were, but for those of what is computed at once. */
static unsigned long n_evaluations;

/* What a walk goes below: pending nodes that loops compute, or all but `resident` ones, with `fill` for literals. */
typedef struct {
    int is_small; /* whether it is for loops, and what would not be one job's is too much */
    PyObject *resident, *fill;
    PyObject *members; /* a set of ids: it stays within those nodes; NULL for all */
} Reach;

enum walked { TOO_MUCH, WALKED, NOT_FOR_LOOPS };

/* Number the leaves among the inputs of a node, and then the node; returns 0 where that is too much. */
static inline int
number_step(Graph *g, int at, const Reach *reach)
{
    PyObject *inputs = SLOT(g->met[at].node, n_inputs);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        int place = *place_in(g, PyTuple_GET_ITEM(inputs, i));
        Met *met = &g->met[place];
        if (met->number != UNNUMBERED) {
            continue;
        }
        if (!reach->is_small && SLOT(met->node, n_prim) == reach->fill) {
            met->number = 3 * g->n_literals++ + 2;
            continue;
        }
        if (reach->is_small && g->n_steps + g->n_leaves == MOST_OPERANDS) {
            return 0;
        }
        met->number = 3 * g->n_leaves + 1;
        g->met[g->n_leaves++].leaf = place;
    }
    if (reach->is_small && (g->n_steps == MOST_STEPS || g->n_steps + g->n_leaves == MOST_OPERANDS)) {
        return 0;
    }
    g->met[at].number = 3 * g->n_steps;
    g->met[g->n_steps++].step = at;
    return 1;
}

/* Say whether a set has the id of an object; -1 for an error. */
static inline int
has_id(PyObject *ids, PyObject *object)
{
    PyObject *id = PyLong_FromVoidPtr(object);
    int has = id == NULL ? -1 : PySet_Contains(ids, id);
    Py_XDECREF(id);
    return has;
}

/* Say whether a walk stays above a pending node; -1 for an error. */
static inline int
is_beyond(PyObject *node, const Reach *reach)
{
    int is_within = reach->members == NULL ? 1 : has_id(reach->members, node);
    return is_within < 0 ? -1 : !is_within;
}

/* Note a node that was not met; returns 0 where that is too much, or without memory. */
static inline int
meet(Graph *g, PyObject *node, int parent, int uses, const Reach *reach)
{
    if (g->n == g->room && ((reach->is_small && g->n == SMALL) || !grow(g))) {
        return 0;
    }
    g->met[g->n].node = node;
    g->met[g->n].number = UNNUMBERED;
    g->met[g->n].uses = uses;
    g->met[g->n].next = 0;
    g->met[g->n].parent = parent;
    *place_in(g, node) = g->n;
    g->n++;
    return 1;
}

/* Go below a pending node that was not met. Where that is too much, the last step is the root of what is not. */
static inline enum walked
walk(Graph *g, PyObject *root, const Reach *reach)
{
    int at = g->n;
    if (!meet(g, root, -1, 0, reach)) {
        return TOO_MUCH;
    }
    while (at >= 0) {
        Met *met = &g->met[at];
        PyObject *inputs = SLOT(met->node, n_inputs), *input;
        int place, beyond;
        if (met->next == PyTuple_GET_SIZE(inputs)) {
            int parent = met->parent;
            if (!number_step(g, at, reach)) {
                return TOO_MUCH;
            }
            at = parent;
            continue;
        }
        input = PyTuple_GET_ITEM(inputs, met->next++);
        if ((place = *place_in(g, input)) >= 0) {
            g->met[place].uses++;
            continue;
        }
        if (!meet(g, input, at, 1, reach)) {
            return TOO_MUCH;
        }
        if (VALUE_OF(input) != Py_None || (beyond = is_beyond(input, reach)) > 0) {
            continue;
        }
        if (beyond < 0) {
            return TOO_MUCH;
        }
        if (reach->is_small && !has_loop(input)) {
            return NOT_FOR_LOOPS;
        }
        if (reach->is_small || SLOT(input, n_prim) != reach->resident) {
            at = g->n - 1;
        }
    }
    return WALKED;
}

static int
append_number(PyObject *list, int number)
{
    PyObject *o = PyLong_FromLong(number);
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
    for (int k = 0; k < g->n_steps; k++) {
        PyObject *node = step_in(g, k), *inputs = SLOT(node, n_inputs), *params = SLOT(node, n_params), *name, *value;
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
            int number = met_in(g, input)->number;
            if (!append_number(key, number) || (number % 3 == 2 && PyList_Append(key, input) < 0)) {
                return 0;
            }
        }
        if (PyList_Append(key, held[k] ? Py_True : Py_False) < 0) {
            return 0;
        }
    }
    for (int k = 0; k < g->n_leaves; k++) {
        if (PyList_Append(key, SLOT(leaf_in(g, k)->node, n_aval)) < 0) {
            return 0;
        }
    }
    return 1;
}

/* Return the graph key, the pending nodes, the leaves, and the places of those leaves that nothing else holds. */
static PyObject *
linearized(const Graph *g)
{
    PyObject *key = PyList_New(0), *alone = PyList_New(0), *order = NULL, *leaves = NULL, *out = NULL;
    char *held = PyMem_Malloc((size_t)g->n_steps + 1);
    int is_good = held != NULL && key != NULL && alone != NULL;
    /* References are counted before there are lists of the nodes. */
    for (int k = 0; is_good && k < g->n_steps; k++) {
        held[k] = is_held_outside(&g->met[g->met[k].step]);
    }
    for (int k = 0; is_good && k < g->n_leaves; k++) {
        is_good = is_held_outside(leaf_in(g, k)) || append_number(alone, k);
    }
    if (is_good && (order = PyList_New(g->n_steps)) != NULL && (leaves = PyList_New(g->n_leaves)) != NULL) {
        for (int k = 0; k < g->n_steps; k++) {
            PyList_SET_ITEM(order, k, Py_NewRef(step_in(g, k)));
        }
        for (int k = 0; k < g->n_leaves; k++) {
            PyList_SET_ITEM(leaves, k, Py_NewRef(leaf_in(g, k)->node));
        }
        if (append_key(key, g, held)) {
            PyObject *tuple = PyList_AsTuple(key);
            out = tuple == NULL ? NULL : Py_BuildValue("NOOO", tuple, order, leaves, alone);
        }
    }
    PyMem_Free(held);
    Py_XDECREF(key);
    Py_XDECREF(alone);
    Py_XDECREF(order);
    Py_XDECREF(leaves);
    return out != NULL || PyErr_Occurred() ? out : PyErr_NoMemory();
}

/* Go below the pending nodes of a list; returns 0 without memory, or with an error. */
static int
walk_all(Graph *g, PyObject *roots, const Reach *reach)
{
    int is_good = 1;
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(roots); i++) {
        PyObject *root = PyList_GET_ITEM(roots, i);
        if (VALUE_OF(root) == Py_None && SLOT(root, n_prim) != reach->resident && *place_in(g, root) < 0) {
            int beyond = is_beyond(root, reach);
            is_good = beyond > 0 || (beyond == 0 && walk(g, root, reach) == WALKED);
        }
    }
    return is_good;
}

/* Append the number of a node among the pending ones, the leaves and what else is given; None for no such node. */
static int
append_place(PyObject *list, const Graph *g, PyObject *node)
{
    int place = *place_in(g, node), number = place < 0 ? 2 : g->met[place].number;
    if (number % 3 == 2) { /* literals have none */
        return PyList_Append(list, Py_None) == 0;
    }
    return append_number(list, number / 3 + (number % 3 == 1 ? g->n_steps : 0));
}

/* Append to `nodes` those of a list that are not in a graph, nor literals, as leaves of it; returns 0 with an error. */
static int
give(Graph *g, PyObject *list, PyObject *nodes, const Reach *reach)
{
    int is_good = 1;
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(list); i++) {
        PyObject *node = PyList_GET_ITEM(list, i);
        if (*place_in(g, node) < 0 && SLOT(node, n_prim) != reach->fill) {
            is_good = meet(g, node, -1, 0, reach) && PyList_Append(nodes, node) == 0;
            if (is_good) {
                g->met[g->n - 1].number = 3 * g->n_leaves + 1;
                g->met[g->n_leaves++].leaf = g->n - 1;
            }
        }
    }
    return is_good;
}

/* Say whether a graph ends at a value that depends on a tape's sources, and is none of these; -1 for an error. */
static int
ends_at_value(const Graph *g, PyObject *sources, PyObject *own)
{
    for (int k = 0; k < g->n_leaves; k++) {
        PyObject *leaf = leaf_in(g, k)->node;
        int is_own = has_id(own, leaf);
        for (Py_ssize_t i = 0; is_own > 0 && i < PyList_GET_SIZE(sources); i++) {
            is_own = leaf != PyList_GET_ITEM(sources, i);
        }
        if (is_own != 0) {
            return is_own;
        }
    }
    return 0;
}

/* Append to a key what it must tell of roots and sources besides: what is given, and where all are. */
static int
append_ends(PyObject *key, const Graph *g, int n_given, PyObject *roots, PyObject *sources)
{
    int is_good = append_number(key, (int)PyList_GET_SIZE(roots));
    for (int k = g->n_leaves - n_given; is_good && k < g->n_leaves; k++) {
        is_good = PyList_Append(key, SLOT(leaf_in(g, k)->node, n_aval)) == 0;
    }
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(sources); i++) {
        is_good = PyList_Append(key, SLOT(PyList_GET_ITEM(sources, i), n_aval)) == 0;
    }
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(roots); i++) {
        PyObject *root = PyList_GET_ITEM(roots, i);
        int place = *place_in(g, root);
        is_good = place < 0 || g->met[place].number % 3 == 2 ? PyList_Append(key, root) == 0 : append_place(key, g, root);
    }
    for (Py_ssize_t i = 0; is_good && i < PyList_GET_SIZE(sources); i++) {
        is_good = append_place(key, g, PyList_GET_ITEM(sources, i));
    }
    return is_good;
}

/* number(roots, sources, resident, fill, members, own): what `program.numbered` returns */
static PyObject *
number(PyObject *module, PyObject *args)
{
    PyObject *roots, *sources, *own, *line = NULL, *ends = NULL, *nodes = NULL, *out = NULL;
    Graph g;
    Reach reach = {0};
    int was_collecting, at_value = 0, n_leaves;
    if (!PyArg_ParseTuple(args, "O!O!OOOO", &PyList_Type, &roots, &PyList_Type, &sources, &reach.resident, &reach.fill,
                          &reach.members, &own)) {
        return NULL;
    }
    if (reach.members == Py_None) {
        reach.members = NULL;
    }
    was_collecting = PyGC_Disable(); /* as in `linearize` */
    begin_graph(&g);
    if (walk_all(&g, roots, &reach) && (line = linearized(&g)) != NULL && (ends = PyList_New(0)) != NULL) {
        n_leaves = g.n_leaves;
        nodes = PySequence_Concat(PyTuple_GET_ITEM(line, 1), PyTuple_GET_ITEM(line, 2));
        if (nodes != NULL && give(&g, roots, nodes, &reach) && give(&g, sources, nodes, &reach) &&
            (at_value = ends_at_value(&g, sources, own)) == 0 && append_ends(ends, &g, g.n_leaves - n_leaves, roots, sources)) {
            PyObject *tuple = PyList_AsTuple(ends);
            out = tuple == NULL ? NULL : Py_BuildValue("(ON)OO", PyTuple_GET_ITEM(line, 0), tuple, PyTuple_GET_ITEM(line, 1), nodes);
        }
    }
    if (at_value > 0) {
        out = Py_NewRef(Py_None);
    }
    else if (out == NULL && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(line);
    Py_XDECREF(ends);
    Py_XDECREF(nodes);
    if (was_collecting) {
        PyGC_Enable();
    }
    end_graph(&g);
    return out;
}

/* linearize(roots, resident, fill, members): what `program.written` returns of the list `roots` */
static PyObject *
linearize(PyObject *module, PyObject *args)
{
    PyObject *roots, *out;
    Graph g;
    Reach reach = {0};
    int was_collecting;
    if (!PyArg_ParseTuple(args, "O!OOO", &PyList_Type, &roots, &reach.resident, &reach.fill, &reach.members)) {
        return NULL;
    }
    if (reach.members == Py_None) {
        reach.members = NULL;
    }
    n_evaluations++;
    /* What a collection lets go of may evaluate these nodes. */
    was_collecting = PyGC_Disable();
    begin_graph(&g);
    out = walk_all(&g, roots, &reach) ? linearized(&g) : PyErr_Occurred() ? NULL : PyErr_NoMemory();
    if (was_collecting) {
        PyGC_Enable();
    }
    end_graph(&g);
    return out;
}
