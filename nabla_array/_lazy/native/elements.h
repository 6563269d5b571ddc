/* Ufuncs on one element, or on few: NumPy's own call of a loop takes longer than the loop. */

/* Return the square of a complex number but 0, as `power_of` does; NULL for other powers, which are not so simple. */
static PyObject *
complex_power_of(const double *x, const double *y)
{
    double out[2] = {x[0] * x[0] - x[1] * x[1], x[0] * x[1] + x[1] * x[0]};
    int is_square = y[0] == 2 && y[1] == 0 && (x[0] != 0 || x[1] != 0);
    return is_square && isfinite(out[0]) && isfinite(out[1]) ? known_number(complex_dtype, out, NULL) : NULL;
}

/* Return the power of one floating-point number, as NumPy computes it; NULL, without an error, where it tells of it. */
static PyObject *
power_of(PyArray_Descr *dtype, const void *x, const void *y, PyObject *aval)
{
    if (dtype == complex_dtype) {
        return complex_power_of(x, y);
    }
    int is_double = dtype->type_num == NPY_DOUBLE;
    double p = is_double ? *(const double *)x : *(const float *)x, q = is_double ? *(const double *)y : *(const float *)y;
    double out = is_double ? pow(p, q) : powf((float)p, (float)q);
    float narrow = (float)out;
    if (!isfinite(out) && !(isinf(p) && isfinite(q))) { /* NumPy's arrays take a root for 0.5: of -inf that is nan */
        return NULL;
    }
    return known_number(dtype, is_double ? (void *)&out : &narrow, aval);
}

/* Comparisons of one element with another: NumPy's loops take care of faults, which nobody is told of here. */
#define COMPARE(name, type, how)                                                                                     \
    static void name(char **data, npy_intp const *n, npy_intp const *strides, void *unused)                          \
    {                                                                                                                \
        *(npy_bool *)data[2] = *(const type *)data[0] how *(const type *)data[1];                                    \
    }
#define COMPARISON(name, how) COMPARE(name##_doubles, double, how) COMPARE(name##_longs, npy_long, how)
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)

/* What takes one element, without NumPy's look at the processor's flags. */
static void
negative_doubles(char **data, npy_intp const *n, npy_intp const *strides, void *unused)
{
    *(double *)data[1] = -*(const double *)data[0];
}

static void
absolute_doubles(char **data, npy_intp const *n, npy_intp const *strides, void *unused)
{
    *(double *)data[1] = fabs(*(const double *)data[0]);
}

static const struct {
    const char *name;
    PyUFuncGenericFunction doubles, longs;
} loops_for_one[] = {
    {"negative", negative_doubles, NULL},        {"absolute", absolute_doubles, NULL},
    {"less", less_doubles, less_longs},          {"less_equal", less_equal_doubles, less_equal_longs},
    {"greater", greater_doubles, greater_longs}, {"greater_equal", greater_equal_doubles, greater_equal_longs},
    {"equal", equal_doubles, equal_longs},       {"not_equal", not_equal_doubles, not_equal_longs},
};

/* Return the loop for one element of a ufunc: `loop`, or ours if there is one. */
static PyUFuncGenericFunction
loop_for_one(const char *name, int type, PyUFuncGenericFunction loop)
{
    for (size_t i = 0; i < sizeof(loops_for_one) / sizeof(loops_for_one[0]); i++) {
        if (strcmp(name, loops_for_one[i].name) == 0) {
            PyUFuncGenericFunction own = type == NPY_DOUBLE ? loops_for_one[i].doubles
                                         : type == NPY_LONG ? loops_for_one[i].longs
                                                            : NULL;
            return own != NULL ? own : loop;
        }
    }
    return loop;
}

/* Return what a ufunc does to elements of a dtype; NULL if it has no loop for that. */
static inline Few *
few_for(Fast *f, int type)
{
    Few *few = &f->few[type == NPY_DOUBLE ? DOUBLES : type == NPY_LONG ? LONGS : OTHERS];
    if (few->type != type) {
        int is_looked_at = type <= NPY_DOUBLE; /* by `are_finite`, which knows no other floats, nor complex numbers */
        PyUFuncObject *ufunc = f->is_ufunc ? (PyUFuncObject *)f->host : is_looked_at ? f->plain : NULL;
        few->step.many = 0;
        if (ufunc != NULL && (f->op != POW || PyTypeNum_ISINTEGER(type)) && !ufunc->core_enabled &&
            ufunc->nin == f->nin && ufunc->nout == 1 && type < 64 && !set_loop(&few->step, ufunc, type)) {
            few->step.many = 0;
        }
        if (few->step.many != 0) {
            few->one = loop_for_one(ufunc->name, type, few->step.loop);
            few->step.is_quiet |= PyTypeNum_ISINTEGER(few->step.result) && f->op == OTHER; /* only quotients have faults */
        }
        few->type = type;
    }
    return few->step.many != 0 ? few : NULL;
}

/* Run a loop; returns the faults to be told of, as <fenv.h> names them. */
static int
run_step(Fast *f, Few *few, char **data, npy_intp n, npy_intp *strides)
{
    int found;
    take_faults();
    few->step.loop(data, &n, strides, few->step.data);
    found = take_faults();
    if (f->op == DIVIDE && PyTypeNum_ISINTEGER(few->step.result) && fetestexcept(FE_OVERFLOW)) {
        feclearexcept(FE_OVERFLOW);
        found |= FE_OVERFLOW; /* of the least integer by -1: libm sets it where SSE's flags, which are taken, are not */
    }
    return found && !few->step.is_quiet && are_wanted(found) ? found : 0;
}

/* Run a loop for one element; returns 0 if there is a fault to be told of. Where the result is finite, or a truth value,
 * there is none but underflow, so that none is looked for: that takes longer than most loops.
 */
static int
run_element(Fast *f, Few *few, char **data, npy_intp *strides)
{
    npy_intp n = 1;
    const char *out = data[f->nin];
    int type = few->step.result;
    if (few->step.is_quiet || ((type == NPY_DOUBLE || type == NPY_FLOAT) && !hears_underflow())) {
        few->one(data, &n, strides, few->step.data);
        if (few->step.is_quiet ||
            (type == NPY_DOUBLE ? isfinite(*(const double *)out) : isfinite(*(const float *)out))) {
            return 1;
        }
    }
    return run_step(f, few, data, 1, strides) == 0;
}

/* Say whether elements are finite. */
static inline int
are_finite(int type, const char *data, npy_intp n, npy_intp stride)
{
    int all = 1;
    for (; (type == NPY_DOUBLE || type == NPY_FLOAT) && n > 0 && all; n--, data += stride) {
        all = type == NPY_DOUBLE ? isfinite(*(const double *)data) : isfinite(*(const float *)data);
    }
    return all;
}

/* Say whether an integer is negative, of which NumPy makes no exponent. */
static inline int
is_negative(int type, const char *data)
{
    switch (type) {
    case NPY_INT8: return *(const npy_int8 *)data < 0;
    case NPY_INT16: return *(const npy_int16 *)data < 0;
    case NPY_INT32: return *(const npy_int32 *)data < 0;
    case NPY_INT64: return *(const npy_int64 *)data < 0;
    default: return !PyTypeNum_ISUNSIGNED(type);
    }
}

/* Let `*data`, which is the memory for one element of a dtype, be that of an array without axes, or write a number there;
 * returns 0 where that is not so simple.
 */
static inline int
place_element(PyArray_Descr *dtype, PyObject *number, PyArrayObject *array, char **data)
{
    if (array == NULL && dtype->type_num == NPY_BOOL) {
        *(npy_bool *)*data = number == Py_True;
        return PyBool_Check(number);
    }
    if (array == NULL) {
        return store_number(dtype->type_num, number, *data);
    }
    if (!PyArray_ISBEHAVED_RO(array)) {
        return 0;
    }
    if (PyArray_DESCR(array) == dtype) {
        *data = PyArray_BYTES(array);
        return 1;
    }
    if (PyArray_DESCR(array)->type_num == NPY_BOOL && dtype == integer_dtype) {
        *(npy_intp *)*data = *(npy_bool *)PyArray_DATA(array);
        return 1;
    }
    if ((dtype != double_dtype && dtype != complex_dtype) || PyArray_DESCR(array)->type_num > NPY_DOUBLE) {
        return 0;
    }
    ((double *)*data)[dtype == complex_dtype] = 0;
    *(double *)*data = as_double(array);
    return 1;
}

/* Return what a ufunc gives for one element of a dtype, or for two; NULL, without an error, where that is not so simple,
 * or there is a fault to be told of. `a` and `b` are the elements, NULL for a number of Python's; `aval` is that of the
 * dtype, or NULL for doubles.
 */
static PyObject *
number_of(Fast *f, PyObject *x, PyArrayObject *a, PyObject *y, PyArrayObject *b, PyArray_Descr *dtype, PyObject *aval)
{
    PyObject *given[2] = {x, y};
    PyArrayObject *arrays[2] = {a, b};
    npy_uint64 numbers[3][2];
    npy_intp size = PyDataType_ELSIZE(dtype), strides[3] = {size, size, size};
    char *data[3] = {(char *)numbers[0], (char *)numbers[1], (char *)numbers[2]};
    int type = dtype->type_num, has_power = type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_CDOUBLE, result;
    int is_power = f->op == POW && has_power;
    Few *few = is_power ? NULL : few_for(f, type);
    if (!is_power && few == NULL) {
        return NULL;
    }
    for (int i = 0; i < f->nin; i++) {
        if (!place_element(dtype, given[i], arrays[i], &data[i])) {
            return NULL;
        }
    }
    if (is_power) {
        return power_of(dtype, data[0], data[1], aval);
    }
    if (f->op == POW && is_negative(type, data[1])) {
        return NULL;
    }
    for (int i = 0; !f->is_ufunc && i < f->nin; i++) {
        if (!are_finite(type, data[i], 1, 0)) {
            return NULL;
        }
    }
    result = few->step.result;
    if (result != type && result != NPY_BOOL && result != NPY_DOUBLE) {
        return NULL;
    }
    data[f->nin] = (char *)numbers[2];
    strides[f->nin] = result == type ? size : result == NPY_BOOL ? 1 : (npy_intp)sizeof(double);
    if (!run_element(f, few, data, strides)) {
        return NULL;
    }
    return result == type ? known_number(dtype, numbers[2], aval)
                          : known_number(result == NPY_BOOL ? truth_dtype : double_dtype, numbers[2], NULL);
}

/* Return what a ufunc gives for few elements of one dtype, in a row, or for those and one more; NULL, without an error,
 * where that is not so simple. `m` and `n` are the nodes of `a` and `b`, which are NULL for a number of Python's. Faults
 * are noted, unless they are those of another function than the operator's, or this thread has an error state.
 */
static PyObject *
few_of(Fast *f, PyObject *x, PyArrayObject *a, PyObject *m, PyObject *y, PyArrayObject *b, PyObject *n)
{
    PyArrayObject *many = a != NULL && PyArray_NDIM(a) > 0 ? a : b, *arrays[2] = {a, b};
    PyObject *given[2] = {x, y}, *aval = SLOT(many == a ? m : n, n_aval), *value;
    PyArray_Descr *dtype = PyArray_DESCR(many);
    npy_uint64 numbers[2][2];
    npy_intp strides[3] = {0, 0, 0};
    char *data[3];
    int type = dtype->type_num, ndim = PyArray_NDIM(many), result, seen;
    Few *few;
    if ((npy_uintp)PyArray_NBYTES(many) >= (npy_uintp)tiny() || !is_usual(f, many) || (few = few_for(f, type)) == NULL) {
        return NULL;
    }
    for (int i = 0; i < f->nin; i++) {
        PyArrayObject *array = arrays[i];
        int is_one = array == NULL || PyArray_NDIM(array) == 0;
        data[i] = (char *)numbers[i];
        if (is_one) {
            if (!place_element(dtype, given[i], array, &data[i])) {
                return NULL;
            }
        }
        else if (PyArray_DESCR(array) == dtype && PyArray_ISBEHAVED_RO(array) && SLOT(i == 0 ? m : n, n_aval) == aval &&
                 (ndim == 1 || PyArray_IS_C_CONTIGUOUS(array))) {
            data[i] = PyArray_BYTES(array);
            strides[i] = ndim == 1 ? PyArray_STRIDE(array, 0) : PyArray_ITEMSIZE(array);
        }
        else {
            return NULL;
        }
        if (!f->is_ufunc && !are_finite(type, data[i], is_one ? 1 : PyArray_SIZE(many), strides[i])) {
            return NULL;
        }
    }
    result = few->step.result;
    if (result != type && result != NPY_BOOL && result != NPY_DOUBLE) {
        return NULL;
    }
    dtype = result == type ? dtype : result == NPY_BOOL ? truth_dtype : double_dtype;
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, PyArray_DIMS(many), NULL, NULL, 0, NULL);
    if (value == NULL) {
        return NULL;
    }
    data[f->nin] = PyArray_BYTES((PyArrayObject *)value);
    strides[f->nin] = PyDataType_ELSIZE(dtype);
    seen = run_step(f, few, data, PyArray_SIZE(many), strides);
    if (seen && (!f->is_ufunc || f->prim == Py_None || own_state.context != NULL)) {
        Py_DECREF(value);
        return NULL;
    }
    value = result == type ? known(value, Py_NewRef(aval)) : known_array(value, NULL);
    if (seen && value != NULL) {
        note_faults_of(f->prim, NULL, SLOT(NODE(value), n_aval), seen);
    }
    return value;
}
