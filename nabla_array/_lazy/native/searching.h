/* Places of numbers among sorted ones, and values between samples: `numpy.searchsorted` and `numpy.interp` are the meaning.
 *
 * NumPy searches for one number after the other, and each comparison is a branch that the processor has to guess. Here a few
 * numbers are searched for in step, without branches: a quarter to a tenth of the time. Keys that are not sorted are left to
 * NumPy, whose answer for them depends on the order in which it looks.
 */

/* Numbers that are searched for in step, and how many keys there may be for each number, so that looking whether they are sorted
 * takes less than searching.
 */
enum { IN_STEP = 16, KEYS_FOR_ONE = 16 };

/* For each type: count the keys before the nan at the end, or return -1 where they are not sorted; say whether so many keys
 * come before each of IN_STEP numbers, or of every few of them; find how many do, which are often as many as before the last
 * number of the step before; and do that for many numbers, nan among them.
 */
#define FOR_SEARCH(type, is_nan)                                                                                            \
    static npy_intp count_sorted_##type(const type *keys, npy_intp n)                                                       \
    {                                                                                                                       \
        npy_intp known = 0, falls = 0;                                                                                      \
        type key;                                                                                                           \
        for (npy_intp i = 1; i < n; i++) {                                                                                  \
            falls += keys[i] < keys[i - 1];                                                                                 \
        }                                                                                                                   \
        for (known = n; known > 0 && (key = keys[known - 1], is_nan); known--) {                                            \
        }                                                                                                                   \
        for (npy_intp i = 0; i < known; i++) {                                                                              \
            key = keys[i];                                                                                                  \
            falls += (is_nan);                                                                                              \
        }                                                                                                                   \
        return falls ? -1 : known;                                                                                          \
    }                                                                                                                       \
    static int are_there_##type(const type *keys, npy_intp known, const type *x, int step, int is_right, npy_intp k)        \
    {                                                                                                                       \
        int there = 1;                                                                                                      \
        if (k > 0) {                                                                                                        \
            type low = keys[k - 1];                                                                                         \
            for (int w = 0; w < IN_STEP; w += step) {                                                                       \
                there &= is_right ? low <= x[w] : low < x[w];                                                               \
            }                                                                                                               \
        }                                                                                                                   \
        if (k < known) {                                                                                                    \
            type high = keys[k];                                                                                            \
            for (int w = 0; w < IN_STEP; w += step) {                                                                       \
                there &= is_right ? x[w] < high : x[w] <= high;                                                             \
            }                                                                                                               \
        }                                                                                                                   \
        return there;                                                                                                       \
    }                                                                                                                       \
    static int step_##type(const type *keys, npy_intp known, const type *x, int is_right, npy_intp *found)                  \
    {                                                                                                                       \
        npy_intp length = known, last = found[IN_STEP - 1];                                                                 \
        int is_there = are_there_##type(keys, known, x, IN_STEP - 1, is_right, last) &&                                     \
                       are_there_##type(keys, known, x, 1, is_right, last);                                                 \
        for (int w = 0; w < IN_STEP; w++) {                                                                                 \
            found[w] = is_there ? last : 0;                                                                                 \
        }                                                                                                                   \
        while (length > 1 && !is_there) {                                                                                   \
            npy_intp half = length / 2;                                                                                     \
            const type *middle = keys + half - 1;                                                                           \
            if (is_right) {                                                                                                 \
                for (int w = 0; w < IN_STEP; w++) {                                                                         \
                    found[w] += half & -(npy_intp)(middle[found[w]] <= x[w]);                                               \
                }                                                                                                           \
            }                                                                                                               \
            else {                                                                                                          \
                for (int w = 0; w < IN_STEP; w++) {                                                                         \
                    found[w] += half & -(npy_intp)(middle[found[w]] < x[w]);                                                \
                }                                                                                                           \
            }                                                                                                               \
            length -= half;                                                                                                 \
        }                                                                                                                   \
        for (int w = 0; w < IN_STEP && known > 0 && !is_there; w++) {                                                       \
            found[w] += is_right ? keys[found[w]] <= x[w] : keys[found[w]] < x[w];                                          \
        }                                                                                                                   \
        return is_there;                                                                                                    \
    }                                                                                                                       \
    static void search_##type(const type *keys, npy_intp n, npy_intp known, const type *x, npy_intp many, int is_right,     \
                              npy_intp *out)                                                                                \
    {                                                                                                                       \
        npy_intp found[IN_STEP] = {0};                                                                                      \
        for (npy_intp i = 0; i < many; i += IN_STEP) {                                                                      \
            npy_intp some = many - i < IN_STEP ? many - i : IN_STEP;                                        \
            type sought[IN_STEP] = {0};                                                                                     \
            memcpy(sought, x + i, (size_t)some * sizeof(type));                                                             \
            step_##type(keys, known, sought, is_right, found);                                                              \
            for (npy_intp w = 0; w < some; w++) {                                                                           \
                type key = sought[w];                                                                                       \
                out[i + w] = (is_nan) ? (is_right ? n : known) : found[w];                                                  \
            }                                                                                                               \
        }                                                                                                                   \
    }
FOR_SEARCH(npy_double, key != key)
FOR_SEARCH(npy_float, key != key)
FOR_SEARCH(npy_int64, ((void)key, 0))
FOR_SEARCH(npy_int32, ((void)key, 0))
FOR_SEARCH(npy_uint64, ((void)key, 0))
FOR_SEARCH(npy_uint32, ((void)key, 0))
#undef FOR_SEARCH

/* search(keys, x, is_right): where numbers of the same dtype would go into sorted ones; None where NumPy is to be asked */
static PyObject *
search(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    PyArrayObject *keys, *x, *out;
    npy_intp n, many, known;
    char kind;
    int size, is_right;
    if (n_args != 3 || !PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "search: needs sorted keys, numbers to search for, and whether on the right");
        return NULL;
    }
    keys = (PyArrayObject *)args[0];
    x = (PyArrayObject *)args[1];
    kind = PyArray_DESCR(x)->kind;
    size = (int)PyArray_ITEMSIZE(x);
    n = PyArray_SIZE(keys);
    many = PyArray_SIZE(x);
    if (!is_line(args[0], kind, size) || !PyArray_ISCARRAY_RO(x) || n / KEYS_FOR_ONE > many) {
        Py_RETURN_NONE;
    }
    if ((is_right = PyObject_IsTrue(args[2])) < 0) {
        return NULL;
    }
#define SORTED(type) count_sorted_##type((const type *)PyArray_DATA(keys), n)
    known = BY_NUMBERS(kind, size, SORTED, -1);
#undef SORTED
    if (known < 0) {
        Py_RETURN_NONE;
    }
    if ((out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INTP)) == NULL) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(many);
#define FOUND(type)                                                                                                         \
    (search_##type((const type *)PyArray_DATA(keys), n, known, (const type *)PyArray_DATA(x), many, is_right,               \
                   (npy_intp *)PyArray_DATA(out)),                                                                          \
     0)
    (void)BY_NUMBERS(kind, size, FOUND, 0);
#undef FOUND
    NPY_END_THREADS;
    return (PyObject *)out;
}

/* Samples that values are found between: n sorted places, the values there and the slopes from there on, and what is before
 * and after them.
 */
struct samples {
    const double *at, *values, *slopes;
    double left, right;
    npy_intp n;
};

/* Return a value between samples as NumPy computes it; `k` samples are at its place or before. */
static double
value_between(const struct samples *given, double x, npy_intp k)
{
    const double *at = given->at + k - 1, *values = given->values + k - 1;
    double found;
    if (npy_isnan(x)) {
        return x;
    }
    if (k == 0) {
        return given->left;
    }
    if (x > given->at[given->n - 1]) {
        return given->right;
    }
    if (k == given->n || *at == x) {
        return *values;
    }
    found = given->slopes[k - 1] * (x - *at) + *values;
    if (npy_isnan(found)) { /* one of them is infinite */
        found = given->slopes[k - 1] * (x - at[1]) + values[1];
        if (npy_isnan(found) && *values == values[1]) {
            found = *values;
        }
    }
    return found;
}

/* Write the values at so many places. Those of a step that all are between two samples have the same slope. */
static void
values_between(const struct samples *given, const double *x, npy_intp many, double *out)
{
    npy_intp found[IN_STEP] = {0};
    for (npy_intp i = 0; i < many; i += IN_STEP) {
        npy_intp some = many - i < IN_STEP ? many - i : IN_STEP, k;
        double part[IN_STEP] = {0};
        memcpy(part, x + i, (size_t)some * sizeof(double));
        if (step_npy_double(given->at, given->n, part, 1, found) && (k = found[0]) > 0 && k < given->n && some == IN_STEP &&
            npy_isfinite(given->slopes[k - 1])) {
            double at = given->at[k - 1], value = given->values[k - 1], slope = given->slopes[k - 1];
            int are_inside = 1;
            for (int w = 0; w < IN_STEP; w++) {
                are_inside &= part[w] > at;
                out[i + w] = slope * (part[w] - at) + value;
            }
            if (are_inside) {
                continue;
            }
        }
        for (npy_intp w = 0; w < some; w++) {
            out[i + w] = value_between(given, part[w], found[w]);
        }
    }
}

/* Return an operand as a line of doubles; NULL, without an error, for what are no real numbers on one axis. */
static PyArrayObject *
line_of_doubles(PyObject *x)
{
    if (!PyArray_CheckExact(x) || PyArray_NDIM((PyArrayObject *)x) != 1 ||
        strchr("fiub", PyArray_DESCR((PyArrayObject *)x)->kind) == NULL || PyArray_ITEMSIZE((PyArrayObject *)x) > 8) {
        return NULL;
    }
    return (PyArrayObject *)PyArray_FROMANY(x, NPY_DOUBLE, 1, 1, NPY_ARRAY_CARRAY_RO);
}

/* Take what is before or after all samples; returns 0 for what is no number of Python's. */
static int
take_end(PyObject *given, double *end)
{
    if (given == Py_None) {
        return 1;
    }
    if (!PyFloat_CheckExact(given) && !PyLong_CheckExact(given)) {
        return 0;
    }
    *end = PyFloat_AsDouble(given);
    if (*end == -1 && PyErr_Occurred()) {
        PyErr_Clear(); /* an integer that no double holds */
        return 0;
    }
    return 1;
}

/* interpolate(x, at, values, left, right): values of doubles between samples at sorted places, and before and after them, where
 * None means those of the outermost samples; None where NumPy is to be asked
 */
static PyObject *
interpolate(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    PyArrayObject *x, *at = NULL, *values = NULL, *out = NULL;
    double *slopes = NULL;
    npy_intp many;
    if (n_args != 5 || !PyArray_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "interpolate: needs places, those of samples, these, and what is before and after them");
        return NULL;
    }
    x = (PyArrayObject *)args[0];
    many = PyArray_SIZE(x);
    if (PyArray_TYPE(x) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(x) || (at = line_of_doubles(args[1])) == NULL ||
        (values = line_of_doubles(args[2])) == NULL) {
        goto end;
    }
    struct samples given = {.at = PyArray_DATA(at), .values = PyArray_DATA(values), .n = PyArray_SIZE(at)};
    if (given.n < 2 || given.n > many || PyArray_SIZE(values) != given.n ||
        count_sorted_npy_double(given.at, given.n) != given.n) {
        goto end;
    }
    given.left = given.values[0];
    given.right = given.values[given.n - 1];
    if (!take_end(args[3], &given.left) || !take_end(args[4], &given.right)) {
        goto end;
    }
    if ((slopes = PyMem_Malloc((size_t)given.n * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    if ((out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_DOUBLE)) == NULL) {
        goto end;
    }
    given.slopes = slopes;
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(many);
    for (npy_intp i = 0; i < given.n - 1; i++) {
        slopes[i] = (given.values[i + 1] - given.values[i]) / (given.at[i + 1] - given.at[i]);
    }
    values_between(&given, PyArray_DATA(x), many, PyArray_DATA(out));
    NPY_END_THREADS;
end:
    Py_XDECREF(at);
    Py_XDECREF(values);
    PyMem_Free(slopes);
    if (out == NULL && !PyErr_Occurred()) {
        Py_RETURN_NONE;
    }
    return (PyObject *)out;
}
