/* Reductions of what is known and not large, by the loops of NumPy's ufuncs: NumPy's bits, without the Python and the
 * iterators around them, which take longer than to add up a thousand numbers.
 */

/* What a function of NumPy's reduces by, and what it makes of that: a 'm'ean, a 'v'ariance, a 's'tandard deviation. */
typedef struct reduction {
    const char *name, *ufunc;
    char moment;
} Reduction;

static const Reduction reductions[] = {
    {"sum", "add", 0},        {"prod", "multiply", 0},    {"max", "maximum", 0}, {"min", "minimum", 0}, {"any", "logical_or", 0},
    {"all", "logical_and", 0}, {"mean", "add", 'm'}, {"var", "add", 'v'},     {"std", "add", 's'},
};

/* Say whether an array is pending, and nobody else has it. */
static inline int
is_own_pending(PyObject *x)
{
    PyObject *node = NODE(x);
    return has_loop(node) && Py_REFCNT(node) == 1 && Py_REFCNT(x) == 1;
}

/* Deviations that are made at a time: they stay in the nearest cache. */
enum { DEVIATIONS_AT_ONCE = 1 << 11 };

/* Return the reduction that a function does; NULL if it does none. */
static const Reduction *
reduction_of(const char *name)
{
    for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); i++) {
        if (strcmp(name, reductions[i].name) == 0) {
            return &reductions[i];
        }
    }
    return NULL;
}

/* Return the step that a reduction is for a dtype, made once; NULL, without an error, where that is none. */
static const Step *
step_of_reduction(const Reduction *r, PyArray_Descr *dtype)
{
    static Step steps[sizeof(reductions) / sizeof(reductions[0])][NPY_CLONGDOUBLE + 1];
    Step *step = &steps[r - reductions][dtype->type_num];
    if (step->many == 0) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        PyObject *ufunc = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, r->ufunc);
        Step made;
        if (ufunc != NULL && set_function(&made, ufunc, REDUCE, dtype, dtype)) {
            *step = made;
        }
        Py_XDECREF(ufunc);
        Py_XDECREF(numpy);
        PyErr_Clear();
    }
    return step->many == 0 ? NULL : step;
}

/* How an array in C order is reduced: of `outer` tables with `many` rows of `inner` elements, one row each is left. */
typedef struct {
    npy_intp outer, many, inner;
    int ndim;
    npy_intp dims[NPY_MAXDIMS]; /* of the result */
} Cut;

/* Find how an array is reduced along axes; returns 0 where these do not lie beside each other, or are not plain. */
static int
cut_axes(Cut *cut, int ndim, const npy_intp *dims, PyObject *axes, int keeps)
{
    int is_reduced[NPY_MAXDIMS] = {0}, first = ndim, axis, n = 0;
    int is_tuple = PyTuple_CheckExact(axes);
    for (Py_ssize_t i = 0; axes != Py_None && i < (is_tuple ? PyTuple_GET_SIZE(axes) : 1); i++) {
        if (!is_axis(is_tuple ? PyTuple_GET_ITEM(axes, i) : axes, ndim, &axis) || is_reduced[axis]++) {
            return 0;
        }
        first = axis < first ? axis : first;
        n++;
    }
    if (axes == Py_None) {
        first = 0;
        n = ndim;
    }
    if (n == 0) {
        return 0;
    }
    *cut = (Cut){.outer = 1, .many = 1, .inner = 1};
    for (axis = 0; axis < ndim; axis++) {
        npy_intp length = dims[axis];
        int is_own = axis >= first && axis < first + n;
        if (is_own && axes != Py_None && !is_reduced[axis]) {
            return 0; /* something lies between them */
        }
        *(axis < first ? &cut->outer : is_own ? &cut->many : &cut->inner) *= length;
        if (!is_own || keeps) {
            cut->dims[cut->ndim++] = is_own ? 1 : length;
        }
    }
    return 1;
}

/* Reduce each table to a row, as NumPy does: elements one after another, or pairwise if each row is one. */
static void
reduce_tables(const Step *step, const Cut *cut, char *from, char *to, npy_intp itemsize)
{
    npy_intp width = cut->inner * itemsize;
    if (cut->inner == 1) {
        reduce_rows(step, to, itemsize, from, cut->many * itemsize, itemsize, cut->outer, cut->many, itemsize);
        return;
    }
    for (npy_intp i = 0; i < cut->outer; i++, from += cut->many * width, to += width) {
        for (npy_intp j = 0; step->has_identity && j < cut->inner; j++) {
            memcpy(to + j * itemsize, step->identity, (size_t)itemsize);
        }
        if (!step->has_identity) {
            memcpy(to, from, (size_t)width);
        }
        for (npy_intp row = !step->has_identity; row < cut->many; row++) {
            char *data[3] = {to, from + row * width, to};
            npy_intp strides[3] = {itemsize, itemsize, itemsize};
            step->loop(data, &cut->inner, strides, step->data);
        }
    }
}

/* Divide sums by a number, and take square roots if that is said: in double precision, as NumPy does. */
static void
divide(char *sums, npy_intp n, int type, double by, int has_root)
{
    for (npy_intp i = 0; i < n; i++) {
        if (type == NPY_DOUBLE) {
            double *x = (double *)sums + i;
            *x = has_root ? sqrt(*x / by) : *x / by;
        }
        else {
            float *x = (float *)sums + i;
            *x = (float)(*x / by);
            *x = has_root ? sqrtf(*x) : *x;
        }
    }
}

/* Numbers of either type. */
typedef union {
    npy_double as_double[DEVIATIONS_AT_ONCE];
    npy_float as_float[DEVIATIONS_AT_ONCE];
} Numbers;

/* Sums of the squares of deviations in the making. */
typedef struct {
    const Step *add;
    int type;
    npy_intp itemsize;
    Numbers means, squares;
} Deviations;

#define DEVIATIONS(type)                                                                                             \
    for (npy_intp i = 0; i < n; i++) {                                                                               \
        npy_##type off = ((const npy_##type *)from)[i] - d->means.as_##type[are_own ? i : 0];                        \
        d->squares.as_##type[i] = off * off;                                                                         \
    }

/* Write the squares of what elements are off means: their own, or the first for all. */
static void
square_deviations(Deviations *d, const char *from, npy_intp n, int are_own)
{
    if (d->type == NPY_DOUBLE) {
        DEVIATIONS(double)
    }
    else {
        DEVIATIONS(float)
    }
}

/* Add up the squares of what elements are off the first mean: pairwise, halved where NumPy's loop of all would halve them.
 */
static void
add_deviations(Deviations *d, char *from, npy_intp n, char *to)
{
    npy_intp half = n / 2, one = 1, strides[3] = {d->itemsize, d->itemsize, d->itemsize};
    npy_double rest;
    char *data[3] = {to, (char *)&rest, to};
    if (n <= DEVIATIONS_AT_ONCE) {
        square_deviations(d, from, n, 0);
        reduce_to(d->add, to, (char *)&d->squares, d->itemsize, n, d->itemsize);
        return;
    }
    half -= half % 8;
    add_deviations(d, from, half, to);
    add_deviations(d, from + half * d->itemsize, n - half, (char *)&rest);
    d->add->loop(data, &one, strides, d->add->data);
}

/* Put in the place of means the sums of the squares of what elements are off them. */
static void
sum_deviations(const Step *add, const Cut *cut, char *from, char *to, npy_intp itemsize, int type)
{
    Deviations d = {.add = add, .type = type, .itemsize = itemsize};
    npy_intp width = cut->inner * itemsize, strides[3] = {itemsize, itemsize, itemsize};
    for (npy_intp i = 0; i < cut->outer; i++, from += cut->many * width, to += width) {
        if (cut->inner == 1) {
            memcpy(&d.means, to, (size_t)itemsize);
            add_deviations(&d, from, cut->many, to);
            continue;
        }
        for (npy_intp start = 0; start < cut->inner; start += DEVIATIONS_AT_ONCE) {
            npy_intp n = cut->inner - start < DEVIATIONS_AT_ONCE ? cut->inner - start : DEVIATIONS_AT_ONCE;
            char *sums = to + start * itemsize;
            memcpy(&d.means, sums, (size_t)(n * itemsize));
            memset(sums, 0, (size_t)(n * itemsize));
            for (npy_intp row = 0; row < cut->many; row++) {
                char *data[3] = {sums, (char *)&d.squares, sums};
                square_deviations(&d, from + row * width + start * itemsize, n, 1);
                add->loop(data, &n, strides, add->data);
            }
        }
    }
}

/* Elements from which all of an array are reduced in parts. */
enum { WORTH_FOLDING = 2 * WORTH_TELLING };

/* Say whether the parts of an array that threads reduce make what NumPy's one loop does, to the bit. */
static int
is_foldable(const Reduction *r, int type)
{
    int is_product = r->ufunc[0] == 'm' && r->ufunc[1] == 'u', is_sum = r->ufunc[0] == 'a';
    return PyTypeNum_ISINTEGER(type) || (!is_product && !PyTypeNum_ISCOMPLEX(type)) || (is_sum && PyTypeNum_ISFLOAT(type));
}

/* Have threads reduce all elements that the last step but one makes, or that there are, to one; returns 0, without an error,
 * where that is not for this.
 */
static int
fold_all(Job *job, const Step *reduce, int source, npy_intp itemsize, char *to)
{
    int last = job->n_steps - 1;
    Operand *o = &job->operands[last];
    Step *step = &job->steps[last];
    char *parts, one[sizeof(step->identity)];
    *step = *reduce;
    step->kind = FOLD;
    step->args[0] = source;
    step->args[1] = last;
    *o = (Operand){.itemsize = itemsize};
    parts = cut_job(job) ? PyMem_Malloc((size_t)(job->units * itemsize)) : NULL;
    if (parts == NULL) {
        return 0;
    }
    o->data = parts;
    o->strides[0] = itemsize;
    if (run_job(job, 0) < 0) {
        PyMem_Free(parts);
        return 0;
    }
    for (npy_intp many = job->units / 8; many > 0; many /= 8) { /* halves of halves, as NumPy adds up eight */
        for (npy_intp i = 0; i < many; i++) {
            reduce_to(step, one, parts + 8 * i * itemsize, itemsize, 8, itemsize);
            memcpy(parts + i * itemsize, one, (size_t)itemsize);
        }
    }
    memcpy(to, parts, (size_t)itemsize);
    PyMem_Free(parts);
    return 1;
}

/* Reduce all elements of an array to one as `fold_all` does, and note the faults that were seen. */
static int
fold_array(const Step *step, PyArrayObject *x, char *to, int *faults)
{
    Job job;
    npy_intp size = PyArray_SIZE(x);
    begin_job(&job, 1, 1, 1, &size, 0);
    job.operands[1] = (Operand){.data = PyArray_BYTES(x), .itemsize = PyArray_ITEMSIZE(x), .strides = {PyArray_ITEMSIZE(x)}};
    if (!fold_all(&job, step, 1, PyArray_ITEMSIZE(x), to)) {
        return 0;
    }
    *faults |= job.faults;
    return 1;
}

/* Write what a reduction gives; returns the faults that were seen. */
static int
reduce_array(const Reduction *r, const Step *step, const Cut *cut, PyArrayObject *x, double correction, char *to)
{
    npy_intp itemsize = PyArray_ITEMSIZE(x), n = cut->outer * cut->inner;
    int type = PyArray_DESCR(x)->type_num, faults = 0;
    take_faults();
    if (n > 1 || cut->many < WORTH_FOLDING || !is_foldable(r, type) || !fold_array(step, x, to, &faults)) {
        reduce_tables(step, cut, PyArray_BYTES(x), to, itemsize);
    }
    if (r->moment != 0) {
        divide(to, n, type, (double)cut->many, 0);
    }
    if (r->moment == 'v' || r->moment == 's') {
        sum_deviations(step, cut, PyArray_BYTES(x), to, itemsize, type);
        divide(to, n, type, (double)cut->many - correction, r->moment == 's');
    }
    return faults | take_faults();
}

/* Read the arguments of a reduction behind the array; returns 0 for what is not so simple. */
static int
read_reduction(const Reduction *r, PyObject *const *args, Py_ssize_t n, PyObject *names, PyArray_Descr *dtype,
               PyObject **axes, int *keeps, double *correction)
{
    int is_corrected = 0;
    *axes = n > 1 ? args[1] : Py_None;
    *keeps = 0;
    *correction = 0;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[n + i];
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0 && n == 1) {
            *axes = value;
        }
        else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 && PyBool_Check(value)) {
            *keeps = value == Py_True;
        }
        else if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0 && strchr("sp", r->name[0]) != NULL) {
            if (value != Py_None && value != (PyObject *)dtype && value != (PyObject *)dtype->typeobj) {
                return 0;
            }
        }
        else if ((PyUnicode_CompareWithASCIIString(name, "correction") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "ddof") == 0) &&
                 r->moment != 0 && r->moment != 'm' && !is_corrected++ &&
                 (PyFloat_CheckExact(value) || PyLong_CheckExact(value))) {
            *correction = PyFloat_AsDouble(value);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
        }
        else {
            return 0;
        }
    }
    return n <= 2;
}

/* Say whether NumPy's function computes in a dtype: of small integers the sum, and of integers the mean, has another. */
static int
computes_in(const Reduction *r, PyArray_Descr *dtype)
{
    int type = dtype->type_num, is_inexact = type == NPY_DOUBLE || type == NPY_FLOAT;
    if (r->ufunc[0] == 'l') { /* logical */
        return type == NPY_BOOL;
    }
    if (r->moment != 0 || is_inexact) {
        return is_inexact;
    }
    if (r->ufunc[0] == 'm' && r->ufunc[1] != 'u') { /* maximum, minimum */
        return PyTypeNum_ISINTEGER(type) || type == NPY_BOOL;
    }
    return type == NPY_CDOUBLE || type == NPY_CFLOAT || (PyTypeNum_ISINTEGER(type) && PyDataType_ELSIZE(dtype) == 8);
}

/* Return what a reduction of all elements gives for a pending array that nobody else has, whose elements nobody sees; NULL,
 * without an error, where that is not so simple.
 */
static PyObject *
reduced_unseen(const Reduction *r, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *node = NODE(args[0]), *axes, *value = NULL;
    PyArray_Descr *dtype = aval_dtype(SLOT(node, n_aval));
    npy_intp dims[MOST_DIMS];
    const Step *step;
    double correction;
    int keeps, ndim = dims_of(SLOT(node, n_aval), dims), done;
    Cut cut;
    Graph g;
    Job job;
    if (ndim < 0 || PyTuple_GET_SIZE(SLOT(args[0], x_levels)) != 0 || SLOT(args[0], x_view) != Py_None ||
        aval_bytes(SLOT(node, n_aval)) < WORTH_FOLDING * PyDataType_ELSIZE(dtype)) {
        return NULL;
    }
    if (r->moment == 'v' || r->moment == 's' || !computes_in(r, dtype) || !is_foldable(r, dtype->type_num) ||
        !read_reduction(r, args, n, names, dtype, &axes, &keeps, &correction) ||
        !cut_axes(&cut, ndim, dims, axes, keeps) || cut.outer * cut.inner != 1 ||
        (step = step_of_reduction(r, dtype)) == NULL) {
        return NULL;
    }
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, cut.ndim, cut.dims, NULL, NULL, 0, NULL);
    begin_graph(&g);
    done = value != NULL && has_loop(node) && walk(&g, node, &loops_only) == WALKED && is_for_loops(&g, 0) &&
           set_graph(&g, &job, 1);
    for (int k = 0; done && k < g.n_steps - 1; k++) {
        done = !is_held_outside(&g.met[g.met[k].step]);
    }
    take_faults();
    done = done && fold_all(&job, step, g.n_steps - 1, PyDataType_ELSIZE(dtype), PyArray_BYTES((PyArrayObject *)value));
    if (done && r->moment == 'm') {
        divide(PyArray_BYTES((PyArrayObject *)value), 1, dtype->type_num, (double)cut.many, 0);
    }
    if (!done || are_wanted(job.faults | take_faults())) {
        Py_CLEAR(value);
    }
    PyErr_Clear(); /* told elsewhere */
    if (value == NULL) {
        return NULL;
    }
    n_evaluations++;
    count_evaluation();
    return known_array(value, NULL);
}

/* Return what a reduction gives for an array at hand, by its name or a method's; NULL, without an error, where that is not
 * so simple, or has faults of which somebody is to hear.
 */
static PyObject *
reduced(const Reduction *r, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    int is_ours = IS_ARRAY(args[0]), is_numpys = PyArray_CheckExact(args[0]) && is_native((PyArrayObject *)args[0]);
    PyObject *axes, *value = is_ours && is_own_pending(args[0]) ? reduced_unseen(r, args, n, names) : NULL;
    PyArrayObject *x;
    PyArray_Descr *dtype;
    const Step *step;
    double correction;
    int keeps;
    Cut cut;
    if (value != NULL) {
        return value;
    }
    x = is_ours ? fresh(args[0]) : is_numpys ? (PyArrayObject *)args[0] : NULL;
    if (x == NULL || PyArray_SIZE(x) == 0 || !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISBEHAVED_RO(x) ||
        PyArray_NBYTES(x) >= part_bytes || !((is_ours && is_at_hand(NODE(args[0]))) || tiny() > 0)) {
        return NULL;
    }
    dtype = PyArray_DESCR(x);
    if (!computes_in(r, dtype) || !read_reduction(r, args, n, names, dtype, &axes, &keeps, &correction) ||
        !cut_axes(&cut, PyArray_NDIM(x), PyArray_DIMS(x), axes, keeps) || (double)cut.many <= correction ||
        (step = step_of_reduction(r, dtype)) == NULL) {
        return NULL;
    }
    Py_INCREF(dtype);
    value = PyArray_NewFromDescr(&PyArray_Type, dtype, cut.ndim, cut.dims, NULL, NULL, 0, NULL);
    if (value != NULL) {
        int faults = reduce_array(r, step, &cut, x, correction, PyArray_BYTES((PyArrayObject *)value));
        if (!step->is_quiet && are_wanted(faults)) {
            Py_CLEAR(value);
        }
    }
    PyErr_Clear(); /* told elsewhere */
    return value == NULL ? NULL : known_array(value, NULL);
}

/* reduce_rows(table, out, ufunc): reduce the rows of a table in C order to one element each, in the same dtype; False, with
 * nothing that means anything in `out`, where NumPy is to do it, which has more to say of faults
 */
static PyObject *
reduce_rows_of(PyObject *module, PyObject *args)
{
    PyArrayObject *table, *out;
    PyObject *ufunc;
    Step step;
    int faults;
    if (!PyArg_ParseTuple(args, "O!O!O!:reduce_rows", &PyArray_Type, &table, &PyArray_Type, &out, &PyUFunc_Type, &ufunc)) {
        return NULL;
    }
    if (PyArray_NDIM(table) != 2 || PyArray_NDIM(out) != 1 || PyArray_DIM(out, 0) != PyArray_DIM(table, 0) ||
        PyArray_DESCR(out) != PyArray_DESCR(table) || PyDataType_ELSIZE(PyArray_DESCR(out)) > 16 ||
        !PyArray_ISCARRAY_RO(table) || !PyArray_ISCARRAY(out) || PyArray_DIM(table, 1) == 0) {
        PyErr_SetString(PyExc_TypeError, "reduce_rows: needs a table in C order, and a vector of that dtype, as long");
        return NULL;
    }
    if (!set_function(&step, ufunc, REDUCE, PyArray_DESCR(table), PyArray_DESCR(out))) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_FALSE;
    }
    if (PyArray_DIM(table, 1) > step.short_row || step.result != PyArray_DESCR(table)->type_num) {
        Py_RETURN_FALSE;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS;
    take_faults();
    reduce_rows(&step, PyArray_BYTES(out), PyArray_ITEMSIZE(out), PyArray_BYTES(table), PyArray_STRIDE(table, 0),
                PyArray_ITEMSIZE(table), PyArray_DIM(table, 0), PyArray_DIM(table, 1), PyArray_ITEMSIZE(table));
    faults = take_faults();
    NPY_END_THREADS;
    return PyBool_FromLong(!faults);
}
