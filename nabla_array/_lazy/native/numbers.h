/* Numbers: elements of arrays, and what Python has for them. */

enum op { POW, MATMUL, DIVIDE, OTHER }; /* the operators that are not like others here */

/* Say whether this is a list or a tuple, and of no derived class. */
static inline int
is_nested(PyObject *o)
{
    return PyList_CheckExact(o) || PyTuple_CheckExact(o);
}

/* Write a number of Python's as an element of a dtype; returns 0 for one that the dtype has not, or of which NumPy would
 * tell.
 */
static int
store_number(int type, PyObject *o, void *data)
{
    int is_real = PyFloat_CheckExact(o) || (type == NPY_DOUBLE && Py_TYPE(o) == &PyDoubleArrType_Type), overflow = 0;
    int is_numpys = Py_TYPE(o) == &PyLongArrType_Type && (type == NPY_DOUBLE || type == NPY_LONG);
    long long integer = 0;
    double real, *parts = data;
    if (type == NPY_CDOUBLE) {
        int is_complex = PyComplex_CheckExact(o) || Py_TYPE(o) == &PyCDoubleArrType_Type;
        parts[1] = is_complex ? PyComplex_ImagAsDouble(o) : 0;
        parts[0] = is_complex ? PyComplex_RealAsDouble(o) : 0;
        return is_complex || store_number(NPY_DOUBLE, o, data);
    }
    if (!is_real && !is_numpys && !PyLong_CheckExact(o) && !PyBool_Check(o)) {
        return 0;
    }
    if (!is_real) {
        integer = is_numpys ? PyArrayScalar_VAL(o, Long) : PyLong_AsLongLongAndOverflow(o, &overflow);
    }
    real = is_real ? PyFloat_AS_DOUBLE(o) : overflow && type == NPY_DOUBLE ? PyLong_AsDouble(o) : (double)integer;
    if (overflow && type == NPY_DOUBLE) {
        *(double *)data = real;
        PyErr_Clear(); /* one that no double comes near */
        return real != -1;
    }
    if (overflow || (is_real && type != NPY_DOUBLE && type != NPY_FLOAT)) {
        return 0;
    }
#define STORE_INTEGER(number, type)                                                                                  \
    case number:                                                                                                     \
        *(type *)data = (type)integer;                                                                               \
        return *(type *)data == integer && (*(type *)data < 0) == (integer < 0)
    switch (type) {
    case NPY_DOUBLE: *(double *)data = real; return 1;
    case NPY_FLOAT: /* a double of a larger integer may be rounded twice on the way to fewer bits */
        *(float *)data = (float)real;
        return isfinite((float)real) && integer > -(1 << 24) && integer < (1 << 24);
    case NPY_BOOL: *(npy_bool *)data = integer != 0; return 1;
    STORE_INTEGER(NPY_INT8, npy_int8);
    STORE_INTEGER(NPY_INT16, npy_int16);
    STORE_INTEGER(NPY_INT32, npy_int32);
    STORE_INTEGER(NPY_INT64, npy_int64);
    STORE_INTEGER(NPY_UINT8, npy_uint8);
    STORE_INTEGER(NPY_UINT16, npy_uint16);
    STORE_INTEGER(NPY_UINT32, npy_uint32);
    default: return 0;
    }
}

/* Return an element of an array without axes, of no dtype that is larger, as a double: what NumPy's cast makes of it. */
static inline double
as_double(PyArrayObject *a)
{
    const void *data = PyArray_DATA(a);
    switch (PyArray_DESCR(a)->type_num) {
    case NPY_BOOL: return *(const npy_bool *)data;
    case NPY_INT8: return *(const npy_int8 *)data;
    case NPY_INT16: return *(const npy_int16 *)data;
    case NPY_INT32: return *(const npy_int32 *)data;
    case NPY_UINT8: return *(const npy_uint8 *)data;
    case NPY_UINT16: return *(const npy_uint16 *)data;
    case NPY_UINT32: return *(const npy_uint32 *)data;
    case NPY_UINT64: return (double)*(const npy_uint64 *)data;
    case NPY_FLOAT: return *(const float *)data;
    case NPY_DOUBLE: return *(const double *)data;
    default: return (double)*(const npy_int64 *)data;
    }
}

/* Write a number of Python's, or an array's one element of this dtype, where `data` points; returns 0 where NumPy should
 * do it.
 */
static int
write_number(PyArray_Descr *dtype, void *data, PyObject *y, PyArrayObject *value)
{
    npy_uint64 kept[2];
    if (value == NULL && !store_number(dtype->type_num, y, kept)) {
        return 0;
    }
    if (value != NULL && (PyDataType_ELSIZE(dtype) > (npy_intp)sizeof(kept) || !PyArray_ISBEHAVED_RO(value) ||
                          !(PyTypeNum_ISNUMBER(dtype->type_num) || dtype->type_num == NPY_BOOL))) {
        return 0;
    }
    memcpy(data, value == NULL ? (void *)kept : PyArray_DATA(value), (size_t)PyDataType_ELSIZE(dtype));
    return 1;
}
