/* What Python asks of an array's elements: bool(x), float(x), repr(x) and the like, x.item() and x.tolist(). */

/* Return what NumPy's scalar of one element gives; NULL, without an error, where the package must say what is wrong. */
static PyObject *
of_scalar(char kind, PyArrayObject *value, PyObject *const *args, Py_ssize_t n)
{
    PyObject *number = PyArray_Scalar(PyArray_DATA(value), PyArray_DESCR(value), (PyObject *)value), *out = NULL;
    Py_hash_t hash;
    if (number != NULL && n == 1 + (kind == 'F')) {
        switch (kind) {
        case 'h': out = (hash = PyObject_Hash(number)) == -1 ? NULL : PyLong_FromSsize_t(hash); break;
        case 's': out = PyObject_Str(number); break;
        case 'r': out = PyObject_Repr(number); break;
        case 'c': out = PyObject_CallOneArg((PyObject *)&PyComplex_Type, number); break;
        default: out = PyObject_Format(number, args[1]);
        }
    }
    Py_XDECREF(number);
    PyErr_Clear();
    return out;
}

/* Return what Python's bool, float, int or index is for a float64 or an int64; NULL, without an error, for other questions. */
static inline PyObject *
of_usual(char kind, PyArrayObject *value, int type)
{
    if (type == NPY_LONG) {
        npy_long number = *(npy_long *)PyArray_DATA(value);
        return kind == 'i' || kind == 'x' ? PyLong_FromLong(number)
               : kind == 'b'              ? PyBool_FromLong(number != 0)
               : kind == 'f'              ? PyFloat_FromDouble((double)number)
                                          : NULL;
    }
    if (type == NPY_DOUBLE) {
        double number = *(double *)PyArray_DATA(value);
        return kind == 'f' ? PyFloat_FromDouble(number) : kind == 'b' ? PyBool_FromLong(number != 0) : NULL;
    }
    return NULL;
}

/* bool(x), float(x), int(x), operator.index(x), complex(x), hash(x), str(x), repr(x), format(x, spec) of one element */
static PyObject *
call_scalar(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyArrayObject *value;
    Fast *f = (Fast *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if ((n == 1 || n == 2) && names == NULL && IS_ARRAY(args[0]) && !is_watched() && (value = fresh(args[0])) != NULL &&
        PyArray_NDIM(value) == 0) {
        int type = PyArray_DESCR(value)->type_num;
        PyObject *number, *out = NULL;
        if (type == NPY_BOOL && f->kind == 'b') { /* one byte, aligned anyway */
            return PyBool_FromLong(*(npy_bool *)PyArray_DATA(value));
        }
        if (n == 1 && PyArray_ISBEHAVED_RO(value) && (out = of_usual(f->kind, value, type)) != NULL) {
            return out;
        }
        if (strchr("hsrcF", f->kind) != NULL) {
            int is_asked_for_kind = f->kind == 'h' || f->kind == 'r'; /* of which a scalar gives another answer */
            return is_asked_for_kind && !is_scalar(args[0]) ? NULL : of_scalar(f->kind, value, args, n);
        }
        if (n != 1) {
            return NULL;
        }
        if (PyTypeNum_ISINTEGER(type) || type == NPY_DOUBLE || type == NPY_FLOAT) {
            number = PyArray_GETITEM(value, PyArray_BYTES(value));
            if (number != NULL && (PyLong_CheckExact(number) || f->kind != 'x')) {
                out = f->kind == 'b'   ? PyBool_FromLong(PyObject_IsTrue(number))
                      : f->kind == 'f' ? PyNumber_Float(number)
                                       : PyNumber_Long(number);
            }
            Py_XDECREF(number);
            PyErr_Clear(); /* told elsewhere, in our words */
            return out;
        }
    }
    return NULL;
}

/* x.item() of one element, x.tolist() */
static PyObject *
call_python(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyArrayObject *value;
    PyObject *found;
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL || !IS_ARRAY(args[0]) || is_watched() ||
        (value = fresh(args[0])) == NULL || (((Fast *)self)->kind == 'i' && PyArray_SIZE(value) != 1)) {
        return NULL;
    }
    Py_INCREF(value); /* to make a list may run anything */
    found = ((Fast *)self)->kind == 'i' ? PyArray_GETITEM(value, PyArray_BYTES(value)) : PyArray_ToList(value);
    Py_DECREF(value);
    return found;
}
