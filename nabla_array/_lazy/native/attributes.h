/* What is asked of arrays before anything is computed with them: shape and dtype, whose array it is, whether it is one. */

/* A property of arrays, found without Python's. */
typedef struct {
    PyObject_HEAD
    PyObject *slow; /* the property behind it, which answers for derived classes, and lets one set it */
    char kind;      /* 's'hape, si'z'e, 'n'dim, 'd'type, 'c'lass */
} Attribute;

/* What an array is an instance of depends on the module that asks: those that are told of other classes, by whether it
 * has axes, and what gives the class of a number.
 */
static PyObject *told_of_arrays, *told_of_numbers, *program_hook, *number_class;

/* asking(modules, modules, list, function): what `policies.py` has for `__class__` */
static PyObject *
asking(PyObject *module, PyObject *args)
{
    PyObject *numbers, *arrays, *hook, *class_of;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PySet_Type, &arrays, &PySet_Type, &numbers, &PyList_Type, &hook, &class_of)) {
        return NULL;
    }
    Py_XSETREF(told_of_arrays, Py_NewRef(arrays));
    Py_XSETREF(told_of_numbers, Py_NewRef(numbers));
    Py_XSETREF(program_hook, Py_NewRef(hook));
    Py_XSETREF(number_class, Py_NewRef(class_of));
    Py_RETURN_NONE;
}

/* Return the class of an array to the code that asks; NULL, without an error, where that is told something else. */
static PyObject *
class_of(PyObject *aval, PyObject *shape)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* of what calls `isinstance` */
    PyObject *globals = frame == NULL || number_class == NULL ? NULL : PyFrame_GetGlobals(frame), *dtype, *kind, *found = NULL;
    PyObject *name = globals == NULL ? NULL : PyDict_GetItemWithError(globals, s_name);
    int is_number = PyTuple_GET_SIZE(shape) == 0;
    if (name != NULL && !(is_number && PyList_GET_SIZE(program_hook) != 0) &&
        PySet_Contains(is_number ? told_of_numbers : told_of_arrays, name) == 0) {
        if (!is_number) {
            found = Py_NewRef((PyObject *)Array);
        }
        else if ((dtype = PyObject_GetAttr(aval, s_dtype)) != NULL) {
            if ((kind = PyObject_GetAttr(dtype, s_kind)) != NULL) {
                found = PyObject_CallOneArg(number_class, kind);
                Py_DECREF(kind);
            }
            Py_DECREF(dtype);
        }
    }
    PyErr_Clear();
    Py_XDECREF(globals);
    return found;
}

static void
attribute_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Attribute *)self)->slow);
    PyObject_GC_Del(self);
}

static int
attribute_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Attribute *)self)->slow);
    return 0;
}

static PyObject *
attribute_get(PyObject *self, PyObject *x, PyObject *type)
{
    Attribute *a = (Attribute *)self;
    PyObject *aval, *shape;
    if (x == NULL || !IS_ARRAY(x) || PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0) {
        return Py_TYPE(a->slow)->tp_descr_get(a->slow, x, type);
    }
    aval = SLOT(NODE(x), n_aval);
    if (a->kind == 'd') {
        return PyObject_GetAttr(aval, s_dtype);
    }
    shape = SLOT(aval, a_shape);
    if (a->kind == 's') {
        return Py_NewRef(shape);
    }
    if (a->kind == 'c') {
        PyObject *found = class_of(aval, shape);
        return found != NULL ? found : Py_TYPE(a->slow)->tp_descr_get(a->slow, x, type);
    }
    Py_ssize_t n = PyTuple_GET_SIZE(shape), size = 1;
    if (a->kind == 'n') {
        return PyLong_FromSsize_t(n);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        size *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    }
    return PyLong_FromSsize_t(size);
}

static int
attribute_set(PyObject *self, PyObject *x, PyObject *value)
{
    PyObject *slow = ((Attribute *)self)->slow;
    return Py_TYPE(slow)->tp_descr_set(slow, x, value);
}

static PyObject *
attribute_getattro(PyObject *self, PyObject *name)
{
    return PyObject_GetAttr(((Attribute *)self)->slow, name);
}

static PyTypeObject AttributeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.Attribute",
    .tp_basicsize = sizeof(Attribute),
    .tp_dealloc = attribute_dealloc,
    .tp_traverse = attribute_traverse,
    .tp_descr_get = attribute_get,
    .tp_descr_set = attribute_set,
    .tp_getattro = attribute_getattro,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
};

/* attribute(name, slow): the property "shape", "size", "ndim", "dtype" or "class" of arrays in the place of Python's */
static PyObject *
attribute(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *slow;
    Attribute *a;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyProperty_Type, &slow)) {
        return NULL;
    }
    if ((a = PyObject_GC_New(Attribute, &AttributeType)) != NULL) {
        a->slow = Py_NewRef(slow);
        a->kind = strcmp(name, "size") == 0 ? 'z' : name[0];
        PyObject_GC_Track((PyObject *)a);
    }
    return (PyObject *)a;
}

/* iter(x): as NumPy's, it asks for x[0], x[1], ... */
static PyObject *
call_iter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 1 && names == NULL && IS_ARRAY(args[0]) &&
        PyTuple_GET_SIZE(SLOT(args[0], x_levels)) == 0 && PyTuple_GET_SIZE(SLOT(SLOT(NODE(args[0]), n_aval), a_shape)) > 0) {
        return PySeqIter_New(args[0]);
    }
    return NULL;
}

/* x.__array_namespace__(api_version=None) */
static PyObject *
call_namespace(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (PyVectorcall_NARGS(nargsf) == 1 && IS_ARRAY(args[0]) &&
        (keywords == 0 || (keywords == 1 && args[1] == Py_None &&
                           PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "api_version") == 0))) {
        return Py_NewRef(((Fast *)self)->host);
    }
    return NULL;
}

/* result_type(x, y, ...) of arrays, dtypes and numbers */
static PyObject *
call_result_type(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), ready = 0;
    PyObject *kinds[MOST], *found = NULL;
    if (n == 0 || n > MOST || names != NULL) {
        return NULL;
    }
    for (; ready < n; ready++) {
        PyObject *x = args[ready];
        kinds[ready] = IS_ARRAY(x) ? PyObject_GetAttr(SLOT(NODE(x), n_aval), s_dtype) : Py_NewRef(x);
        if (kinds[ready] == NULL) {
            break;
        }
    }
    if (ready == n) {
        found = PyObject_Vectorcall(((Fast *)self)->host, kinds, n, NULL);
    }
    while (ready > 0) {
        Py_DECREF(kinds[--ready]);
    }
    PyErr_Clear(); /* told elsewhere */
    return found;
}

/* asarray(x, dtype=None, copy=None) of an array that is to stay what it is */
static PyObject *
call_asarray(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (n == 0 || !IS_ARRAY(args[0]) || n > 2) {
        return call_whole(self, args, nargsf, names);
    }
    if (part_bytes == 0) { /* arrays may have to go to another device */
        return NULL;
    }
    for (Py_ssize_t i = 1; i < n + keywords; i++) {
        PyObject *value = args[i], *name = i < n ? NULL : PyTuple_GET_ITEM(names, i - n);
        if (value == Py_None && (name == NULL || PyUnicode_CompareWithASCIIString(name, "dtype") == 0 ||
                                 PyUnicode_CompareWithASCIIString(name, "copy") == 0)) {
            continue;
        }
        if (value == Py_False && name != NULL && PyUnicode_CompareWithASCIIString(name, "copy") == 0) {
            continue;
        }
        if (name == NULL || PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
            PyObject *dtype = PyObject_GetAttr(SLOT(NODE(args[0]), n_aval), s_dtype);
            int is_same = dtype != NULL && (value == dtype || (PyType_Check(value) &&
                                            value == (PyObject *)((PyArray_Descr *)dtype)->typeobj));
            Py_XDECREF(dtype);
            PyErr_Clear();
            if (is_same) {
                continue;
            }
        }
        return NULL;
    }
    return Py_NewRef(args[0]);
}
