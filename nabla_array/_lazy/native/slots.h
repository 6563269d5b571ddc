/* What Python calls for `x + y`, `-x`, `x < y`, `bool(x)`, `len(x)`, `x[key]` and `x[key] = y`: the methods that the class
 * has under those names, which are known here, so that none is looked up. Python puts its own functions back where a
 * method is replaced, and into classes that derive from `Array`.
 */

enum { FORWARD, REFLECTED, WAYS };

static PyObject *
call_method(PyObject *method, PyObject *x, PyObject *y)
{
    PyObject *args[2] = {x, y};
    return ((Fast *)method)->call(method, args, 2, NULL);
}

/* Return what Python's operator, at a place in PyNumberMethods, gives for its complex number and a scalar's element; NULL,
 * without an error, where that is not at hand, or complex numbers have no such operator.
 */
static PyObject *
of_complex(size_t place, PyObject *number, PyObject *x)
{
    binaryfunc operate = *(binaryfunc *)((char *)PyComplex_Type.tp_as_number + place);
    PyArrayObject *value;
    PyObject *element = NULL, *found = NULL;
    if (operate != NULL && try_lock()) {
        if (is_pythons(x) && (value = fresh(x)) != NULL) {
            element = PyFloat_FromDouble(*(double *)PyArray_DATA(value));
        }
        unlock();
    }
    if (element != NULL) {
        found = operate(number, element);
        Py_DECREF(element);
    }
    return found;
}

/* Python asks the other operand, if its class is another, where this returns NotImplemented. */
static PyObject *
call_binary(PyObject *const *methods, size_t place, PyObject *x, PyObject *y)
{
    if (Py_TYPE(x) == Array) {
        return call_method(methods[FORWARD], x, y);
    }
    if (Py_TYPE(y) == Array) {
        PyObject *found = PyComplex_CheckExact(x) ? of_complex(place, x, y) : NULL;
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
        return call_method(methods[REFLECTED], y, x);
    }
    Py_RETURN_NOTIMPLEMENTED;
}

#define BINARY_SLOTS(BINARY)                                                                                         \
    BINARY(nb_add, "add")                                                                                            \
    BINARY(nb_subtract, "sub")                                                                                       \
    BINARY(nb_multiply, "mul")                                                                                       \
    BINARY(nb_true_divide, "truediv")                                                                                \
    BINARY(nb_floor_divide, "floordiv")                                                                              \
    BINARY(nb_remainder, "mod")                                                                                      \
    BINARY(nb_matrix_multiply, "matmul")                                                                             \
    BINARY(nb_and, "and")                                                                                            \
    BINARY(nb_or, "or")

#define BINARY(slot, name)                                                                                           \
    static PyObject *slot##_methods[WAYS];                                                                           \
    static PyObject *call_##slot(PyObject *x, PyObject *y)                                                           \
    {                                                                                                                \
        return call_binary(slot##_methods, offsetof(PyNumberMethods, slot), x, y);                                   \
    }
BINARY_SLOTS(BINARY)
#undef BINARY

static const struct {
    PyObject **methods;
    binaryfunc call;
    size_t place; /* in PyNumberMethods */
    const char *names[WAYS];
} binary_slots[] = {
#define BINARY(slot, name) {slot##_methods, call_##slot, offsetof(PyNumberMethods, slot), {"__" name "__", "__r" name "__"}},
    BINARY_SLOTS(BINARY)
#undef BINARY
};

#define UNARY_SLOTS(UNARY)                                                                                           \
    UNARY(nb_negative, "__neg__")                                                                                    \
    UNARY(nb_absolute, "__abs__")                                                                                    \
    UNARY(nb_invert, "__invert__")                                                                                   \
    UNARY(nb_float, "__float__")                                                                                     \
    UNARY(nb_int, "__int__")                                                                                         \
    UNARY(nb_index, "__index__")

#define UNARY(slot, name)                                                                                            \
    static PyObject *slot##_method;                                                                                  \
    static PyObject *call_##slot(PyObject *x) { return ((Fast *)slot##_method)->call(slot##_method, &x, 1, NULL); }
UNARY_SLOTS(UNARY)
#undef UNARY

static const struct {
    PyObject **method;
    unaryfunc call;
    size_t place; /* in PyNumberMethods */
    const char *name;
} unary_slots[] = {
#define UNARY(slot, name) {&slot##_method, call_##slot, offsetof(PyNumberMethods, slot), name},
    UNARY_SLOTS(UNARY)
#undef UNARY
};

static PyObject *bool_method, *hash_method, *len_method;

static int
call_nb_bool(PyObject *x)
{
    PyObject *found = ((Fast *)bool_method)->call(bool_method, &x, 1, NULL);
    int truth = found == NULL ? -1 : found == Py_True;
    Py_XDECREF(found);
    return truth;
}

static Py_hash_t
call_hash(PyObject *x)
{
    PyObject *found = ((Fast *)hash_method)->call(hash_method, &x, 1, NULL);
    Py_hash_t hash = found == NULL ? -1 : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    return hash == -1 && !PyErr_Occurred() ? -2 : hash; /* -1 tells of an error */
}

static Py_ssize_t
call_len(PyObject *x)
{
    PyObject *found = ((Fast *)len_method)->call(len_method, &x, 1, NULL);
    Py_ssize_t n = found == NULL ? -1 : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    return n;
}

static PyObject *compare_methods[Py_GE + 1], *getitem_method, *setitem_method;

static PyObject *
call_compare(PyObject *x, PyObject *y, int op)
{
    return call_method(compare_methods[op], x, y);
}

static PyObject *
call_subscript(PyObject *x, PyObject *key)
{
    return call_method(getitem_method, x, key);
}

static PyObject *
call_item(PyObject *x, Py_ssize_t i)
{
    PyObject *key = PyLong_FromSsize_t(i), *found = key == NULL ? NULL : call_method(getitem_method, x, key);
    Py_XDECREF(key);
    return found;
}

static objobjargproc usual_assignment; /* Python's own, which says that nothing can be deleted */

static int
call_assignment(PyObject *x, PyObject *key, PyObject *y)
{
    PyObject *args[3] = {x, key, y}, *done;
    if (y == NULL) {
        return usual_assignment(x, key, y);
    }
    done = ((Fast *)setitem_method)->call(setitem_method, args, 3, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Put into `*where` a compiled method of arrays; returns whether it is one. */
static int
has_method(PyObject **where, const char *name)
{
    PyObject *method = PyDict_GetItemString(Array->tp_dict, name);
    if (method == NULL || !PyObject_TypeCheck(method, &FastType)) {
        return 0;
    }
    Py_XSETREF(*where, Py_NewRef(method));
    return 1;
}

/* fill_slots(): call the methods that the class of arrays has now without looking them up */
static PyObject *
fill_slots(PyObject *module, PyObject *unused)
{
    static const char *const compared[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
    PyHeapTypeObject *heap = (PyHeapTypeObject *)Array;
    int many = 0;
    for (size_t i = 0; i < sizeof(binary_slots) / sizeof(binary_slots[0]); i++) {
        PyObject **methods = binary_slots[i].methods;
        if (has_method(&methods[FORWARD], binary_slots[i].names[FORWARD]) &&
            has_method(&methods[REFLECTED], binary_slots[i].names[REFLECTED])) {
            *(binaryfunc *)((char *)&heap->as_number + binary_slots[i].place) = binary_slots[i].call;
        }
    }
    for (size_t i = 0; i < sizeof(unary_slots) / sizeof(unary_slots[0]); i++) {
        if (has_method(unary_slots[i].method, unary_slots[i].name)) {
            *(unaryfunc *)((char *)&heap->as_number + unary_slots[i].place) = unary_slots[i].call;
        }
    }
    if (has_method(&bool_method, "__bool__")) {
        heap->as_number.nb_bool = call_nb_bool;
    }
    if (has_method(&hash_method, "__hash__")) {
        Array->tp_hash = call_hash;
    }
    if (has_method(&len_method, "__len__")) {
        heap->as_sequence.sq_length = call_len;
        heap->as_mapping.mp_length = call_len;
    }
    for (int op = Py_LT; op <= Py_GE; op++) {
        many += has_method(&compare_methods[op], compared[op]);
    }
    if (many == Py_GE + 1) {
        Array->tp_richcompare = call_compare;
    }
    if (has_method(&getitem_method, "__getitem__")) {
        heap->as_mapping.mp_subscript = call_subscript;
        heap->as_sequence.sq_item = call_item;
    }
    if (has_method(&setitem_method, "__setitem__") && heap->as_mapping.mp_ass_subscript != call_assignment) {
        usual_assignment = heap->as_mapping.mp_ass_subscript;
        heap->as_mapping.mp_ass_subscript = call_assignment;
    }
    PyType_Modified(Array);
    Py_RETURN_NONE;
}
