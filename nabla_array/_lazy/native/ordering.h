/* Stable orders of numbers, found as NumPy finds orders that need not be: with vector instructions, in a quarter of the
 * time. Then the places of equal elements are sorted. `stable_argsort` in Python is the meaning.
 */

/* Sorted runs in a row up to which NumPy's stable way is the shorter one, which merges them; and equal elements up to which
 * their places are sorted by insertion.
 */
enum { MOST_RUNS = 16, FEW_EQUAL = 32 };

/* Sort places from a start on; returns -1 for an error. */
static int
sort_places(PyArrayObject *order, npy_intp *start, npy_intp n)
{
    PyObject *part;
    int failed;
    if (n > FEW_EQUAL) {
        part = PyArray_SimpleNewFromData(1, &n, NPY_INTP, start);
        failed = part == NULL || PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(order)) < 0 ||
                 PyArray_Sort((PyArrayObject *)part, 0, NPY_QUICKSORT) < 0;
        Py_XDECREF(part);
        return failed ? -1 : 0;
    }
    for (npy_intp i = 1; i < n; i++) {
        npy_intp place = start[i], k = i;
        for (; k > 0 && start[k - 1] > place; k--) {
            start[k] = start[k - 1];
        }
        start[k] = place;
    }
    return 0;
}

/* Count where a row goes down, up to many times; and sort the places of equal elements in a row's order. */
#define FOR_ORDER(type, is_same)                                                                                            \
    static npy_intp count_falls_##type(const type *x, npy_intp n, npy_intp most)                                            \
    {                                                                                                                       \
        npy_intp many = 0;                                                                                                  \
        for (npy_intp i = 1; i < n && many < most; i++) {                                                                   \
            many += x[i] < x[i - 1];                                                                                        \
        }                                                                                                                   \
        return many;                                                                                                        \
    }                                                                                                                       \
    static int settle_##type(PyArrayObject *order, const type *x, npy_intp *places, npy_intp n)                             \
    {                                                                                                                       \
        npy_intp begin = 0;                                                                                                 \
        type before = x[places[0]];                                                                                         \
        for (npy_intp i = 1; i <= n; i++) {                                                                                 \
            type now = i < n ? x[places[i]] : before;                                                                       \
            if (i == n || !(is_same)) {                                                                                     \
                if (i - begin > 1 && sort_places(order, places + begin, i - begin) < 0) {                                   \
                    return -1;                                                                                              \
                }                                                                                                           \
                begin = i;                                                                                                  \
            }                                                                                                               \
            before = now;                                                                                                   \
        }                                                                                                                   \
        return 0;                                                                                                           \
    }
FOR_ORDER(npy_double, now == before || (now != now && before != before))
FOR_ORDER(npy_float, now == before || (now != now && before != before))
FOR_ORDER(npy_int64, now == before)
FOR_ORDER(npy_int32, now == before)
FOR_ORDER(npy_uint64, now == before)
FOR_ORDER(npy_uint32, now == before)
#undef FOR_ORDER

/* Do what is said for numbers of the kind and size of an array's. */
#define BY_NUMBERS(kind, size, DO, OTHERWISE)                                                                               \
    ((kind) == 'f' && (size) == 8   ? DO(npy_double)                                                                        \
     : (kind) == 'f' && (size) == 4 ? DO(npy_float)                                                                         \
     : (kind) == 'i' && (size) == 8 ? DO(npy_int64)                                                                         \
     : (kind) == 'i' && (size) == 4 ? DO(npy_int32)                                                                         \
     : (kind) == 'u' && (size) == 8 ? DO(npy_uint64)                                                                        \
     : (kind) == 'u' && (size) == 4 ? DO(npy_uint32)                                                                        \
                                    : (OTHERWISE))

/* stable_order(x): the stable order along the last axis; None where NumPy's own stable way is the shorter one */
static PyObject *
stable_order(PyObject *module, PyObject *arg)
{
    PyArrayObject *x = (PyArrayObject *)arg, *order;
    npy_intp n, rows, falls = 0, most;
    char kind;
    int size;
    if (!PyArray_CheckExact(arg) || PyArray_NDIM(x) == 0 || PyArray_SIZE(x) == 0 || !PyArray_ISCARRAY_RO(x)) {
        Py_RETURN_NONE;
    }
    kind = PyArray_DESCR(x)->kind;
    size = (int)PyArray_ITEMSIZE(x);
    n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    rows = PyArray_SIZE(x) / n;
    most = MOST_RUNS * rows;
    for (npy_intp row = 0; row < rows && falls < most; row++) {
#define FALLS(type) count_falls_##type((const type *)PyArray_DATA(x) + row * n, n, most - falls)
        falls += BY_NUMBERS(kind, size, FALLS, 0);
#undef FALLS
    }
    if (falls < most) {
        Py_RETURN_NONE;
    }
    if ((order = (PyArrayObject *)PyArray_ArgSort(x, PyArray_NDIM(x) - 1, NPY_QUICKSORT)) == NULL) {
        return NULL;
    }
    for (npy_intp row = 0; row < rows; row++) {
        npy_intp *places = (npy_intp *)PyArray_DATA(order) + row * n;
#define SETTLED(type) settle_##type(order, (const type *)PyArray_DATA(x) + row * n, places, n)
        if (BY_NUMBERS(kind, size, SETTLED, 0) < 0) {
            Py_DECREF(order);
            return NULL;
        }
#undef SETTLED
    }
    return (PyObject *)order;
}
