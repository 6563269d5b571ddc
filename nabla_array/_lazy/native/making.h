/* zeros(shape), ones(shape), full(shape, number): arrays full of one number, which take no memory. */

/* Read a shape of integers of Python's, none of them 0; returns how many axes it has, -1 where that is not so simple. */
static int
read_shape(PyObject *shape, npy_intp *dims)
{
    Py_ssize_t ndim = is_nested(shape) ? PySequence_Fast_GET_SIZE(shape) : 1;
    npy_intp bytes = sizeof(npy_cdouble);
    if (ndim > MOST_DIMS) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < ndim; i++) {
        if (!as_index(is_nested(shape) ? PySequence_Fast_GET_ITEM(shape, i) : shape, &dims[i]) || dims[i] < 1 ||
            dims[i] > NPY_MAX_INTP / bytes) {
            return -1;
        }
        bytes *= dims[i];
    }
    return (int)ndim;
}

/* Return the dtype (a new reference) of an array full of a number; NULL, without an error, where that is not so simple. */
static PyArray_Descr *
dtype_of(PyObject *given, PyObject *number)
{
    PyArray_Descr *dtype = NULL;
    int type;
    if (given != Py_None) {
        if (!is_dtype(given) || PyArray_DescrConverter(given, &dtype) == NPY_FAIL || !PyArray_ISNBO(dtype->byteorder) ||
            !(PyTypeNum_ISNUMBER(dtype->type_num) || dtype->type_num == NPY_BOOL)) {
            PyErr_Clear();
            Py_CLEAR(dtype);
        }
        return dtype;
    }
    type = PyBool_Check(number)           ? NPY_BOOL
           : PyLong_CheckExact(number)    ? NPY_LONG
           : PyFloat_CheckExact(number)   ? NPY_DOUBLE
           : PyComplex_CheckExact(number) ? NPY_CDOUBLE
                                          : NPY_VOID;
    return type == NPY_VOID ? NULL : PyArray_DescrFromType(type);
}

/* Return an array of a shape full of a number (stolen); NULL, without an error, where that is not so simple. */
static PyObject *
full_of(PyObject *shape, PyObject *number, PyObject *given)
{
    npy_intp dims[MOST_DIMS];
    int ndim = number == NULL ? -1 : read_shape(shape, dims);
    PyArray_Descr *dtype = ndim < 0 ? NULL : dtype_of(given, number);
    PyObject *aval = NULL, *node = NULL;
    if (dtype != NULL) {
        if (dtype->type_num == NPY_BOOL && PyLong_CheckExact(number)) {
            Py_SETREF(number, PyBool_FromLong(PyObject_IsTrue(number)));
        }
        aval = find_aval(ndim, dims, dtype);
        node = aval == NULL ? NULL : Py_XNewRef(number_node(aval, number));
    }
    PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(dtype);
    Py_XDECREF(aval);
    return node == NULL ? NULL : zero_d(array_of(node));
}

/* Return a little array of a shape full of a number; NULL, without an error, where that is not so simple. */
static PyObject *
little_full_of(PyObject *shape, PyObject *number, PyObject *given)
{
    npy_intp dims[MOST_DIMS], product = 1;
    int ndim = is_little(&shape, 1, &product) ? read_shape(shape, dims) : -1;
    PyArray_Descr *dtype = ndim < 0 ? NULL : dtype_of(given, number);
    PyObject *value = dtype == NULL ? NULL : PyArray_Zeros(ndim, dims, dtype, 0);
    if (value != NULL && !(PyLong_CheckExact(number) && PyLong_AsLong(number) == 0) &&
        PyArray_FillWithScalar((PyArrayObject *)value, number) < 0) {
        Py_CLEAR(value);
    }
    PyErr_Clear(); /* told elsewhere, in our words */
    return value == NULL ? NULL : zero_d(known_array(value, NULL));
}

/* Return the array that a call makes of a plain shape; see `call_make`. */
static PyObject *
make(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    int takes_value = ((Fast *)self)->fills == 'f', most = takes_value ? 3 : 2;
    PyObject *found, *dtype = Py_None, *number = NULL;
    if (is_watched() || n == 0 || n > most) {
        return call_whole(self, args, nargsf, names);
    }
    for (Py_ssize_t i = 1; i < n + keywords; i++) {
        PyObject *name = i < n ? NULL : PyTuple_GET_ITEM(names, i - n);
        if (name == NULL ? i == most - 1 : is_named(name, "dtype")) {
            dtype = args[i];
        }
        else if (takes_value && (name == NULL || is_named(name, "fill_value"))) {
            number = args[i];
        }
        else if (!(is_named(name, "device") && is_cpu(args[i])) && args[i] != Py_None) {
            return call_whole(self, args, nargsf, names);
        }
    }
    if (takes_value && number == NULL) {
        return NULL;
    }
    if (!takes_value) {
        number = ((Fast *)self)->fills == 'o' ? one : zero;
        dtype = dtype == Py_None ? (PyObject *)double_dtype : dtype;
    }
    if (tiny() > 0 && (found = little_full_of(args[0], number, dtype)) != NULL) {
        return found;
    }
    found = call_whole(self, args, nargsf, names);
    return found != NULL || PyErr_Occurred() ? found : full_of(args[0], Py_NewRef(number), dtype);
}

/* zeros(shape, dtype=None, order="C", device=None, like=None), and so on; of little, NumPy makes the elements */
static PyObject *
call_make(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t all = PyVectorcall_NARGS(nargsf) + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *given[MOST], *shape, *found;
    if (PyVectorcall_NARGS(nargsf) == 0 || all > MOST || is_watched() || (shape = counts_in(args[0])) == NULL) {
        return NULL;
    }
    memcpy(given, args, sizeof(PyObject *) * (size_t)all);
    given[0] = shape;
    found = make(self, given, nargsf, names);
    Py_DECREF(shape);
    return found;
}
