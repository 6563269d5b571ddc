/* x[mask] and x[mask] = y of arrays whose elements lie side by side, on several threads where that pays. */

#define ONES 0x0101010101010101u
#define LETTERS 0x0102040810204080u /* times a word of truth values: its highest byte has a bit for each */

/* Elements that a thread takes at once. */
enum { CHUNK = 1 << 14 };
enum way { COUNT, TAKE, PUT, FILL };

typedef struct {
    npy_uint64 halves[2];
} pair;

typedef struct {
    enum way way;
    const npy_bool *mask;
    char *data, *others; /* the elements that the mask is of; those that are chosen, or put there */
    npy_intp size, itemsize, units, next;
    npy_intp *starts; /* where what is chosen in each chunk begins among the others; in the end, how many those are */
} Choice;

/* Return bits for the next eight truth values: NumPy takes any byte but 0 for true. */
static inline unsigned int
eight(const npy_bool *mask)
{
    npy_uint64 word;
    memcpy(&word, mask, sizeof(word));
#if NPY_BYTE_ORDER == NPY_LITTLE_ENDIAN
    if (word & ~ONES) {
        word = (((word & ~(ONES << 7)) + ~(ONES << 7)) | word) >> 7 & ONES;
    }
    return (unsigned int)(word * LETTERS >> 56);
#else
    unsigned int bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (unsigned int)(mask[i] != 0) << i;
    }
    return bits;
#endif
}

/* Count the true ones among some truth values. */
static npy_intp
count_true(const npy_bool *mask, npy_intp n)
{
    enum { WORDS = 16 };
    npy_intp many = 0, i = 0;
    for (; i + 8 * WORDS <= n; i += 8 * WORDS) {
        npy_uint64 words[WORDS], sum = 0, any = 0;
        memcpy(words, mask + i, sizeof(words));
        for (int k = 0; k < WORDS; k++) {
            sum += words[k];
            any |= words[k];
        }
        if (any & ~ONES) {
            for (int k = 0; k < 8 * WORDS; k++) {
                many += mask[i + k] != 0;
            }
        }
        else {
            many += (npy_intp)(sum * ONES >> 56);
        }
    }
    for (; i < n; i++) {
        many += mask[i] != 0;
    }
    return many;
}

/* Return where the first true one may be, from `at` on. */
static inline npy_intp
skip(const npy_bool *mask, npy_intp at, npy_intp end)
{
    npy_uint64 words[4] = {0};
    for (; at + 32 <= end; at += 32) {
        memcpy(words, mask + at, sizeof(words));
        if ((words[0] | words[1] | words[2] | words[3]) != 0) {
            break;
        }
    }
    return at;
}

/* Do something to each element that is chosen, in order, whose number is `i`, or something else to eight at once. */
#define EACH_CHOSEN(mask, begin, end, all, one)                                                                      \
    do {                                                                                                             \
        npy_intp i = skip(mask, begin, end);                                                                         \
        for (npy_intp at_ = i; at_ + 8 <= end; i = at_ = skip(mask, at_ + 8, end)) {                                 \
            unsigned int bits = eight(mask + at_);                                                                   \
            if (bits == 255) {                                                                                       \
                i = at_;                                                                                             \
                all;                                                                                                 \
                continue;                                                                                            \
            }                                                                                                        \
            for (; bits != 0; bits &= bits - 1) {                                                                    \
                i = at_ + __builtin_ctz(bits);                                                                       \
                one;                                                                                                 \
            }                                                                                                        \
        }                                                                                                            \
        for (; i < end; i++) {                                                                                       \
            if (mask[i]) {                                                                                           \
                one;                                                                                                 \
            }                                                                                                        \
        }                                                                                                            \
    } while (0)

#define CHOOSE(name, type)                                                                                           \
    static void name(const Choice *c, npy_intp begin, npy_intp end, npy_intp start)                                  \
    {                                                                                                                \
        const npy_bool *mask = c->mask;                                                                              \
        type *data = (type *)c->data, *others = (type *)c->others + (c->way == FILL ? 0 : start), value = *others;   \
        if (c->way == TAKE) {                                                                                        \
            EACH_CHOSEN(mask, begin, end, (memcpy(others, data + i, 8 * sizeof(type)), others += 8),                 \
                        *others++ = data[i]);                                                                        \
        }                                                                                                            \
        else if (c->way == PUT) {                                                                                    \
            EACH_CHOSEN(mask, begin, end, (memmove(data + i, others, 8 * sizeof(type)), others += 8),                \
                        data[i] = *others++);                                                                        \
        }                                                                                                            \
        else {                                                                                                       \
            EACH_CHOSEN(mask, begin, end, for (int k = 0; k < 8; k++) data[i + k] = value, data[i] = value);         \
        }                                                                                                            \
    }
CHOOSE(choose_1, npy_uint8)
CHOOSE(choose_2, npy_uint16)
CHOOSE(choose_4, npy_uint32)
CHOOSE(choose_8, npy_uint64)
CHOOSE(choose_16, pair)

/* Do the chunks that nobody has begun. */
static void
work_on_choice(void *given, char *memory)
{
    Choice *c = given;
    npy_intp unit;
    while ((unit = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->units) {
        npy_intp begin = unit * CHUNK, end = begin + CHUNK < c->size ? begin + CHUNK : c->size;
        if (c->way == COUNT) {
            c->starts[unit + 1] = count_true(c->mask + begin, end - begin);
            continue;
        }
        if (c->starts[unit + 1] == c->starts[unit]) {
            continue;
        }
        switch (c->itemsize) {
        case 1: choose_1(c, begin, end, c->starts[unit]); break;
        case 2: choose_2(c, begin, end, c->starts[unit]); break;
        case 4: choose_4(c, begin, end, c->starts[unit]); break;
        case 8: choose_8(c, begin, end, c->starts[unit]); break;
        default: choose_16(c, begin, end, c->starts[unit]); break;
        }
    }
}

static inline int
run_choice(Choice *c, enum way way)
{
    int others = threads_for(c->itemsize > 8 ? 4 : 2, c->size) - 1;
    c->way = way;
    c->next = 0;
    return share(work_on_choice, c, others < c->units ? others : (int)c->units - 1, 1, 0);
}

/* Count what a mask chooses among the elements of an array; returns 0, without an error, where that is not for this. */
static int
begin_choice(Choice *c, PyArrayObject *value, PyArrayObject *mask)
{
    npy_intp n = PyArray_ITEMSIZE(value);
    if (PyArray_DESCR(mask)->type_num != NPY_BOOL || PyArray_NDIM(mask) == 0 || PyArray_SIZE(mask) == 0 ||
        PyArray_NDIM(value) != PyArray_NDIM(mask) ||
        !PyArray_CompareLists(PyArray_DIMS(value), PyArray_DIMS(mask), PyArray_NDIM(value)) ||
        !PyArray_IS_C_CONTIGUOUS(value) || !PyArray_IS_C_CONTIGUOUS(mask) || !PyArray_ISALIGNED(value) ||
        (n != 1 && n != 2 && n != 4 && n != 8 && n != 16) || !PyTypeNum_ISNUMBER(PyArray_DESCR(value)->type_num)) {
        return 0;
    }
    c->mask = PyArray_DATA(mask);
    c->data = PyArray_DATA(value);
    c->size = PyArray_SIZE(value);
    c->itemsize = n;
    c->units = (c->size + CHUNK - 1) / CHUNK;
    c->starts = PyMem_Malloc(sizeof(npy_intp) * (size_t)(c->units + 1));
    if (c->starts == NULL || run_choice(c, COUNT) < 0) {
        PyMem_Free(c->starts);
        return 0;
    }
    c->starts[0] = 0;
    for (npy_intp unit = 0; unit < c->units; unit++) {
        c->starts[unit + 1] += c->starts[unit];
    }
    return 1;
}

/* Return the elements where a mask is true; NULL, without an error, where NumPy should. */
static PyObject *
take_chosen(PyArrayObject *value, PyArrayObject *mask)
{
    Choice c;
    PyObject *out;
    PyArray_Descr *dtype = PyArray_DESCR(value);
    if (!begin_choice(&c, value, mask)) {
        return NULL;
    }
    Py_INCREF(dtype);
    out = new_array(dtype, 1, &c.starts[c.units]);
    if (out != NULL) {
        c.others = PyArray_DATA((PyArrayObject *)out);
        if (run_choice(&c, TAKE) < 0) {
            Py_CLEAR(out);
        }
    }
    PyErr_Clear();
    PyMem_Free(c.starts);
    return out;
}

/* Write elements of the same dtype (`new`), or a number, where a mask is true; returns 0, without an error, where NumPy
 * should.
 */
static int
put_chosen(PyArrayObject *value, PyArrayObject *mask, PyObject *y, PyArrayObject *new)
{
    Choice c;
    npy_uint64 number[2];
    int is_one = new == NULL || PyArray_NDIM(new) == 0, type = PyArray_DESCR(value)->type_num, done = 0;
    if (!PyArray_ISWRITEABLE(value) || !is_apart_or_same(mask, value) ||
        (new == NULL ? type == NPY_BOOL || (PyFloat_CheckExact(y) && PyTypeNum_ISINTEGER(type))
                     : PyArray_DESCR(new) != PyArray_DESCR(value))) {
        return 0;
    }
    if (is_one ? !write_number(PyArray_DESCR(value), number, y, new)
               : PyArray_NDIM(new) != 1 || !PyArray_IS_C_CONTIGUOUS(new) || !PyArray_ISALIGNED(new) ||
                     !is_apart_or_same(new, value)) {
        return 0;
    }
    if (begin_choice(&c, value, mask)) {
        c.others = is_one ? (char *)number : PyArray_DATA(new);
        if (is_one || PyArray_SIZE(new) == c.starts[c.units]) {
            done = run_choice(&c, is_one ? FILL : PUT) == 0;
        }
        PyMem_Free(c.starts);
    }
    return done;
}

/* choose(value, mask): value[mask] */
static PyObject *
choose(PyObject *module, PyObject *args)
{
    PyObject *value, *mask, *out;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &value, &PyArray_Type, &mask)) {
        return NULL;
    }
    out = take_chosen((PyArrayObject *)value, (PyArrayObject *)mask);
    return out != NULL ? out : PyObject_GetItem(value, mask);
}

/* put(value, mask, new): value[mask] = new */
static PyObject *
put(PyObject *module, PyObject *args)
{
    PyObject *value, *mask, *new;
    int is_array, is_done;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyArray_Type, &value, &PyArray_Type, &mask, &new)) {
        return NULL;
    }
    is_array = PyArray_CheckExact(new);
    is_done = (is_array || is_number(new, (PyArrayObject *)value)) &&
              put_chosen((PyArrayObject *)value, (PyArrayObject *)mask, new, is_array ? (PyArrayObject *)new : NULL);
    if (!is_done && PyObject_SetItem(value, mask, new) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}
