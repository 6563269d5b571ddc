/* Memory of results, kept when they die for the next of about that size: to give it back to the system and take it
 * anew, page by page, may cost more than what is computed. NumPy asks here for the memory of arrays that are made
 * where its handler is in force (NEP 49): in the package's own contexts, and in `new_array`. What is larger is kept only
 * while a schedule runs, and only until another large array is made that cannot have it.
 */
#include <unistd.h>

/* Bytes from which, and up to which, one is kept; how many at most; bytes of all of them at most, if the machine has
 * thirty times that.
 */
#ifdef __SANITIZE_ADDRESS__ /* which sees nothing of what is kept */
enum { MOST_BYTES = 0 };
#else
enum { MOST_BYTES = 1 << 27 };
#endif
enum { KEPT_FROM = 1 << 17, KEPT_TO = 1 << 25, MOST_BLOCKS = 64, MOST_LARGE = 8 };
/* Bytes in front of an array's, which say how many there are. */
enum { FRONT = 64 };

static struct kept {
    char *start;
    size_t bytes;
} blocks[MOST_BLOCKS], /* the oldest first */
    large_blocks[MOST_LARGE];
static int n_blocks, n_large, n_runs;
static size_t bytes_kept, most_kept;
static char blocks_lock; /* some of NumPy's threads have no interpreter */
static PyDataMemAllocator usual_memory;
static PyObject *keeper; /* the handler, as NumPy takes it */

static inline void
lock_blocks(void)
{
    while (__atomic_test_and_set(&blocks_lock, __ATOMIC_ACQUIRE)) {
    }
}

static inline void
unlock_blocks(void)
{
    __atomic_clear(&blocks_lock, __ATOMIC_RELEASE);
}

static inline int
is_for_keeping(size_t bytes)
{
    return bytes >= KEPT_FROM && bytes <= KEPT_TO;
}

/* Take what is kept in a place; the lock is held. */
static inline char *
take_block(int place)
{
    char *start = blocks[place].start;
    bytes_kept -= blocks[place].bytes;
    memmove(&blocks[place], &blocks[place + 1], sizeof(*blocks) * (size_t)(--n_blocks - place));
    return start;
}

/* Return the last kept block of so many bytes, or some more, since a cache may have it; NULL if there is none. */
static char *
find_block(size_t bytes)
{
    char *start = NULL;
    lock_blocks();
    for (int place = n_blocks - 1; place >= 0 && start == NULL; place--) {
        if (blocks[place].bytes >= bytes && blocks[place].bytes - bytes <= bytes / 4) {
            start = take_block(place);
        }
    }
    unlock_blocks();
    return start;
}

/* Return the kept large block that fits; where none does, let go of all. */
static char *
find_large(size_t bytes)
{
    struct kept found = {NULL, 0}, left[MOST_LARGE];
    int n_left = 0;
    lock_blocks();
    for (int place = n_large - 1; place >= 0 && found.start == NULL; place--) {
        if (large_blocks[place].bytes >= bytes && large_blocks[place].bytes - bytes <= bytes / 4) {
            found = large_blocks[place];
            large_blocks[place] = large_blocks[--n_large];
        }
    }
    if (found.start == NULL) {
        n_left = n_large;
        memcpy(left, large_blocks, sizeof(left));
        n_large = 0;
    }
    unlock_blocks();
    for (int place = 0; place < n_left; place++) {
        usual_memory.free(usual_memory.ctx, left[place].start, left[place].bytes);
    }
    return found.start;
}

/* Keep a large block if a schedule runs; returns whether it does. */
static int
keep_large(char *start, size_t bytes)
{
    int is_kept;
    lock_blocks();
    is_kept = n_runs > 0 && n_large < MOST_LARGE && most_kept > 0;
    if (is_kept) {
        large_blocks[n_large++] = (struct kept){start, bytes};
    }
    unlock_blocks();
    return is_kept;
}

/* Note how many bytes a block has; returns where its array's begin. */
static inline void *
behind_front(char *start, size_t bytes)
{
    if (start == NULL) {
        return NULL;
    }
    *(size_t *)start = bytes;
    return start + FRONT;
}

static void *
keeper_malloc(void *unused, size_t size)
{
    size_t bytes = size + FRONT;
    char *start = bytes < KEPT_FROM ? NULL : (is_for_keeping(bytes) ? find_block : find_large)(bytes);
    return start != NULL ? start + FRONT : behind_front(usual_memory.malloc(usual_memory.ctx, bytes), bytes);
}

static void *
keeper_calloc(void *unused, size_t many, size_t each)
{
    size_t bytes = many * each + FRONT; /* NumPy saw to it that this is no overflow */
    char *start = bytes < KEPT_FROM ? NULL : (is_for_keeping(bytes) ? find_block : find_large)(bytes);
    if (start != NULL) {
        memset(start + FRONT, 0, bytes - FRONT);
        return start + FRONT;
    }
    return behind_front(usual_memory.calloc(usual_memory.ctx, 1, bytes), bytes);
}

static void *
keeper_realloc(void *unused, void *old, size_t size)
{
    size_t bytes = size + FRONT;
    return old == NULL ? keeper_malloc(NULL, size)
                       : behind_front(usual_memory.realloc(usual_memory.ctx, (char *)old - FRONT, bytes), bytes);
}

/* Keep a block in the place of those that are older, where there is no room for all. */
static void
keeper_free(void *unused, void *array, size_t size)
{
    char *start;
    size_t bytes;
    if (array == NULL) {
        return;
    }
    start = (char *)array - FRONT;
    bytes = *(size_t *)start;
    while (is_for_keeping(bytes) && bytes <= most_kept) {
        int has_room;
        char *oldest = NULL;
        size_t freed = 0;
        lock_blocks();
        has_room = n_blocks < MOST_BLOCKS && bytes_kept + bytes <= most_kept;
        if (has_room) {
            blocks[n_blocks].start = start;
            blocks[n_blocks++].bytes = bytes;
            bytes_kept += bytes;
        }
        else {
            freed = blocks[0].bytes;
            oldest = take_block(0);
        }
        unlock_blocks();
        if (has_room) {
            return;
        }
        usual_memory.free(usual_memory.ctx, oldest, freed);
    }
    if (bytes <= KEPT_TO || !keep_large(start, bytes)) {
        usual_memory.free(usual_memory.ctx, start, bytes);
    }
}

static PyDataMem_Handler keeper_handler = {
    "nabla_array", 1, {NULL, keeper_malloc, keeper_calloc, keeper_realloc, keeper_free}};

/* Make the handler; returns 0 for an error. */
static int
make_keeper(void)
{
    PyDataMem_Handler *usual = PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (usual == NULL) {
        return 0;
    }
    usual_memory = usual->allocator;
    most_kept = pages > 0 && page > 0 ? (size_t)pages / 30 * (size_t)page : 0;
    most_kept = most_kept < MOST_BYTES ? most_kept : MOST_BYTES;
    keeper = PyCapsule_New(&keeper_handler, "mem_handler", NULL);
    return keeper != NULL;
}

/* keep_memory(): keep the memory of arrays that are made in this context from now on */
static PyObject *
keep_memory(PyObject *module, PyObject *unused)
{
    return PyDataMem_SetHandler(keeper);
}

/* count_run(by): count a schedule that begins to run (1), or ends (-1) */
static PyObject *
count_run(PyObject *module, PyObject *by)
{
    long change = PyLong_AsLong(by);
    int is_last;
    if (change == -1 && PyErr_Occurred()) {
        return NULL;
    }
    lock_blocks();
    n_runs += (int)change;
    is_last = n_runs == 0;
    unlock_blocks();
    if (is_last) {
        find_large(SIZE_MAX); /* nothing fits */
    }
    Py_RETURN_NONE;
}

/* Return a new array in the order of its axes; `dtype` is stolen. It runs nothing: to change the handler makes objects,
 * and what a collection lets go of may change what the caller looks at.
 */
static PyObject *
new_array(PyArray_Descr *dtype, int ndim, npy_intp *dims)
{
    npy_intp bytes = PyDataType_ELSIZE(dtype);
    PyObject *before, *array;
    int was_collecting;
    for (int axis = 0; axis < ndim; axis++) {
        bytes *= dims[axis];
    }
    if (bytes < KEPT_FROM || bytes > KEPT_TO) {
        return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, NULL, NULL, 0, NULL);
    }
    was_collecting = PyGC_Disable();
    if ((before = PyDataMem_SetHandler(keeper)) == NULL) {
        PyErr_Clear();
    }
    array = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, NULL, NULL, 0, NULL);
    if (before != NULL) {
        Py_XDECREF(PyDataMem_SetHandler(before));
        Py_DECREF(before);
    }
    if (was_collecting) {
        PyGC_Enable();
    }
    return array;
}
