/* Arrays of the numbers in lists and tuples. It runs nothing of Python's, so that no list changes meanwhile. */

/* A number of Python's, of NumPy's or of ours that is known; `type` is that of the dtype which NumPy has for it. */
typedef struct {
    int type;
    npy_long integer;
    npy_cdouble real; /* of floats, and of complex numbers */
} Number;

/* Read the one element of an array, if its dtype is among those that `Number` knows. */
static inline int
read_element(PyArrayObject *value, Number *out)
{
    const void *data = PyArray_DATA(value);
    out->type = PyArray_DESCR(value)->type_num;
    if (PyArray_NDIM(value) != 0 || !PyArray_ISNBO(PyArray_DESCR(value)->byteorder)) {
        return 0;
    }
    switch (out->type) {
    case NPY_DOUBLE: npy_csetreal(&out->real, *(const double *)data); return 1;
    case NPY_LONG: out->integer = *(const npy_long *)data; return 1;
    case NPY_BOOL: out->integer = *(const npy_bool *)data; return 1;
    case NPY_CDOUBLE: out->real = *(const npy_cdouble *)data; return 1;
    default: return 0;
    }
}

/* Read a number; returns 0 for what is none, or is one of another dtype. */
static inline int
read_number(PyObject *o, Number *out)
{
    PyTypeObject *kind = Py_TYPE(o);
    PyArrayObject *value;
    if (kind == &PyFloat_Type || kind == &PyDoubleArrType_Type) {
        out->type = NPY_DOUBLE;
        npy_csetreal(&out->real, PyFloat_AS_DOUBLE(o));
        return 1;
    }
    if (kind == &PyLong_Type) {
        int overflow;
        out->type = NPY_LONG;
        out->integer = PyLong_AsLongAndOverflow(o, &overflow);
        return !overflow;
    }
    if (kind == &PyBool_Type || kind == &PyBoolArrType_Type) {
        out->type = NPY_BOOL;
        out->integer = kind == &PyBool_Type ? o == Py_True : PyArrayScalar_VAL(o, Bool);
        return 1;
    }
    if (kind == &PyLongArrType_Type) {
        out->type = NPY_LONG;
        out->integer = PyArrayScalar_VAL(o, Long);
        return 1;
    }
    if (kind == &PyComplex_Type || kind == &PyCDoubleArrType_Type) {
        Py_complex number = PyComplex_AsCComplex(o);
        out->type = NPY_CDOUBLE;
        npy_csetreal(&out->real, number.real);
        npy_csetimag(&out->real, number.imag);
        return 1;
    }
    value = IS_ARRAY(o) ? seen(o) : NULL;
    return value != NULL && read_element(value, out);
}

/* Say whether a list begins with a float: none of its like is an axis, a shape, or anything but elements. */
static inline int
is_list_of_floats(PyObject *list)
{
    Number first;
    return is_nested(list) && PySequence_Fast_GET_SIZE(list) > 0 &&
           read_number(PySequence_Fast_GET_ITEM(list, 0), &first) && first.type == NPY_DOUBLE;
}

/* Find the type of the dtype that NumPy has for the numbers in a list: these types are in the order of promotion. Returns
 * -1 where there is anything else in it.
 */
static int
type_of_list(PyObject *list)
{
    Number number;
    int type = NPY_BOOL;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        if (!read_number(PySequence_Fast_GET_ITEM(list, i), &number)) {
            return -1;
        }
        type = number.type > type ? number.type : type;
    }
    return type;
}

/* Write the numbers in a list as elements of a type one after another; returns 0 where NumPy would tell of one, or
 * there is anything else in it.
 */
static int
store_list(PyObject *list, int type, char *data)
{
    Number number = {.integer = 0};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        if (!read_number(PySequence_Fast_GET_ITEM(list, i), &number)) {
            return 0;
        }
        if (type == NPY_BOOL || type == NPY_LONG) {
            if (type == NPY_BOOL) {
                ((npy_bool *)data)[i] = number.integer != 0;
            }
            else {
                ((npy_long *)data)[i] = number.integer;
            }
            continue;
        }
        if (number.type < NPY_DOUBLE) {
            npy_csetreal(&number.real, (double)number.integer);
        }
        if (number.type != NPY_CDOUBLE) {
            npy_csetimag(&number.real, 0);
        }
        if (type == NPY_CDOUBLE) {
            ((npy_cdouble *)data)[i] = number.real;
        }
        else if (type == NPY_DOUBLE) {
            ((double *)data)[i] = npy_creal(number.real);
        }
        else {
            ((float *)data)[i] = (float)npy_creal(number.real);
            if (isinf(((float *)data)[i]) && isfinite(npy_creal(number.real))) {
                return 0;
            }
        }
    }
    return 1;
}

/* Say whether what NumPy makes of a number of a type by a cast to `wanted` is what is stored here. */
static inline int
is_castable(int type, int wanted)
{
    return wanted == type || (type < wanted && (wanted == NPY_LONG || wanted == NPY_DOUBLE || wanted == NPY_CDOUBLE)) ||
           (wanted == NPY_FLOAT && type != NPY_CDOUBLE);
}

/* Return NumPy's array of the numbers in a list, or in lists of as many each, of a type, or of the one that NumPy takes
 * (NPY_NOTYPE); NULL, without an error, where that is not so simple.
 */
static PyArrayObject *
array_of_list(PyObject *list, int wanted)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list), row = 0;
    int is_table = n > 0 && is_nested(PySequence_Fast_GET_ITEM(list, 0)), type = NPY_BOOL;
    npy_intp dims[2] = {n, 0};
    PyArrayObject *value;
    if (is_table) {
        dims[1] = row = PySequence_Fast_GET_SIZE(PySequence_Fast_GET_ITEM(list, 0));
    }
    if (n == 0 || (is_table && row == 0)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < (is_table ? n : 1); i++) {
        PyObject *item = is_table ? PySequence_Fast_GET_ITEM(list, i) : list;
        int own = is_nested(item) && (!is_table || PySequence_Fast_GET_SIZE(item) == row) ? type_of_list(item) : -1;
        if (own < 0) {
            return NULL;
        }
        type = own > type ? own : type;
    }
    if (wanted != NPY_NOTYPE && !is_castable(type, wanted)) {
        return NULL;
    }
    value = (PyArrayObject *)PyArray_SimpleNew(1 + is_table, dims, wanted == NPY_NOTYPE ? type : wanted);
    for (Py_ssize_t i = 0; value != NULL && i < (is_table ? n : 1); i++) {
        PyObject *item = is_table ? PySequence_Fast_GET_ITEM(list, i) : list;
        if (!store_list(item, PyArray_TYPE(value), PyArray_BYTES(value) + i * PyArray_STRIDE(value, 0))) {
            Py_CLEAR(value);
        }
    }
    PyErr_Clear(); /* of memory, which NumPy tells of */
    return value;
}

static PyArray_Descr *dtype_of(PyObject *given, PyObject *number);

/* Return ours of the numbers in a list, or in lists of as many each; NULL, without an error, where that is not so simple. */
static PyObject *
listed(PyObject *list, PyObject *given)
{
    PyArray_Descr *dtype = given == Py_None ? NULL : dtype_of(given, Py_None);
    PyArrayObject *value;
    if (given != Py_None && dtype == NULL) {
        return NULL;
    }
    value = array_of_list(list, dtype == NULL ? NPY_NOTYPE : dtype->type_num);
    Py_XDECREF(dtype);
    return value == NULL ? NULL : known_array((PyObject *)value, NULL);
}
