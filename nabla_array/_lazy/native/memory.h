/* Memory of results, kept when they die for the next of about that size: to give it back to the system and take it
 * anew, page by page, may cost more than what is computed. NumPy asks here for the memory of arrays that are made
 * where its handler is in force (NEP 49): in the package's own contexts, and in `new_array`. Large blocks are kept only
 * while a schedule runs. They are given back at its end, and where a large array is made that none of them fits.
 */
#include <unistd.h>

/* Bytes from which on a block is kept, and above which it is large; how many of a kind are kept at most; bytes of all
 * those that are not large at most, if the machine has thirty times that.
 */
#ifdef __SANITIZE_ADDRESS__ /* which sees nothing of what is kept */
enum { MOST_BYTES = 0 };
#else
enum { MOST_BYTES = 1 << 27 };
#endif
enum { KEPT_FROM = 1 << 17, KEPT_TO = 1 << 25, MOST_BLOCKS = 64, MOST_LARGE = 8 };
/* Bytes in front of an array's, which say how many there are. */
enum { FRONT = 64 };

struct block {
    char *start;
    size_t bytes;
};

static struct shelf {
    struct block blocks[MOST_BLOCKS]; /* the oldest first */
    int n, most;
    size_t bytes, most_bytes;
} medium_shelf = {.most = MOST_BLOCKS}, large_shelf = {.most = MOST_LARGE};
static int n_runs; /* of schedules, now */
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

static inline struct shelf *
shelf_of(size_t bytes)
{
    return bytes > KEPT_TO ? &large_shelf : &medium_shelf;
}

/* Take a block from its shelf; the lock is held. */
static inline struct block
take_block(struct shelf *shelf, int place)
{
    struct block block = shelf->blocks[place];
    shelf->bytes -= block.bytes;
    memmove(&shelf->blocks[place], &shelf->blocks[place + 1], sizeof(block) * (size_t)(--shelf->n - place));
    return block;
}

/* Put a block on its shelf, if there is room. Returns which one the system must get back instead: the oldest of the
 * shelf, or this one, where none is kept. Its start is NULL if there was room.
 */
static struct block
put_block(struct block block)
{
    struct shelf *shelf = shelf_of(block.bytes);
    struct block out = block;
    lock_blocks();
    if (block.bytes <= shelf->most_bytes) {
        if (shelf->n < shelf->most && shelf->bytes + block.bytes <= shelf->most_bytes) {
            shelf->blocks[shelf->n++] = block;
            shelf->bytes += block.bytes;
            out.start = NULL;
        }
        else {
            out = take_block(shelf, 0);
        }
    }
    unlock_blocks();
    return out;
}

/* Give the large blocks back. */
static void
empty_large(void)
{
    struct block out;
    do {
        out = (struct block){NULL, 0};
        lock_blocks();
        if (large_shelf.n > 0) {
            out = take_block(&large_shelf, large_shelf.n - 1);
        }
        unlock_blocks();
        usual_memory.free(usual_memory.ctx, out.start, out.bytes);
    } while (out.start != NULL);
}

/* Return the last kept block of so many bytes, or some more, since a cache may have it; NULL if there is none. */
static char *
find_block(size_t bytes)
{
    struct shelf *shelf = shelf_of(bytes);
    char *start = NULL;
    if (bytes < KEPT_FROM) {
        return NULL;
    }
    lock_blocks();
    for (int place = shelf->n - 1; place >= 0 && start == NULL; place--) {
        if (shelf->blocks[place].bytes >= bytes && shelf->blocks[place].bytes - bytes <= bytes / 4) {
            start = take_block(shelf, place).start;
        }
    }
    unlock_blocks();
    if (start == NULL && shelf == &large_shelf) {
        empty_large();
    }
    return start;
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
    char *start = find_block(bytes);
    return start != NULL ? start + FRONT : behind_front(usual_memory.malloc(usual_memory.ctx, bytes), bytes);
}

static void *
keeper_calloc(void *unused, size_t many, size_t each)
{
    size_t bytes = many * each + FRONT; /* NumPy saw to it that this is no overflow */
    char *start = find_block(bytes);
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
    struct block mine, out;
    if (array == NULL) {
        return;
    }
    mine.start = (char *)array - FRONT;
    mine.bytes = *(size_t *)mine.start;
    do {
        out = mine.bytes < KEPT_FROM ? mine : put_block(mine);
        usual_memory.free(usual_memory.ctx, out.start, out.bytes);
    } while (out.start != NULL && out.start != mine.start);
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
    medium_shelf.most_bytes = pages > 0 && page > 0 ? (size_t)pages / 30 * (size_t)page : 0;
    medium_shelf.most_bytes = medium_shelf.most_bytes < MOST_BYTES ? medium_shelf.most_bytes : MOST_BYTES;
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
    n_runs = n_runs + change > 0 ? n_runs + (int)change : 0; /* a run that began before a fork may end in the child */
    is_last = n_runs == 0;
    large_shelf.most_bytes = is_last || medium_shelf.most_bytes == 0 ? 0 : SIZE_MAX;
    unlock_blocks();
    if (is_last) {
        empty_large();
    }
    Py_RETURN_NONE;
}

/* Begin anew in a forked child: another thread, which it does not have, may have been changing the shelves. */
static void
memory_forked(void)
{
    if (blocks_lock) {
        medium_shelf.n = large_shelf.n = 0;
        medium_shelf.bytes = large_shelf.bytes = 0;
    }
    n_runs = 0;
    large_shelf.most_bytes = 0;
    unlock_blocks();
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
