/* Stable orders of numbers, found as NumPy finds orders that need not be: with vector instructions, in a quarter of the
 * time. Then the places of equal elements are sorted. `stable_argsort` in Python is the meaning. And what merges lines that
 * threads have sorted: a stable sort of both is the meaning.
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

/* Put one of two elements, as their bits, in a place, and one of two that go with them; no branch is to be guessed. */
#define PUT(bits, place, first, second, is_second)                                                                          \
    do {                                                                                                                    \
        bits u, v;                                                                                                          \
        memcpy(&u, (first), sizeof(bits));                                                                                  \
        memcpy(&v, (second), sizeof(bits));                                                                                 \
        u ^= (u ^ v) & ((bits)0 - (bits)(is_second));                                                                       \
        memcpy((place), &u, sizeof(bits));                                                                                  \
    } while (0)

/* Merge two sorted lines, and what goes with their elements where there is any; of equal elements those of the first come
 * first, and nan come last. It begins at both ends: neither waits for the other's comparisons.
 */
#define FOR_MERGE(type, bits, is_before)                                                                                    \
    static void merge_##type(const type *a, npy_intp n_a, const type *b, npy_intp n_b, type *out, const npy_intp *with_a,   \
                             const npy_intp *with_b, npy_intp *with_out)                                                    \
    {                                                                                                                       \
        npy_intp i = 0, j = 0, end_i = n_a, end_j = n_b;                                                                    \
        while (i < end_i && j < end_j) {                                                                                    \
            type x = a[i], y = b[j];                                                                                        \
            int second = (is_before);                                                                                       \
            PUT(bits, out + i + j, a + i, b + j, second);                                                                   \
            if (with_out != NULL) {                                                                                         \
                PUT(npy_uintp, with_out + i + j, with_a + i, with_b + j, second);                                           \
            }                                                                                                               \
            j += second;                                                                                                    \
            i += !second;                                                                                                   \
            if (i == end_i || j == end_j) {                                                                                 \
                break;                                                                                                      \
            }                                                                                                               \
            x = a[end_i - 1], y = b[end_j - 1];                                                                             \
            second = !(is_before);                                                                                          \
            PUT(bits, out + end_i + end_j - 1, a + end_i - 1, b + end_j - 1, second);                                       \
            if (with_out != NULL) {                                                                                         \
                PUT(npy_uintp, with_out + end_i + end_j - 1, with_a + end_i - 1, with_b + end_j - 1, second);               \
            }                                                                                                               \
            end_j -= second;                                                                                                \
            end_i -= !second;                                                                                               \
        }                                                                                                                   \
        memcpy(out + i + j, i < end_i ? a + i : b + j, (size_t)(end_i + end_j - i - j) * sizeof(type));                     \
        if (with_out != NULL) {                                                                                             \
            memcpy(with_out + i + j, i < end_i ? with_a + i : with_b + j,                                                   \
                   (size_t)(end_i + end_j - i - j) * sizeof(npy_intp));                                                     \
        }                                                                                                                   \
    }
FOR_MERGE(npy_double, npy_uint64, (y < x) | ((x != x) & (y == y)))
FOR_MERGE(npy_float, npy_uint32, (y < x) | ((x != x) & (y == y)))
FOR_MERGE(npy_int64, npy_uint64, y < x)
FOR_MERGE(npy_int32, npy_uint32, y < x)
FOR_MERGE(npy_uint64, npy_uint64, y < x)
FOR_MERGE(npy_uint32, npy_uint32, y < x)
#undef FOR_MERGE
#undef PUT

/* Say whether an argument is a line of elements of a dtype that lie one after the other. */
static int
is_line(PyObject *x, char kind, int size)
{
    PyArrayObject *line = (PyArrayObject *)x;
    return PyArray_CheckExact(x) && PyArray_NDIM(line) == 1 && PyArray_ISCARRAY_RO(line) &&
           PyArray_DESCR(line)->kind == kind && PyArray_ITEMSIZE(line) == size;
}

/* merge(a, b, out[, with_a, with_b, with_out]): write two sorted lines of numbers of one dtype to `out`, in order, and what
 * goes with each element, integers, to `with_out`. Other threads run meanwhile.
 */
static PyObject *
merge(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    PyArrayObject *lines[6] = {NULL};
    npy_intp sizes[6] = {0};
    void *data[6] = {NULL};
    char kind = 0;
    int size = 0, known = n_args == 3 || n_args == 6;
    for (int i = 0; i < n_args && known; i++) {
        if (i == 0 && PyArray_CheckExact(args[0])) {
            kind = PyArray_DESCR((PyArrayObject *)args[0])->kind;
            size = (int)PyArray_ITEMSIZE((PyArrayObject *)args[0]);
        }
        known = i < 3 ? is_line(args[i], kind, size) : is_line(args[i], 'i', (int)sizeof(npy_intp));
        if (known) {
            lines[i] = (PyArrayObject *)args[i];
            sizes[i] = PyArray_DIM(lines[i], 0);
            data[i] = PyArray_DATA(lines[i]);
        }
    }
#define KNOWN(type) 1
    known = known && sizes[2] == sizes[0] + sizes[1] && PyArray_ISWRITEABLE(lines[2]) && BY_NUMBERS(kind, size, KNOWN, 0);
#undef KNOWN
    if (known && n_args == 6) {
        known = sizes[3] == sizes[0] && sizes[4] == sizes[1] && sizes[5] == sizes[2] && PyArray_ISWRITEABLE(lines[5]);
    }
    if (!known) {
        PyErr_SetString(PyExc_TypeError, "merge: needs three lines of numbers of one dtype, the last as long as the "
                                         "others, and three of integers that go with these, or none");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
#define MERGED(type)                                                                                                        \
    (merge_##type((const type *)data[0], sizes[0], (const type *)data[1], sizes[1], (type *)data[2],                        \
                  (const npy_intp *)data[3], (const npy_intp *)data[4], (npy_intp *)data[5]),                               \
     0)
    (void)BY_NUMBERS(kind, size, MERGED, 0);
#undef MERGED
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
