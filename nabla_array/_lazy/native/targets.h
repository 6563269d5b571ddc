/* Memory to write to: an array's own, where nobody would see a write who should not. Views should, and others hold what was
 * there before.
 */

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

/* Those who hold an owner's node as they should: what they look at is what is written there. */
enum { MOST_VIEWS = 32 };
typedef struct {
    PyObject *views[MOST_VIEWS]; /* borrowed, each once: a view names the one that it was made of, and both name the node */
    Py_ssize_t n_views, n_arrays;
    int is_too_many;
} Holders;

/* Count a view, and those that it was made of, if it is one of the owner's memory that nothing else holds. */
static void
count_view(Holders *h, PyObject *y, PyObject *owner)
{
    PyObject *view = SLOT(y, x_view);
    if (view == Py_None || uses(y, owner) != 1 || Py_REFCNT(VALUE_OF(NODE(y))) != 1) {
        return;
    }
    h->n_arrays++;
    for (; Py_TYPE(view) == View && SLOT(view, v_seen) == NODE(owner); view = SLOT(view, v_of)) {
        Py_ssize_t i = 0;
        while (i < h->n_views && h->views[i] != view) {
            i++;
        }
        if (i == MOST_VIEWS) {
            h->is_too_many = 1;
            return;
        }
        if (i == h->n_views) {
            h->views[h->n_views++] = view;
        }
    }
}

static inline int
is_among(PyObject *y, PyObject *const *others, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (others[i] == y) {
            return 1;
        }
    }
    return 0;
}

/* Say whether nobody but views holds an array's elements: `x`, `others`, and those that were made of late. */
static int
is_held_by_views(PyObject *owner, PyObject *x, PyObject *const *others, Py_ssize_t n)
{
    Holders h = {.n_views = 0};
    PyObject *memory = VALUE_OF(NODE(owner));
    if (Py_REFCNT(memory) > 1 + MOST_VIEWS) {
        return 0;
    }
    count_view(&h, x, owner);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (IS_ARRAY(others[i]) && others[i] != x && !is_among(others[i], others, i)) {
            count_view(&h, others[i], owner);
        }
    }
    for (int place = 0; place < RECENT_VIEWS && Py_REFCNT(memory) != 1 + h.n_arrays; place++) {
        PyObject *y = recent_views[place];
        if (y != NULL && IS_ARRAY(y) && NODE(y) != NULL && !is_stale(y) && y != x && !is_among(y, others, n)) {
            count_view(&h, y, owner);
        }
    }
    return !h.is_too_many && Py_REFCNT(NODE(owner)) == 1 + h.n_views && Py_REFCNT(memory) == 1 + h.n_arrays;
}

/* Do what `target` does where nothing is pending but `x` and `others`, which are computed before any is looked at.
 *
 * `*owner` becomes the array that they are of. Each count is of what is known: the owner has its node and a view's
 * `seen` names it; the node has its value and a view's memory is based on it. `*is_held` says whether nothing but
 * counts is against it.
 */
static PyArrayObject *
target_now(PyObject *x, PyObject *const *others, Py_ssize_t n, PyObject **owner, int *is_held)
{
    PyObject *view;
    PyArrayObject *value, *memory;
    Py_ssize_t many;
    if (fresh(x) == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (IS_ARRAY(others[i])) {
            fresh(others[i]); /* so that it holds no memory but its own */
        }
    }
    if ((value = seen(x)) == NULL) {
        return NULL;
    }
    view = SLOT(x, x_view);
    *owner = view == Py_None ? x : SLOT(view, v_base);
    if (PyTuple_GET_SIZE(SLOT(*owner, x_levels)) != 0 || !is_ours(*owner) || VALUE_OF(NODE(*owner)) == NULL ||
        !PyArray_CheckExact(VALUE_OF(NODE(*owner)))) {
        return NULL;
    }
    memory = (PyArrayObject *)VALUE_OF(NODE(*owner));
    if (!PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)) {
        return NULL;
    }
    if (Py_TYPE(NODE(*owner)) == Exported) { /* who has the memory sees the write; in Python, another view does */
        int users = x == *owner ? 1 : NODE(x) == NODE(*owner) ? 3 : 2, is_alone = Py_REFCNT(NODE(*owner)) == users;
        return is_alone && Py_TYPE(NODE(x)) == Exported && PyArray_ISWRITEABLE(value) ? value : NULL;
    }
    if (is_zero_d(x)) { /* it has its owner's node itself */
        *is_held = NODE(x) != NODE(*owner) || Py_REFCNT(NODE(x)) != 3 || Py_REFCNT(memory) != 1;
        return *is_held ? NULL : value;
    }
    if ((many = uses(x, *owner)) < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (IS_ARRAY(others[i]) && others[i] != x && !is_among(others[i], others, i)) {
            int used = uses(others[i], *owner);
            if (used < 0) {
                return NULL;
            }
            many += used;
        }
    }
    *is_held = (Py_REFCNT(NODE(*owner)) != 1 + many || Py_REFCNT(memory) != 1 + many) &&
               !is_held_by_views(*owner, x, others, n);
    return *is_held ? NULL : value;
}

/* Return the elements of `x` to be written to, if nobody but `others` would see that, or NULL. They are borrowed, as
 * `*owner` is: who goes on to run anything holds them.
 */
static PyArrayObject *
target(PyObject *x, PyObject *const *others, Py_ssize_t n, PyObject **owner)
{
    int is_held = 0;
    PyArrayObject *value = target_now(x, others, n, owner, &is_held);
    if (is_held) {
        run_readers();
        watched = WATCHED;
        value = target_now(x, others, n, owner, &is_held);
    }
    return value;
}

/* Give an array that shares its elements with others memory of its own, if it is small; of a view, the owner gets it. It
 * may run anything. Returns 0 where Python must see to it: `_own_memory` there is the meaning.
 */
static int
own_memory(PyObject *x)
{
    PyArrayObject *value = fresh(x);
    PyObject *owner, *held, *copy, *node;
    int done = 0;
    if (value == NULL || (SLOT(x, x_view) != Py_None && !PyArray_ISWRITEABLE(value))) {
        return 0;
    }
    owner = SLOT(x, x_view) == Py_None ? x : SLOT(SLOT(x, x_view), v_base);
    held = NODE(owner);
    if (PyTuple_GET_SIZE(SLOT(owner, x_levels)) != 0 || !is_ours(owner) || Py_TYPE(held) == Exported ||
        VALUE_OF(held) == NULL || !PyArray_CheckExact(VALUE_OF(held)) ||
        PyArray_NBYTES((PyArrayObject *)VALUE_OF(held)) >= part_bytes) {
        return 0;
    }
    Py_INCREF(owner);
    Py_INCREF(held);
    node = make_object(Node, &nodes, 0);
    copy = node == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)VALUE_OF(held), NPY_KEEPORDER);
    if (copy != NULL && NODE(owner) == held) {
        SLOT(node, n_aval) = Py_NewRef(SLOT(held, n_aval));
        SLOT(node, n_value) = copy;
        SLOT(node, n_prim) = Py_NewRef(Py_None);
        SLOT(node, n_inputs) = Py_NewRef(no_levels);
        SLOT(node, n_params) = Py_NewRef(no_params);
        SLOT(node, n_depth) = PyLong_FromLong(0);
        Py_SETREF(NODE(owner), node);
        done = 1;
    }
    else {
        PyErr_Clear();
        Py_XDECREF(copy);
        Py_XDECREF(node);
    }
    Py_DECREF(held);
    Py_DECREF(owner);
    return done;
}

/* Do what `target` does, in memory of its own where others hold the elements: `_memory` in Python is the meaning. */
static PyArrayObject *
memory_of(PyObject *x, PyObject *const *others, Py_ssize_t n, PyObject **owner)
{
    PyArrayObject *value = target(x, others, n, owner);
    return value == NULL && tiny() > 0 && own_memory(x) ? target(x, others, n, owner) : value;
}
