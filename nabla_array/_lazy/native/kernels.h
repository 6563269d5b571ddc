/* Fused kernels: the one place where jobs are made of steps and arrays, for `Fused` steps of schedules as for small pending
 * graphs (evaluation.h).
 */

/* Let the elements of a loop be made some at a time, though what is written may be an operand. */
#if defined(__GNUC__)
#define EACH_BY_ITSELF _Pragma("GCC ivdep")
#else
#define EACH_BY_ITSELF
#endif

/* NumPy's `where` has no loop of a ufunc's. Here it has no branch for an element, which would be hard to foresee; that
 * some in a row are chosen alike is not.
 */
#define SELECT(name, type)                                                                                           \
    static inline type name##_one(npy_bool c, type x, type y)                                                        \
    {                                                                                                                \
        return y ^ ((x ^ y) & (type)-(type)(c != 0));                                                                \
    }                                                                                                                \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        const npy_intp size = sizeof(type);                                                                          \
        const npy_uint64 every = 0x0101010101010101;                                                                 \
        char *c = args[0], *x = args[1], *y = args[2], *out = args[3];                                               \
        npy_intp i = 0;                                                                                              \
        if (strides[0] == 1 && (strides[1] == size || strides[1] == 0) && (strides[2] == size || strides[2] == 0) && \
            strides[3] == size && *n >= 8) {                                                                         \
            type xs[8], ys[8]; /* for one element that repeats */                                                    \
            for (int j = 0; j < 8; j++) {                                                                            \
                xs[j] = *(type *)x;                                                                                  \
                ys[j] = *(type *)y;                                                                                  \
            }                                                                                                        \
            for (; i + 8 <= *n; i += 8) {                                                                            \
                npy_uint64 some;                                                                                     \
                const type *p = strides[1] == 0 ? xs : (type *)x + i, *q = strides[2] == 0 ? ys : (type *)y + i;     \
                type *to = (type *)out + i;                                                                          \
                memcpy(&some, c + i, 8);                                                                             \
                if (some == 0 || some == every) {                                                                    \
                    type chosen[8];                                                                                  \
                    memcpy(chosen, some == 0 ? q : p, sizeof(chosen));                                               \
                    memcpy(to, chosen, sizeof(chosen));                                                              \
                    continue;                                                                                        \
                }                                                                                                    \
                EACH_BY_ITSELF                                                                                       \
                for (int j = 0; j < 8; j++) {                                                                        \
                    to[j] = name##_one(((npy_bool *)c)[i + j], p[j], q[j]);                                          \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (; i < *n; i++) {                                                                                        \
            *(type *)(out + i * strides[3]) =                                                                        \
                name##_one(*(npy_bool *)(c + i * strides[0]), *(type *)(x + i * strides[1]), *(type *)(y + i * strides[2]));\
        }                                                                                                            \
    }
SELECT(select_1, npy_uint8)
SELECT(select_2, npy_uint16)
SELECT(select_4, npy_uint32)
SELECT(select_8, npy_uint64)

static void
select_16(char **args, const npy_intp *n, const npy_intp *strides, void *data)
{
    char *c = args[0], *x = args[1], *y = args[2], *out = args[3];
    for (npy_intp i = 0; i < *n; i++) {
        memmove(out, *(npy_bool *)c ? x : y, 16);
        c += strides[0], x += strides[1], y += strides[2], out += strides[3];
    }
}

/* Let a step be one of five loops, for elements of 1, 2, 4, 8 and 16 bytes; returns 0 for elements of other sizes. */
static int
set_by_size(Step *step, const PyUFuncGenericFunction *loops, int many, npy_intp itemsize)
{
    for (int i = 0; i < 5; i++) {
        if (itemsize == 1 << i) {
            step->kind = EACH;
            step->loop = loops[i];
            step->data = NULL;
            step->many = many;
            step->is_quiet = 1;
            return 1;
        }
    }
    return 0;
}

static const PyUFuncGenericFunction selects[] = {select_1, select_2, select_4, select_8, select_16};

/* Elements as they are. */
#define COPY(name, type)                                                                                             \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        char *in = args[0], *out = args[1];                                                                          \
        if (strides[0] == sizeof(type) && strides[1] == sizeof(type)) {                                              \
            memmove(out, in, (size_t)*n * sizeof(type));                                                             \
            return;                                                                                                  \
        }                                                                                                            \
        for (npy_intp i = 0; i < *n; i++, in += strides[0], out += strides[1]) {                                     \
            *(type *)out = *(type *)in;                                                                              \
        }                                                                                                            \
    }
COPY(copy_1, npy_uint8)
COPY(copy_2, npy_uint16)
COPY(copy_4, npy_uint32)
COPY(copy_8, npy_uint64)
COPY(copy_16, npy_cdouble)

static const PyUFuncGenericFunction copies[] = {copy_1, copy_2, copy_4, copy_8, copy_16};

#define AS_IT_IS(x) (x)
#define IS_TRUE(x) ((x) != 0)

/* Conversions, for which NumPy has no ufunc. */
#define CONVERT(name, from, to, read)                                                                                \
    static void name(char **args, const npy_intp *n, const npy_intp *strides, void *data)                            \
    {                                                                                                                \
        char *in = args[0], *out = args[1];                                                                          \
        if (strides[0] == sizeof(from) && strides[1] == sizeof(to)) {                                                \
            for (npy_intp i = 0; i < *n; i++) {                                                                      \
                ((to *)out)[i] = (to)read(((from *)in)[i]);                                                                \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (npy_intp i = 0; i < *n; i++, in += strides[0], out += strides[1]) {                                     \
            *(to *)out = (to)read(*(from *)in);                                                                            \
        }                                                                                                            \
    }
CONVERT(bool_to_double, npy_bool, double, IS_TRUE)
CONVERT(bool_to_float, npy_bool, float, IS_TRUE)
CONVERT(bool_to_int, npy_bool, npy_int64, IS_TRUE)
CONVERT(int_to_double, npy_int64, double, AS_IT_IS)
CONVERT(short_to_double, npy_int32, double, AS_IT_IS)
CONVERT(float_to_double, float, double, AS_IT_IS)
CONVERT(double_to_float, double, float, AS_IT_IS)

/* Let a step be a conversion; returns 0 for one that is not here. */
static int
set_cast(Step *step, PyArray_Descr *from, PyArray_Descr *to)
{
    static const struct {
        char from, to;
        int from_size, to_size;
        PyUFuncGenericFunction loop;
    } known[] = {
        {'b', 'f', 1, 8, bool_to_double},  {'b', 'f', 1, 4, bool_to_float}, {'b', 'i', 1, 8, bool_to_int},
        {'i', 'f', 8, 8, int_to_double},   {'i', 'f', 4, 8, short_to_double},
        {'f', 'f', 4, 8, float_to_double}, {'f', 'f', 8, 4, double_to_float},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].from == from->kind && known[i].to == to->kind && known[i].from_size == PyDataType_ELSIZE(from) &&
            known[i].to_size == PyDataType_ELSIZE(to)) {
            step->kind = EACH;
            step->loop = known[i].loop;
            step->data = NULL;
            step->many = 2;
            step->is_quiet = from->kind != 'f';
            return 1;
        }
    }
    return 0;
}

/* Return the number of a ufunc's loop for operands of one dtype, -1 if it has none. */
static inline int
find_loop(PyUFuncObject *u, int type)
{
    for (int i = 0; i < u->ntypes; i++) {
        const char *types = u->types + i * u->nargs;
        if (types[0] == type && (u->nin == 1 || types[1] == type)) {
            return u->functions[i] == NULL ? -1 : i;
        }
    }
    return -1;
}

/* Say whether a ufunc has loops for integers beside floats, as `scipy.special.yn` has: these stay integers. */
static inline int
is_mixed(PyUFuncObject *u)
{
    for (int i = 0; i < u->ntypes; i++) {
        const char *types = u->types + i * u->nargs;
        if (u->nin == 2 && types[0] != types[1] && (types[0] == NPY_LONG || types[1] == NPY_LONG)) {
            return 1;
        }
    }
    return 0;
}

/* Say whether a ufunc is `maximum`, `fmin` and the like, whose loops use vectors only for what lies in a row. */
static inline int
is_extremum(const char *name)
{
    name += name[0] == 'f';
    return strncmp(name, "max", 3) == 0 || strncmp(name, "min", 3) == 0;
}

#if defined(__x86_64__)
/* A loop of NumPy's, and its data. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
} Told;

/* Return the faults in the status word of the x87, and forget them. */
static inline unsigned int
take_old_faults(void)
{
    unsigned short state;
    __asm__ __volatile__("fnstsw %0" : "=a"(state));
    if (state & 0x3f) {
        __asm__ __volatile__("fnclex");
    }
    return state & 0x1d;
}

/* Run a loop that tells of overflow by glibc's `feraiseexcept`, which leaves it to the x87: let `take_faults` see that. */
static void
run_told(char **data, npy_intp const *n, npy_intp const *strides, void *given)
{
    const Told *told = given;
    unsigned int found;
    take_old_faults();
    told->loop(data, n, strides, told->data);
    found = take_old_faults();
    if (found) {
        _mm_setcsr(_mm_getcsr() | found);
    }
}

/* Have a step tell of what `exp` of single or double precision overflows. */
static void
tell_of_overflow(Step *step, int type)
{
    static Told told[2]; /* written once, with the interpreter's lock */
    Told *own = &told[type == NPY_DOUBLE];
    if (own->loop == NULL) {
        *own = (Told){step->loop, step->data};
    }
    step->loop = run_told;
    step->data = own;
}
#endif

/* Let a step be what a ufunc does for operands of one dtype; returns 0 if it has no loop for them. */
static int
set_loop(Step *step, PyUFuncObject *ufunc, int type)
{
    int loop = find_loop(ufunc, type);
    if (loop < 0) {
        return 0;
    }
    step->kind = EACH;
    step->cost = cost_of(ufunc, type);
    step->loop = ufunc->functions[loop];
    step->data = ufunc->data == NULL ? NULL : ((void *const *)ufunc->data)[loop];
    step->many = ufunc->nargs;
    step->result = ufunc->types[loop * ufunc->nargs + ufunc->nin];
    step->is_quiet = step->result == NPY_BOOL;
    step->is_slow_on_one = is_extremum(ufunc->name);
#if defined(__x86_64__)
    if (strcmp(ufunc->name, "exp") == 0 && (type == NPY_FLOAT || type == NPY_DOUBLE)) {
        tell_of_overflow(step, type);
    }
#endif
    return 1;
}

/* Take what a ufunc's reductions begin with; returns 0, with an error, if that fails. */
static int
set_identity(Step *step, PyObject *ufunc, PyArray_Descr *dtype)
{
    PyObject *identity = PyObject_GetAttrString(ufunc, "identity"), *array = NULL;
    int is_none = identity == Py_None;
    step->has_identity = 0;
    if (identity != NULL && !is_none) {
        Py_INCREF(dtype);
        array = PyArray_FromAny(identity, dtype, 0, 0, NPY_ARRAY_CARRAY_RO, NULL);
    }
    if (array != NULL) {
        step->has_identity = 1;
        memcpy(step->identity, PyArray_DATA((PyArrayObject *)array), (size_t)PyDataType_ELSIZE(dtype));
    }
    Py_XDECREF(identity);
    Py_XDECREF(array);
    return is_none || step->has_identity;
}

/* Return how many elements NumPy reduces one after the other: it adds up floats in eight sums, or complex numbers in four,
 * where there are as many. Of longer rows a call for each is no loss. Its loop of complex products rounds in another way
 * where it is one along a column, by vector instructions.
 */
static int
short_row(PyUFuncObject *ufunc, PyArray_Descr *dtype)
{
    int is_sum = strcmp(ufunc->name, "add") == 0;
    if (dtype->kind == 'c') {
        return is_sum ? 3 : 0;
    }
    return is_sum && dtype->kind == 'f' ? 7 : 32;
}

/* Make a step of a function: a ufunc, None for `where`, "cast", "copy", or "spread" for one element a row along that. */
static int
set_function(Step *step, PyObject *function, enum kind kind, PyArray_Descr *from, PyArray_Descr *to)
{
    step->kind = kind;
    step->cost = 1;
    step->is_slow_on_one = 0;
    if (kind == SPREAD) {
        step->many = 2;
        step->is_quiet = 1;
        return 1;
    }
    if (function == Py_None) {
        return set_by_size(step, selects, 4, PyDataType_ELSIZE(to));
    }
    if (PyUnicode_Check(function)) {
        return PyUnicode_CompareWithASCIIString(function, "copy") == 0
                   ? set_by_size(step, copies, 2, PyDataType_ELSIZE(to))
                   : set_cast(step, from, to);
    }
    if (!set_loop(step, (PyUFuncObject *)function, from->type_num)) {
        return 0;
    }
    if (kind != EACH) {
        step->kind = kind;
        step->many = 2; /* what is reduced, and what that becomes */
        step->short_row = short_row((PyUFuncObject *)function, from);
        return set_identity(step, function, to);
    }
    return 1;
}

/* Begin a job on arrays of a shape, or on a table of rows. */
static void
begin_job(Job *job, int n_steps, int n_leaves, int ndim, const npy_intp *dims, int is_table)
{
    job->n_steps = n_steps;
    job->n_operands = n_steps + n_leaves;
    job->ndim = ndim;
    job->is_table = is_table;
    job->size = 1;
    for (int axis = 0; axis < ndim; axis++) {
        job->dims[axis] = dims[axis];
        job->size *= dims[axis];
    }
}

/* Let operand `k` be an array, a table's column if it has one axis; returns 0 if its elements do not lie as loops want
 * them.
 */
static inline int
set_array(Job *job, int k, PyObject *value)
{
    PyArrayObject *array = (PyArrayObject *)value;
    Operand *o = &job->operands[k];
    int ndim = job->is_table && PyArray_CheckExact(value) && PyArray_NDIM(array) == 1 ? 1 : job->ndim;
    if (!PyArray_CheckExact(value) || !PyArray_ISBEHAVED_RO(array) || PyArray_NDIM(array) != ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), job->dims, ndim)) {
        return 0;
    }
    o->data = PyArray_BYTES(array);
    o->is_narrow = ndim < job->ndim;
    o->itemsize = PyArray_ITEMSIZE(array);
    for (int axis = 0; axis < ndim; axis++) {
        o->strides[axis] = PyArray_STRIDE(array, axis);
    }
    return 1;
}

/* Let step `k`, whose inputs are noted, be what a function makes of one dtype; returns 0 if nothing here does that. Its
 * result stays inside, unless it is given an array.
 */
static inline int
set_step(Job *job, int k, PyObject *function, enum kind kind, PyArray_Descr *from, PyArray_Descr *to, int is_narrow)
{
    Step *step = &job->steps[k];
    Operand *o = &job->operands[k];
    o->data = NULL;
    o->is_narrow = is_narrow;
    o->itemsize = PyDataType_ELSIZE(to);
    if (!set_function(step, function, kind, from, to)) {
        return 0;
    }
    step->args[step->many - 1] = k;
    return 1;
}

/* Make a job of what `run_blocks` is given, a table of rows of a length if that is not 0, and decide how it is cut; returns
 * 0, perhaps with an error, if that cannot be.
 */
static int
fill_job(Job *job, PyObject *steps, PyObject *leaves, PyObject *kept, npy_intp rows, npy_intp length)
{
    Py_ssize_t n = PyTuple_GET_SIZE(steps), many = PyList_GET_SIZE(leaves);
    PyArray_Descr *types[MOST_OPERANDS];
    npy_intp table[2] = {rows, length};
    if (n > MOST_STEPS || many == 0 || n + many > MOST_OPERANDS) {
        return 0;
    }
    if (length != 0) {
        begin_job(job, (int)n, (int)many, 2, table, 1);
    }
    else {
        PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(leaves, 0);
        if (!PyArray_Check(first) || PyArray_NDIM(first) > MOST_DIMS) {
            return 0;
        }
        begin_job(job, (int)n, (int)many, PyArray_NDIM(first), PyArray_DIMS(first), 0);
    }
    for (Py_ssize_t k = n; k < n + many; k++) {
        if (!set_array(job, (int)k, PyList_GET_ITEM(leaves, k - n))) {
            return 0;
        }
        types[k] = PyArray_DESCR((PyArrayObject *)PyList_GET_ITEM(leaves, k - n));
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *function, *ins, *out = PyList_GET_ITEM(kept, k);
        int kind, is_narrow;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, k), "OO!O!ip", &function, &PyTuple_Type, &ins, &PyArrayDescr_Type,
                              &types[k], &kind, &is_narrow) ||
            PyTuple_GET_SIZE(ins) >= MOST_ARGS) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ins); i++) {
            job->steps[k].args[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(ins, i));
        }
        if (!set_step(job, (int)k, function, (enum kind)kind, types[job->steps[k].args[0]], types[k], is_narrow) ||
            (out != Py_None && !set_array(job, (int)k, out))) {
            return 0;
        }
    }
    return cut_job(job);
}

/* Put arrays with a row for each block into `kept` for what blocks are joined to, or become; returns 0, with an error, if
 * it fails.
 */
static int
make_joined(Job *job, PyObject *steps, PyObject *kept)
{
    for (int k = 0; k < job->n_steps; k++) {
        const Operand *from = &job->operands[job->steps[k].args[0]];
        npy_intp dims[2] = {job->units, from->is_narrow || job->steps[k].kind == FOLD ? 1 : job->length};
        PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(PyTuple_GET_ITEM(steps, k), 2);
        PyObject *array;
        if (job->steps[k].kind != JOIN && job->steps[k].kind != FOLD) {
            continue;
        }
        Py_INCREF(dtype);
        array = PyArray_NewFromDescr(&PyArray_Type, dtype, 2, dims, NULL, NULL, 0, NULL);
        if (array == NULL || PyList_SetItem(kept, k, array) < 0) {
            return 0;
        }
        job->operands[k].data = PyArray_BYTES((PyArrayObject *)array);
        job->operands[k].strides[0] = PyArray_STRIDE((PyArrayObject *)array, 0);
    }
    return 1;
}

/* Return NumPy's numbers for floating-point faults. */
static inline long
numpys_faults(int found)
{
    return (found & FE_DIVBYZERO ? 1 : 0) | (found & FE_OVERFLOW ? 2 : 0) | (found & FE_UNDERFLOW ? 4 : 0) |
           (found & FE_INVALID ? 8 : 0);
}

/* run_blocks(steps, leaves, kept, rows, length): see `cpu/kernels.py` */
static PyObject *
run_blocks(PyObject *module, PyObject *args)
{
    PyObject *steps, *leaves, *kept, *seen;
    Job job;
    npy_intp rows, length;
    int done;
    if (!PyArg_ParseTuple(args, "O!O!O!nn", &PyTuple_Type, &steps, &PyList_Type, &leaves, &PyList_Type, &kept, &rows,
                          &length)) {
        return NULL;
    }
    if (!fill_job(&job, steps, leaves, kept, rows, length)) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    /* First of all: after what is written over its operands nothing may fail. */
    if ((seen = PyTuple_New(job.n_steps)) == NULL) {
        return NULL;
    }
    done = make_joined(&job, steps, kept) && run_job(&job, 1) == 0;
    if (!done || !job.faults) {
        Py_DECREF(seen);
        return done ? PyTuple_New(0) : PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int k = 0; k < job.n_steps; k++) { /* numbers so small that they are there */
        PyTuple_SET_ITEM(seen, k, PyLong_FromLong(numpys_faults(job.step_faults[k])));
    }
    return seen;
}

/* count_threads(functions, dtypes, size): how many threads that is worth waking for; see `Job` in `cpu/kernels.py` */
static PyObject *
count_threads(PyObject *module, PyObject *args)
{
    PyObject *functions, *dtypes;
    npy_intp size, cost = 0;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyList_Type, &functions, &PyList_Type, &dtypes, &size)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions) && i < PyList_GET_SIZE(dtypes); i++) {
        PyObject *function = PyList_GET_ITEM(functions, i);
        int is_ufunc = PyObject_TypeCheck(function, &PyUFunc_Type);
        cost += is_ufunc ? cost_of((PyUFuncObject *)function, ((PyArray_Descr *)PyList_GET_ITEM(dtypes, i))->type_num) : 1;
    }
    return PyLong_FromLong(threads_worth(cost * size, 0));
}
