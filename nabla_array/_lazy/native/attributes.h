/* What is asked of arrays before anything is computed with them: shape and dtype, whose array it is, whether it is one. */

/* A property of arrays, found without Python's. */
typedef struct {
    PyObject_HEAD
    PyObject *slow; /* the property behind it, which answers for derived classes, and lets one set it */
    char kind;      /* 's'hape, si'z'e, 'n'dim, 'd'type, 'c'lass, 'i'nterface */
} Attribute;

/* What an array is an instance of depends on the module that asks: some are told of NumPy's class. So does
 * whether it has `__array_interface__`, and whether NumPy is given a copy of it.
 */
static PyObject *told_of_arrays, *told_of_scalars, *told_of_interfaces, *told_of_memory[3], *giving, *from_shared;

/* asking(*modules, list, list, function): what `policies.py` has for `__class__`, in two sets, for `__array_interface__`,
 * in three, for `__array__`, and for what becomes ours
 */
static PyObject *
asking(PyObject *module, PyObject *args)
{
    PyObject *sets[7], *hook, *files, *share;
    PyObject **where[7] = {&told_of_arrays,    &told_of_scalars,   &told_of_interfaces, &told_of_memory[0],
                           &told_of_memory[1], &told_of_memory[2], &giving};
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!O!O", &PySet_Type, &sets[0], &PySet_Type, &sets[1], &PySet_Type, &sets[2],
                          &PySet_Type, &sets[3], &PySet_Type, &sets[4], &PySet_Type, &sets[5], &PySet_Type, &sets[6],
                          &PyList_Type, &hook, &PyList_Type, &files, &share)) {
        return NULL;
    }
    for (int i = 0; i < 7; i++) {
        Py_XSETREF(*where[i], Py_NewRef(sets[i]));
    }
    Py_XSETREF(program_hook, Py_NewRef(hook));
    Py_XSETREF(program_files, Py_NewRef(files));
    Py_XSETREF(from_shared, Py_NewRef(share));
    Py_RETURN_NONE;
}

/* Return the name (borrowed) of the module with these global names; NULL, without an error, where there is none. */
static PyObject *
module_of(PyObject *globals)
{
    PyObject *name = globals == NULL ? NULL : PyDict_GetItemWithError(globals, s_name);
    PyErr_Clear();
    return name;
}

/* Say whether the code that runs is of one of some modules. */
static int
is_asked_by(PyObject *modules)
{
    PyObject *name;
    int found = 1;
    if (modules == NULL || PySet_GET_SIZE(modules) == 0) {
        return modules == NULL;
    }
    if ((name = module_of(PyEval_GetGlobals())) != NULL) {
        found = PySet_Contains(modules, name) != 0;
        PyErr_Clear();
    }
    return found;
}

/* Return the class of an array to the code that asks; NULL, without an error, where `policies.py` says it. */
static PyObject *
class_of(PyObject *x)
{
    PyObject *found = NULL;
    if (is_scalar(x) && told_of_scalars != NULL && !is_asked_by(told_of_scalars)) {
        PyObject *dtype = PyObject_GetAttr(SLOT(NODE(x), n_aval), s_dtype);
        if (dtype != NULL && PyArray_DescrCheck(dtype)) {
            found = Py_NewRef((PyObject *)((PyArray_Descr *)dtype)->typeobj);
        }
        Py_XDECREF(dtype);
    }
    else if (!is_scalar(x) && told_of_arrays != NULL && !is_asked_by(told_of_arrays)) {
        found = Py_NewRef((PyObject *)Array);
    }
    PyErr_Clear();
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
    Py_ssize_t n, lead, size = 1;
    if (a->kind == 'i' && x != NULL && IS_ARRAY(x) && is_foreign() && !is_asked_by(told_of_interfaces)) {
        PyErr_SetObject(PyExc_AttributeError, s_interface);
        return NULL;
    }
    lead = x == NULL || !IS_ARRAY(x) ? 0 : PyTuple_GET_SIZE(SLOT(x, x_levels)); /* axes that belong to levels */
    if (a->kind == 'i' || x == NULL || !IS_ARRAY(x) || (lead != 0 && a->kind == 'c')) {
        return Py_TYPE(a->slow)->tp_descr_get(a->slow, x, type);
    }
    aval = SLOT(NODE(x), n_aval);
    if (a->kind == 'd') {
        return PyObject_GetAttr(aval, s_dtype);
    }
    shape = SLOT(aval, a_shape);
    n = PyTuple_GET_SIZE(shape);
    if (a->kind == 's') {
        return lead == 0 ? Py_NewRef(shape) : PyTuple_GetSlice(shape, lead, n);
    }
    if (a->kind == 'c') {
        PyObject *found = class_of(x);
        return found != NULL ? found : Py_TYPE(a->slow)->tp_descr_get(a->slow, x, type);
    }
    if (a->kind == 'n') {
        return PyLong_FromSsize_t(n - lead);
    }
    for (Py_ssize_t i = lead; i < n; i++) {
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

/* attribute(name, slow): the property "shape", "size", "ndim", "dtype", "class" or "interface" of arrays in the place of Python's */
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

/* eval(x): an array whose elements are known, or are computed here at once */
static PyObject *
call_evaluate(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int is_done = PyVectorcall_NARGS(nargsf) == 1 && names == NULL && IS_ARRAY(args[0]) && !is_watched() &&
                  fresh(args[0]) != NULL;
    return is_done ? Py_NewRef(args[0]) : NULL;
}

/* numpy.shape(x), and what else the attributes of an array tell, or the class of a number does. */
static PyObject *
call_asked(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    static const char *const attributes[] = {"shape", "size", "ndim", "dtype"};
    char kind = ((Fast *)self)->kind;
    PyObject *x, *found;
    int is_number, is_complex;
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL) {
        return NULL;
    }
    x = args[0];
    is_number = PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyComplex_CheckExact(x) || PyBool_Check(x);
    if (kind == 'i') { /* isscalar */
        return IS_ARRAY(x)                            ? PyBool_FromLong(is_scalar(x))
               : is_number || PyUnicode_CheckExact(x) ? Py_NewRef(Py_True)
                                                      : NULL;
    }
    if (!IS_ARRAY(x)) {
        return !is_number    ? NULL
               : kind == 's' ? PyTuple_New(0)
               : kind == 'z' ? PyLong_FromLong(1)
               : kind == 'n' ? PyLong_FromLong(0)
                             : PyBool_FromLong(PyComplex_CheckExact(x) == (kind == 'c'));
    }
    found = PyDict_GetItemString(Array->tp_dict, attributes[kind == 's' ? 0 : kind == 'z' ? 1 : kind == 'n' ? 2 : 3]);
    if (found == NULL || Py_TYPE(found) != &AttributeType) {
        return NULL; /* where somebody is told of lengths, another one is in its place */
    }
    found = attribute_get(found, x, (PyObject *)Array);
    if (found != NULL && (kind == 'c' || kind == 'r')) {
        is_complex = PyArray_DescrCheck(found) && PyTypeNum_ISCOMPLEX(((PyArray_Descr *)found)->type_num);
        Py_SETREF(found, PyBool_FromLong(is_complex == (kind == 'c')));
    }
    return found;
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

/* Say whether a value names an array's dtype: itself, a class of NumPy's or Python's numbers, or a text. */
static inline int
names_dtype(PyObject *value, PyArray_Descr *dtype)
{
    if (value == (PyObject *)dtype) {
        return 1;
    }
    if (PyUnicode_CheckExact(value)) {
        PyArray_Descr *named = NULL;
        int is_same = PyArray_DescrConverter(value, &named) == NPY_SUCCEED && named == dtype;
        Py_XDECREF(named);
        PyErr_Clear(); /* told elsewhere */
        return is_same;
    }
    return value == (PyObject *)dtype->typeobj || (value == (PyObject *)&PyFloat_Type && dtype == double_dtype) ||
           (value == (PyObject *)&PyLong_Type && dtype == integer_dtype) ||
           (value == (PyObject *)&PyComplex_Type && dtype == complex_dtype) ||
           (value == (PyObject *)&PyBool_Type && dtype == truth_dtype);
}

/* Say whether NumPy copies an array as it copies this value: they lie so in NumPy's memory, perhaps with gaps. */
static int
is_copied_alike(PyObject *x, PyArrayObject *value)
{
    if (PyArray_IS_C_CONTIGUOUS(value)) {
        return 1;
    }
    for (int i = 0; i < PyArray_NDIM(value); i++) {
        if (PyArray_STRIDE(value, i) == 0) {
            return 0;
        }
    }
    return lies_as_numpys(x, value);
}

/* Say whether a value is the dtype of numbers that an array's are cast to without loss. */
static inline int
is_wider(PyObject *value, PyArray_Descr *dtype)
{
    return PyArray_DescrCheck(value) && PyTypeNum_ISNUMBER(((PyArray_Descr *)value)->type_num) &&
           PyArray_ISNBO(((PyArray_Descr *)value)->byteorder) &&
           PyArray_CanCastTypeTo(dtype, (PyArray_Descr *)value, NPY_SAFE_CASTING);
}

/* x.__array__(dtype=None, copy=None), as `numpy.asarray` calls it: a copy of what is not large */
static PyObject *
call_array(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyArrayObject *value;
    PyArray_Descr *wanted;
    if (n < 1 || n > 2 || !IS_ARRAY(args[0]) || is_watched() || (value = fresh(args[0])) == NULL ||
        !is_copied_alike(args[0], value) || PyArray_NBYTES(value) >= part_bytes || is_asked_by(told_of_memory[0]) ||
        is_asked_by(told_of_memory[1]) || (PyArray_NBYTES(value) >= tiny() && is_asked_by(told_of_memory[2]))) {
        return NULL;
    }
    wanted = PyArray_DESCR(value);
    for (Py_ssize_t i = 1; i < n + keywords; i++) {
        PyObject *name = i < n ? NULL : PyTuple_GET_ITEM(names, i - n);
        int is_dtype = name == NULL || PyUnicode_CompareWithASCIIString(name, "dtype") == 0;
        if (is_dtype && is_wider(args[i], wanted)) {
            wanted = (PyArray_Descr *)args[i];
            continue;
        }
        int is_simple = args[i] == Py_None || (is_dtype ? names_dtype(args[i], wanted) : args[i] == Py_True);
        if (!is_simple || !(is_dtype || PyUnicode_CompareWithASCIIString(name, "copy") == 0)) {
            return NULL;
        }
    }
    return copy_as(value, wanted);
}

/* Say whether an array owns its memory, or is all of another's that nobody else has, and may be written to. */
static int
is_sole_owner(PyArrayObject *array)
{
    PyObject *base = PyArray_BASE(array);
    if (!PyArray_ISWRITEABLE(array)) {
        return 0;
    }
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) ||
           (base != NULL && PyArray_CheckExact(base) && Py_REFCNT(base) == 1 && PyArray_IS_C_CONTIGUOUS(array) &&
            PyArray_CHKFLAGS((PyArrayObject *)base, NPY_ARRAY_OWNDATA) &&
            PyArray_NBYTES((PyArrayObject *)base) == PyArray_NBYTES(array));
}

/* Return what `asarray` makes of a number, of a small array of NumPy's, or of a large one that is given away, unless that is
 * to be copied; NULL for anything else, perhaps with an error. `plain`: a class derived from NumPy's is not kept.
 */
static PyObject *
copied(PyObject *given, PyObject *dtype, int copies, int plain)
{
    PyArray_Descr *wanted = NULL;
    PyObject *value;
    if (plain ? PyArray_Check(given) : PyArray_CheckExact(given)) {
        PyArrayObject *array = (PyArrayObject *)given;
        int is_simple = is_held(array) && PyArray_ISNBO(PyArray_DESCR(array)->byteorder) &&
                        (dtype == NULL || names_dtype(dtype, PyArray_DESCR(array)));
        return !is_simple                       ? NULL
               : PyArray_NBYTES(array) < tiny() ? zero_d(copy_of_numpys(array))
               : !copies && giving != NULL && PyArray_CheckExact(given) && is_sole_owner(array) && is_asked_by(giving)
                   ? PyObject_CallOneArg(from_shared, given)
                   : NULL;
    }
    if (!(PyFloat_CheckExact(given) || PyLong_CheckExact(given) || PyBool_Check(given) || PyArray_IsScalar(given, Generic)) ||
        tiny() == 0 || (dtype != NULL && PyArray_DescrConverter(dtype, &wanted) == NPY_FAIL)) {
        PyErr_Clear();
        return NULL;
    }
    value = PyArray_FromAny(given, wanted, 0, 0, NPY_ARRAY_DEFAULT | NPY_ARRAY_ENSURECOPY, NULL);
    if (value != NULL && !(PyArray_CheckExact(value) && is_held((PyArrayObject *)value) &&
                           PyArray_ISNBO(PyArray_DESCR((PyArrayObject *)value)->byteorder))) {
        Py_CLEAR(value);
    }
    PyErr_Clear(); /* told elsewhere */
    return value == NULL ? NULL : zero_d(known_array(value, NULL));
}

/* Say whether a device is the CPU, or any. */
static inline int
is_cpu(PyObject *device)
{
    return device == Py_None || (PyUnicode_CheckExact(device) && PyUnicode_CompareWithASCIIString(device, "cpu") == 0);
}

/* Return an array of its own with the same elements, which are known, in an order in memory; NULL, without an error, where that
 * is not so simple.
 */
static PyObject *
copy_in_order(PyObject *x, PyArrayObject *value, NPY_ORDER order)
{
    PyObject *copy = NULL;
    if (!is_watched() && PyArray_NBYTES(value) < part_bytes && lies_as_numpys(x, value)) {
        copy = PyArray_NewCopy(value, order);
    }
    if (copy != NULL && order != NPY_CORDER && PyArray_NDIM(value) > 1 && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)copy) &&
        PyArray_IS_F_CONTIGUOUS((PyArrayObject *)copy)) {
        Py_CLEAR(copy); /* of a row or a column: only its strides are in an order */
    }
    PyErr_Clear(); /* of memory, told elsewhere */
    return copy == NULL ? NULL : known_array(copy, NULL);
}

/* Return an array, or one of its own with the same elements; NULL, without an error, where that is not so simple. */
static PyObject *
same_or_copy(PyObject *x, int copies)
{
    PyArrayObject *value;
    PyObject *copy;
    if (!copies) {
        return Py_NewRef(x);
    }
    if (PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0 || Py_TYPE(NODE(x)) == Exported) {
        return NULL;
    }
    if (SLOT(x, x_view) != Py_None) { /* whose order the copy keeps */
        if ((value = seen(x)) == NULL) {
            return NULL;
        }
        if (PyArray_NDIM(value) > 1 && !PyArray_IS_C_CONTIGUOUS(value)) {
            return copy_in_order(x, value, NPY_KEEPORDER);
        }
    }
    copy = array_of(Py_NewRef(NODE(x)));
    return SLOT(x, x_view) == Py_None ? copy : zero_d(copy);
}

/* Say whether a value names the dtype of an array. */
static inline int
is_own_dtype(PyObject *x, PyObject *value)
{
    PyObject *dtype = PyObject_GetAttr(SLOT(NODE(x), n_aval), s_dtype);
    int is_same = dtype != NULL && names_dtype(value, (PyArray_Descr *)dtype);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return is_same;
}

/* Say whether a cast is told of nowhere: it loses nothing, or wraps integers round, or asks what is not zero. */
static inline int
is_quiet_cast(PyArray_Descr *from, PyArray_Descr *to)
{
    return PyArray_CanCastTypeTo(from, to, NPY_SAFE_CASTING) || to->type_num == NPY_BOOL ||
           ((PyTypeNum_ISINTEGER(from->type_num) || from->type_num == NPY_BOOL) && PyTypeNum_ISNUMBER(to->type_num) &&
            to->type_num != NPY_HALF);
}

/* Return an array of another dtype with the elements of one that is known, and little; NULL, without an error, where that
 * is not so simple.
 */
static PyObject *
cast_array(PyObject *x, PyObject *dtype)
{
    PyArray_Descr *wanted = NULL;
    PyArrayObject *value;
    PyObject *found = NULL;
    if (!is_watched() && is_dtype(dtype) && (value = fresh(x)) != NULL && PyArray_NBYTES(value) < tiny() &&
        PyArray_IS_C_CONTIGUOUS(value) && PyArray_DescrConverter(dtype, &wanted) == NPY_SUCCEED &&
        PyArray_ISNBO(wanted->byteorder) && wanted->type_num != PyArray_DESCR(value)->type_num && /* `float`, say */
        is_quiet_cast(PyArray_DESCR(value), wanted)) {
        Py_INCREF(wanted);
        found = PyArray_CastToType(value, wanted, 0);
    }
    if (found != NULL && !(PyArray_CheckExact(found) && is_held((PyArrayObject *)found))) {
        Py_CLEAR(found);
    }
    Py_XDECREF(wanted);
    PyErr_Clear(); /* told elsewhere */
    found = found == NULL ? NULL : known_array(found, NULL);
    return found == NULL || SLOT(x, x_view) == Py_None ? found : zero_d(found);
}

/* Say whether an array lies in C's order, as NumPy's would; 0 where that is not so simple, too. */
static int
is_in_c_order(PyObject *x)
{
    PyArrayObject *value;
    return SLOT(x, x_view) == Py_None || (Py_TYPE(NODE(x)) != Exported && (value = fresh(x)) != NULL &&
                                          PyArray_IS_C_CONTIGUOUS(value) && lies_as_numpys(x, value));
}

/* Say whether an array already is as an option of `array` wants it: in an order, or with so many axes. */
static inline int
is_as_wanted(PyObject *x, PyObject *name, PyObject *option)
{
    if (is_named(name, "ndmin")) {
        return PyLong_CheckExact(option) && PyLong_AsLong(option) <= axes_of(x) && !PyErr_Occurred();
    }
    return is_named(name, "order") &&
           (option == Py_None || (PyUnicode_CheckExact(option) &&
                                  (PyUnicode_CompareWithASCIIString(option, "K") == 0 ||
                                   (PyUnicode_CompareWithASCIIString(option, "C") == 0 && is_in_c_order(x)))));
}

/* asarray(x, dtype=None, copy=None, device=None), and array, whose `copy` is True */
static PyObject *
call_asarray(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *dtype = NULL, *copy = ((Fast *)self)->copies ? Py_True : Py_None, *device = Py_None;
    if (n == 0 || n > 2 || (!IS_ARRAY(args[0]) && is_nested(args[0]))) {
        return call_whole(self, args, nargsf, names);
    }
    if (part_bytes == 0) { /* arrays may have to go to another device */
        return NULL;
    }
    for (Py_ssize_t i = 1; i < n + keywords; i++) {
        PyObject *name = i < n ? NULL : PyTuple_GET_ITEM(names, i - n);
        if (name == NULL || is_named(name, "dtype")) {
            dtype = args[i] == Py_None ? NULL : args[i];
        }
        else if (is_named(name, "copy") && (args[i] == Py_None || PyBool_Check(args[i]))) {
            copy = args[i];
        }
        else if (is_named(name, "device") && is_cpu(args[i])) {
            device = args[i];
        }
        else if (!IS_ARRAY(args[0]) || !is_as_wanted(args[0], name, args[i])) {
            PyErr_Clear(); /* told elsewhere */
            return NULL;
        }
    }
    if (!IS_ARRAY(args[0])) {
        return copy != Py_False && !is_watched() ? copied(args[0], dtype, copy == Py_True, ((Fast *)self)->copies) : NULL;
    }
    if (device != Py_None && seen(args[0]) == NULL) {
        return NULL;
    }
    if (dtype != NULL && !is_own_dtype(args[0], dtype)) {
        return copy == Py_False ? NULL : zero_d(cast_array(args[0], dtype));
    }
    return zero_d(same_or_copy(args[0], copy == Py_True));
}

/* copy(x), which is array(x); another argument means something else there */
static PyObject *
call_copy(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyVectorcall_NARGS(nargsf) == 1 && names == NULL ? call_asarray(self, args, nargsf, names) : NULL;
}

/* ascontiguousarray(x), asfortranarray(x), perhaps with the dtype that x has */
static PyObject *
call_ordered(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    int is_named_dtype = n == 1 && keywords == 1 && is_named(PyTuple_GET_ITEM(names, 0), "dtype");
    int has_dtype = is_named_dtype || (n == 2 && keywords == 0);
    PyObject *x = (n == 1 && keywords == 0) || has_dtype ? args[0] : NULL;
    PyArrayObject *value;
    int is_fortrans = ((Fast *)self)->kind == 'F', ndim;
    if (x == NULL || !IS_ARRAY(x) || part_bytes == 0 || (has_dtype && args[1] != Py_None && !is_own_dtype(x, args[1])) ||
        PyTuple_GET_SIZE(SLOT(x, x_levels)) != 0 ||
        (ndim = (int)PyTuple_GET_SIZE(SLOT(SLOT(NODE(x), n_aval), a_shape))) == 0) {
        return NULL;
    }
    if (SLOT(x, x_view) == Py_None && (ndim == 1 || !is_fortrans)) {
        return Py_NewRef(x); /* the order in which arrays are made */
    }
    if (is_watched() || Py_TYPE(NODE(x)) == Exported || (value = fresh(x)) == NULL || !lies_as_numpys(x, value)) {
        return NULL;
    }
    return PyArray_CHKFLAGS(value, is_fortrans ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS)
               ? Py_NewRef(x)
               : copy_in_order(x, value, is_fortrans ? NPY_FORTRANORDER : NPY_CORDER);
}

/* astype(x, dtype, copy=True) */
static PyObject *
call_astype(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    int copies = keywords == 0 || args[n] == Py_True;
    if (n != 2 || !IS_ARRAY(args[0]) || part_bytes == 0 || !is_dtype(args[1]) ||
        !(keywords == 0 || (keywords == 1 && is_named(PyTuple_GET_ITEM(names, 0), "copy") && PyBool_Check(args[n])))) {
        return NULL;
    }
    return is_own_dtype(args[0], args[1]) ? same_or_copy(args[0], copies) : cast_array(args[0], args[1]);
}
