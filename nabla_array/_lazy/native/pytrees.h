/* Pytrees of the usual containers, taken apart and put together: `transforms/pytree.py` is the meaning, and is asked for
 * what is none of these.
 */

static PyTypeObject *TreeDef;
static PyObject *leaf_kinds;     /* set: the classes of most leaves */
static PyObject *leaf_tree;      /* the structure of a leaf */
static PyObject *flatten_other;  /* function(tree, leaves) -> TreeDef */
static PyObject *unflatten_kind; /* function(TreeDef, children) -> container */
static PyObject *unflatten_other; /* function(TreeDef, leaves) -> pytree */

enum { T_TYPE, T_META, T_CHILDREN };

/* trees(TreeDef, *known): take what pytrees must know of, in the order of above */
static PyObject *
trees(PyObject *module, PyObject *args)
{
    PyObject *given[6];
    PyObject **where[6] = {(PyObject **)&TreeDef, &leaf_kinds, &leaf_tree, &flatten_other, &unflatten_kind, &unflatten_other};
    if (!PyArg_ParseTuple(args, "O!O!OOOO", &PyType_Type, &given[0], &PySet_Type, &given[1], &given[2], &given[3], &given[4],
                          &given[5])) {
        return NULL;
    }
    for (int i = 0; i < 6; i++) {
        Py_XSETREF(*where[i], Py_NewRef(given[i]));
    }
    Py_RETURN_NONE;
}

static PyObject *flatten_into(PyObject *tree, PyObject *leaves);

/* Return the structure of a container, whose parts but for its class are stolen. */
static PyObject *
tree_of(PyTypeObject *type, PyObject *meta, PyObject *children)
{
    PyObject *tree = meta == NULL || children == NULL ? NULL : TreeDef->tp_alloc(TreeDef, 3);
    if (tree == NULL) {
        Py_XDECREF(meta);
        Py_XDECREF(children);
        return NULL;
    }
    PyTuple_SET_ITEM(tree, T_TYPE, Py_NewRef((PyObject *)type));
    PyTuple_SET_ITEM(tree, T_META, meta);
    PyTuple_SET_ITEM(tree, T_CHILDREN, children);
    return tree;
}

/* Return the structures of the items of a tuple, which is stolen, as one. */
static PyObject *
flatten_items(PyObject *items, PyObject *leaves)
{
    Py_ssize_t n = items == NULL ? 0 : PyTuple_GET_SIZE(items);
    PyObject *children = items == NULL ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; children != NULL && i < n; i++) {
        PyObject *child = flatten_into(PyTuple_GET_ITEM(items, i), leaves);
        if (child == NULL) {
            Py_CLEAR(children);
            break;
        }
        PyTuple_SET_ITEM(children, i, child);
    }
    Py_XDECREF(items);
    return children;
}

/* Return the keys of a dict as a tuple: sorted, or as they are where they have no order. */
static PyObject *
keys_of(PyObject *dict)
{
    PyObject *keys = PyDict_Keys(dict), *out;
    if (keys != NULL && PyList_Sort(keys) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            Py_DECREF(keys);
            return NULL;
        }
        PyErr_Clear();
        Py_SETREF(keys, PyDict_Keys(dict));
    }
    out = keys == NULL ? NULL : PyList_AsTuple(keys);
    Py_XDECREF(keys);
    return out;
}

/* Return the values of a dict for keys as a tuple. */
static PyObject *
values_of(PyObject *dict, PyObject *keys)
{
    PyObject *values = PyTuple_New(PyTuple_GET_SIZE(keys));
    for (Py_ssize_t i = 0; values != NULL && i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *value = PyObject_GetItem(dict, PyTuple_GET_ITEM(keys, i));
        if (value == NULL) {
            Py_CLEAR(values);
            break;
        }
        PyTuple_SET_ITEM(values, i, value);
    }
    return values;
}

/* Append the leaves of a pytree to a list; returns its structure. */
static PyObject *
flatten_into(PyObject *tree, PyObject *leaves)
{
    PyTypeObject *type = Py_TYPE(tree);
    int is_leaf = PySet_Contains(leaf_kinds, (PyObject *)type);
    PyObject *out = NULL;
    if (is_leaf != 0) {
        return is_leaf < 0 || PyList_Append(leaves, tree) < 0 ? NULL : Py_NewRef(leaf_tree);
    }
    if (tree == Py_None) {
        return tree_of(type, Py_NewRef(Py_None), PyTuple_New(0));
    }
    if (Py_EnterRecursiveCall(" in a pytree")) {
        return NULL;
    }
    if (type == &PyTuple_Type) {
        out = tree_of(type, Py_NewRef(Py_None), flatten_items(Py_NewRef(tree), leaves));
    }
    else if (type == &PyList_Type) { /* of which a container's own code may change the list */
        out = tree_of(type, Py_NewRef(Py_None), flatten_items(PyList_AsTuple(tree), leaves));
    }
    else if (type == &PyDict_Type) {
        PyObject *keys = keys_of(tree);
        if (keys != NULL) {
            out = tree_of(type, keys, flatten_items(values_of(tree, keys), leaves));
        }
    }
    else {
        out = PyObject_CallFunctionObjArgs(flatten_other, tree, leaves, NULL);
    }
    Py_LeaveRecursiveCall();
    return out;
}

/* flatten(tree, leaves): append the leaves of a pytree; returns its structure */
static PyObject *
flatten(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !PyList_CheckExact(args[1]) || TreeDef == NULL) {
        PyErr_SetString(PyExc_TypeError, "flatten: needs a pytree and a list");
        return NULL;
    }
    return flatten_into(args[0], args[1]);
}

/* Say whether this is a structure as `flatten` makes them: its parts are in their places. */
static inline int
is_tree(PyObject *tree)
{
    return Py_TYPE(tree) == TreeDef && PyTuple_GET_SIZE(tree) == 3 && PyTuple_CheckExact(PyTuple_GET_ITEM(tree, T_CHILDREN));
}

/* Count the leaves of a structure; -1 for an error, or for what is none. */
static Py_ssize_t
count_leaves(PyObject *tree)
{
    Py_ssize_t all = 0;
    PyObject *children;
    if (!is_tree(tree) || Py_EnterRecursiveCall(" in a pytree")) {
        return -1;
    }
    children = PyTuple_GET_ITEM(tree, T_CHILDREN);
    if (PyTuple_GET_ITEM(tree, T_TYPE) == Py_None) {
        all = 1;
    }
    for (Py_ssize_t i = 0; all >= 0 && PyTuple_GET_ITEM(tree, T_TYPE) != Py_None && i < PyTuple_GET_SIZE(children); i++) {
        Py_ssize_t more = count_leaves(PyTuple_GET_ITEM(children, i));
        all = more < 0 ? -1 : all + more;
    }
    Py_LeaveRecursiveCall();
    return all;
}

/* count_leaves(tree): how many leaves a structure has */
static PyObject *
leaf_count(PyObject *module, PyObject *tree)
{
    Py_ssize_t n = count_leaves(tree);
    if (n < 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "count_leaves: needs the structure of a pytree");
    }
    return n < 0 ? NULL : PyLong_FromSsize_t(n);
}

/* Return a dict of keys and children; NULL, without an error, for what are no keys of so many. */
static PyObject *
dict_of(PyObject *keys, PyObject *children)
{
    PyObject *out = NULL;
    if (PyTuple_CheckExact(keys) && PyTuple_GET_SIZE(keys) == PyTuple_GET_SIZE(children)) {
        out = PyDict_New();
        for (Py_ssize_t i = 0; out != NULL && i < PyTuple_GET_SIZE(keys); i++) {
            if (PyDict_SetItem(out, PyTuple_GET_ITEM(keys, i), PyTuple_GET_ITEM(children, i)) < 0) {
                Py_CLEAR(out);
            }
        }
    }
    return out;
}

/* Return the pytree of a structure, with leaves from a list or tuple, which has enough, from a place on. */
static PyObject *
unflatten_from(PyObject *tree, PyObject *leaves, Py_ssize_t *place)
{
    PyObject *type = PyTuple_GET_ITEM(tree, T_TYPE), *of = PyTuple_GET_ITEM(tree, T_CHILDREN), *children, *out = NULL;
    if (type == Py_None) {
        return Py_NewRef(PyTuple_GET_ITEM(leaves, (*place)++));
    }
    if (type == (PyObject *)Py_TYPE(Py_None)) {
        Py_RETURN_NONE;
    }
    children = PyTuple_New(PyTuple_GET_SIZE(of));
    for (Py_ssize_t i = 0; children != NULL && i < PyTuple_GET_SIZE(of); i++) {
        PyObject *child = unflatten_from(PyTuple_GET_ITEM(of, i), leaves, place);
        if (child == NULL) {
            Py_CLEAR(children);
            break;
        }
        PyTuple_SET_ITEM(children, i, child);
    }
    if (children == NULL || type == (PyObject *)&PyTuple_Type) {
        return children;
    }
    if (type == (PyObject *)&PyList_Type) {
        out = PySequence_List(children);
    }
    else if (type == (PyObject *)&PyDict_Type) {
        out = dict_of(PyTuple_GET_ITEM(tree, T_META), children);
    }
    if (out == NULL && !PyErr_Occurred()) {
        out = PyObject_CallFunctionObjArgs(unflatten_kind, tree, children, NULL);
    }
    Py_DECREF(children);
    return out;
}

/* unflatten(tree, leaves): the pytree of a structure and its leaves */
static PyObject *
unflatten(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t many, place = 0;
    PyObject *leaves, *out = NULL;
    if (n != 2 || TreeDef == NULL) {
        PyErr_SetString(PyExc_TypeError, "unflatten: needs a structure and leaves");
        return NULL;
    }
    if ((leaves = PySequence_Tuple(args[1])) == NULL) {
        return NULL;
    }
    many = count_leaves(args[0]);
    if (many == PyTuple_GET_SIZE(leaves)) {
        out = unflatten_from(args[0], leaves, &place);
    }
    else if (!PyErr_Occurred()) { /* Python says what is wrong */
        out = PyObject_CallFunctionObjArgs(unflatten_other, args[0], leaves, NULL);
    }
    Py_DECREF(leaves);
    return out;
}
