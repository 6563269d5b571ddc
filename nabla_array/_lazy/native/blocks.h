/* Elementwise steps run block by block with the loops of NumPy's ufuncs, so that what is in between stays in a
 * core's cache: what `cpu/blocks.py` does, without Python's time for each block. Nothing here touches Python's objects:
 * the threads that share a job need no interpreter.
 */
#include <fenv.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MOST_STEPS = 64, MOST_OPERANDS = 128, MOST_DIMS = 8, MOST_ROWS = 64, MOST_ARGS = 5 };
/* Elements that a block has at least, and that it has without buffers; bytes of all buffers of one at most, if it has
 * more elements than that: they are to stay in a core's first cache, beside what is read and written.
 */
enum { LEAST = 512, UNBUFFERED = 4096, CACHED = 1 << 13 };
/* Innermost axes up to which several rows make one block, and up to which one element is copied along them. */
enum { SHORT = 192, SHORTEST = 48, MANY_ROWS = 8 };
/* Units that a thread takes at once at most: what lies together is read together. */
enum { GRAIN = 64 };
/* Threads that have units of their own. */
enum { MOST_STRETCHES = 16 };

/* What a step does: something to each element; one for each row; one for each column (of some rows at a time); one for
 * each part of all elements (`run_fold`).
 */
enum kind { EACH, REDUCE, SPREAD, JOIN, FOLD };

typedef struct {
    enum kind kind;
    PyUFuncGenericFunction loop;
    void *data;
    int many, args[MOST_ARGS]; /* the numbers of its operands, the result's last */
    int cost;          /* how much longer it takes than a sum, about */
    int result;        /* the dtype of a ufunc's result, by its number */
    int is_quiet;      /* whether NumPy tells of no faults of it */
    int is_slow_on_one; /* whether one element that repeats takes it several times as long as many in a row */
    int has_identity;  /* whether a reduction begins with that, else with the first element */
    int short_row;     /* elements of a row up to which NumPy reduces it one after the other */
    char identity[16];
} Step;

typedef struct {
    char *data;      /* NULL for what stays inside */
    int is_narrow;   /* whether it has one element for each row (tables.h) */
    int slot, live;  /* which of a block's buffers that has; the last step that needs it */
    int copy;        /* which of the buffers has it row after row where short rows repeat something; else -1 */
    int is_fixed;    /* whether those rows are all one */
    npy_intp itemsize, strides[MOST_DIMS];
} Operand;

/* Units that are one thread's, until others have nothing left of their own: the next that nobody has begun, and the end.
 * Each lies in a line of the caches.
 */
typedef struct {
    npy_intp next, end;
    char rest[64 - 2 * sizeof(npy_intp)];
} Stretch;

typedef struct {
    int ndim, n_steps, n_operands;
    int is_table;          /* whether it is some rows, with operands that have one element for each (tables.h) */
    int n_slots, n_narrow; /* how many buffers, and how many for those that are narrow */
    int n_copies;          /* how many for rows that repeat something */
    npy_intp dims[MOST_DIMS], size, widest;
    Step steps[MOST_STEPS];
    Operand operands[MOST_OPERANDS];
    /* how it is cut: what a thread does, with so many bytes of its own */
    void (*task)(void *, char *);
    size_t bytes;
    npy_intp outer, length, rows, group, across, units;
    npy_intp pitch; /* elements from one row of a buffer to the next */
    int is_joined;  /* whether rows are run as one, with what lies between them in memory */
    Stretch stretches[MOST_STRETCHES];
    int n_stretches;
    npy_intp grain; /* how many units a thread takes at once */
    int faults, step_faults[MOST_STEPS];
} Job;

/* Return which of NumPy's floating-point faults this thread has seen, as <fenv.h> names them; forgets them. */
static inline int
take_faults(void)
{
#if defined(__SSE2__) && FE_INVALID == 1 && FE_DIVBYZERO == 4 && FE_OVERFLOW == 8 && FE_UNDERFLOW == 16
    unsigned int state = _mm_getcsr();
    if (state & 0x1d) {
        _mm_setcsr(state & ~0x3fu);
    }
    return (int)(state & 0x1d);
#else
    int found = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    if (found) {
        feclearexcept(found);
    }
    return found;
#endif
}

/* Give each of some threads a stretch of the units: what it writes, it reads in the next job, from its own cache. */
static void
cut_stretches(Job *job, int threads)
{
    int n = threads < MOST_STRETCHES ? threads : MOST_STRETCHES;
    job->n_stretches = n;
    for (int k = 0; k < n; k++) {
        job->stretches[k].next = job->units / n * k + job->units % n * k / n;
        job->stretches[k].end = job->units / n * (k + 1) + job->units % n * (k + 1) / n;
    }
}

/* Take some units of this thread's stretch, or of another's if it has none left; returns 0 where nothing is left. */
static inline int
take_units(Job *job, npy_intp grain, npy_intp *unit, npy_intp *end)
{
    for (int k = 0; k < job->n_stretches; k++) {
        Stretch *s = &job->stretches[(my_place + k) % job->n_stretches];
        if (__atomic_load_n(&s->next, __ATOMIC_RELAXED) < s->end &&
            (*unit = __atomic_fetch_add(&s->next, grain, __ATOMIC_RELAXED)) < s->end) {
            *end = *unit + grain < s->end ? *unit + grain : s->end;
            return 1;
        }
    }
    return 0;
}

/* Merge axes along which every array goes on where it was. */
static void
merge_axes(Job *job)
{
    int n = 0;
    for (int axis = 0; axis < job->ndim; axis++) {
        int merges = n > 0;
        if (job->dims[axis] == 1) {
            continue;
        }
        for (int k = 0; merges && k < job->n_operands; k++) {
            Operand *o = &job->operands[k];
            merges = o->data == NULL || o->strides[n - 1] == o->strides[axis] * job->dims[axis];
        }
        if (!merges) {
            n++;
        }
        job->dims[n - 1] = merges ? job->dims[n - 1] * job->dims[axis] : job->dims[axis];
        for (int k = 0; k < job->n_operands; k++) {
            job->operands[k].strides[n - 1] = job->operands[k].strides[axis];
        }
    }
    if (n == 0) {
        job->dims[n++] = 1;
        for (int k = 0; k < job->n_operands; k++) {
            job->operands[k].strides[0] = 0;
        }
    }
    job->ndim = n;
}

/* Give what stays inside its buffers: a dead one's where that may be written over, as by a ufunc of its own size. */
static void
assign_slots(Job *job)
{
    int free[2][MOST_OPERANDS], n_free[2] = {0, 0};
    job->n_slots = job->n_narrow = job->n_copies = 0;
    for (int k = 0; k < job->n_operands; k++) {
        job->operands[k].live = job->operands[k].copy = -1;
    }
    for (int s = 0; s < job->n_steps; s++) {
        for (int i = 0; i < job->steps[s].many; i++) {
            job->operands[job->steps[s].args[i]].live = s;
        }
    }
    for (int s = 0; s < job->n_steps; s++) {
        Step *step = &job->steps[s];
        Operand *out = &job->operands[step->args[step->many - 1]];
        for (int late = 0; late < 2; late++) {
            for (int i = 0; i < step->many - 1; i++) {
                Operand *o = &job->operands[step->args[i]];
                int is_first = 1;
                for (int j = 0; j < i; j++) {
                    is_first &= step->args[j] != step->args[i];
                }
                if (is_first && o->data == NULL && o->live == s &&
                    (o->itemsize != out->itemsize || step->kind != EACH) == late) {
                    free[o->is_narrow][n_free[o->is_narrow]++] = o->slot;
                }
            }
            if (late == 0 && out->data == NULL) {
                int *some = &n_free[out->is_narrow];
                out->slot = *some > 0            ? free[out->is_narrow][--*some]
                            : out->is_narrow ? job->n_narrow++
                                             : job->n_slots++;
            }
        }
    }
}

/* Find what is read and is the same in each row, or along it: rows that are short are copied, so that many of them take
 * one call of a loop.
 */
static void
find_repeated(Job *job)
{
    for (int k = job->n_steps; k < job->n_operands; k++) {
        Operand *o = &job->operands[k];
        npy_intp s = o->strides[job->ndim - 1], t = o->strides[job->ndim - 2];
        if (!o->is_narrow && (s == 0) != (t == 0) && (s != 0 || job->dims[job->ndim - 1] <= SHORTEST)) {
            o->copy = job->n_copies++;
            o->is_fixed = 1;
            for (int axis = 0; axis < job->ndim - 1; axis++) {
                o->is_fixed &= o->strides[axis] == 0;
            }
        }
    }
}

/* Find single elements that loops would rather have as many; not those that are written here. */
static void
find_single(Job *job)
{
    for (int s = 0; s < job->n_steps; s++) {
        for (int i = 0; i < job->steps[s].many - 1; i++) {
            int k = job->steps[s].args[i];
            Operand *o = &job->operands[k];
            int is_single = k >= job->n_steps && o->copy < 0 && job->steps[s].is_slow_on_one;
            for (int axis = 0; axis < job->ndim; axis++) {
                is_single &= o->strides[axis] == 0;
            }
            if (is_single) {
                o->copy = job->n_copies++;
                o->is_fixed = 1;
            }
        }
    }
}

static void
forget_repeated(Job *job)
{
    for (int k = job->n_steps; k < job->n_operands; k++) {
        job->operands[k].copy = -1;
    }
    job->n_copies = 0;
}

#define COPY_ROW(type)                                                                                               \
    if (stride == 0) {                                                                                               \
        type x = *(const type *)from;                                                                                \
        for (npy_intp i = 0; i < n; i++) {                                                                           \
            ((type *)to)[i] = x;                                                                                     \
        }                                                                                                            \
        return;                                                                                                      \
    }                                                                                                                \
    for (npy_intp i = 0; i < n; i++) {                                                                               \
        ((type *)to)[i] = *(const type *)(from + i * stride);                                                        \
    }                                                                                                                \
    return

/* Put elements that are some bytes apart beside each other. */
static inline void
copy_row(char *to, const char *from, npy_intp stride, npy_intp n, npy_intp itemsize)
{
    if (stride == itemsize) {
        memcpy(to, from, (size_t)(n * itemsize));
        return;
    }
    switch (itemsize) {
    case 1: COPY_ROW(npy_uint8);
    case 2: COPY_ROW(npy_uint16);
    case 4: COPY_ROW(npy_uint32);
    case 8: COPY_ROW(npy_uint64);
    default:
        for (npy_intp i = 0; i < n; i++) {
            memcpy(to + i * itemsize, from + i * stride, (size_t)itemsize);
        }
    }
}

/* Return how many elements lie from each row to the next in all that is read and does not repeat anything, 0 if that is
 * not one number.
 */
static npy_intp
common_pitch(Job *job)
{
    npy_intp pitch = 0, inner = job->dims[job->ndim - 1];
    for (int k = job->n_steps; k < job->n_operands; k++) {
        Operand *o = &job->operands[k];
        npy_intp s = o->strides[job->ndim - 1], t = o->strides[job->ndim - 2];
        if (o->copy >= 0 || s == 0) {
            continue;
        }
        if (s < 0 || t <= 0 || t % s != 0 || (pitch != 0 && pitch != t / s)) {
            return 0;
        }
        pitch = t / s;
    }
    if (pitch == 0) {
        return inner;
    }
    return pitch >= inner && pitch < inner + inner / 2 ? pitch : 0;
}

/* Return the size of the widest element, or of the widest in a buffer. */
static npy_intp
widest_item(Job *job, int in_buffer)
{
    npy_intp widest = 1;
    for (int k = 0; k < job->n_operands; k++) {
        const Operand *o = &job->operands[k];
        if (o->itemsize > widest && (!in_buffer || o->data == NULL || o->copy >= 0)) {
            widest = o->itemsize;
        }
    }
    return widest;
}

/* Return how many elements a block should have. */
static npy_intp
block_size(Job *job)
{
    int many = job->n_slots + job->n_copies;
    npy_intp size = many == 0 ? UNBUFFERED : CACHED / (widest_item(job, 1) * many);
    return size < LEAST ? LEAST : size > UNBUFFERED ? UNBUFFERED : size;
}

/* Note the faults of a step. A truth value is none's result: what NumPy compares may be nan. */
static inline void
note_faults(Job *job, int step)
{
    int found = take_faults();
    if (found && !job->steps[step].is_quiet) {
        __atomic_fetch_or(&job->step_faults[step], found, __ATOMIC_RELAXED);
    }
}

/* Find where row number `row` of each array begins. */
static inline void
begin_row(Job *job, npy_intp row, char **starts)
{
    npy_intp at[MOST_DIMS];
    for (int axis = job->ndim - 2; axis >= 0; axis--) {
        at[axis] = row % job->dims[axis];
        row /= job->dims[axis];
    }
    for (int k = 0; k < job->n_operands; k++) {
        char *p = job->operands[k].data;
        for (int axis = 0; p != NULL && axis < job->ndim - 1; axis++) {
            p += at[axis] * job->operands[k].strides[axis];
        }
        starts[k] = p;
    }
}

/* Reduce `n` elements, at least one, as NumPy does. */
static inline void
reduce_to(const Step *step, char *out, char *from, npy_intp stride, npy_intp n, npy_intp itemsize)
{
    npy_intp strides[3] = {0, stride, 0};
    char *data[3] = {out, from, out};
    memmove(out, step->has_identity ? step->identity : from, (size_t)itemsize);
    if (!step->has_identity) {
        data[1] += stride;
        n--;
    }
    if (n > 0) {
        step->loop(data, &n, strides, step->data);
    }
}

/* Rows from which short ones are reduced column by column, so many at a time, which stay in the nearest cache. */
enum { ROWS_BY_COLUMNS = 8, ROWS_AT_ONCE = 512 };

/* Reduce rows to one element each, as NumPy does; its loop has a call for each row, or for each column of short ones. */
static void
reduce_rows(const Step *step, char *out, npy_intp out_step, char *from, npy_intp row_step, npy_intp stride, npy_intp rows,
            npy_intp n, npy_intp itemsize)
{
    double identity[2]; /* aligned, which those in steps need not be */
    if (n < 2 || n > step->short_row || rows < ROWS_BY_COLUMNS) {
        for (npy_intp row = 0; row < rows; row++) {
            reduce_to(step, out + row * out_step, from + row * row_step, stride, n, itemsize);
        }
        return;
    }
    memcpy(identity, step->identity, sizeof identity);
    for (npy_intp row = 0; row < rows; row += ROWS_AT_ONCE) {
        npy_intp some = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
        char *column = from + row * row_step, *found = out + row * out_step;
        for (npy_intp k = !step->has_identity; k < n; k++) {
            int is_first = k == !step->has_identity;
            char *before = !is_first ? found : step->has_identity ? (char *)identity : column;
            npy_intp strides[3] = {!is_first ? out_step : step->has_identity ? 0 : row_step, row_step, out_step};
            char *data[3] = {before, column + k * stride, found};
            step->loop(data, &some, strides, step->data);
        }
    }
}

/* Do all steps to some elements of rows that begin there. */
static inline void
run_steps(Job *job, char *const *starts, npy_intp start, npy_intp n, npy_intp unit, char *const *buffers)
{
    for (int s = 0; s < job->n_steps; s++) {
        Step *step = &job->steps[s];
        char *data[MOST_ARGS];
        npy_intp strides[MOST_ARGS];
        for (int i = 0; i < step->many; i++) {
            Operand *o = &job->operands[step->args[i]];
            strides[i] = o->data == NULL ? o->itemsize : o->strides[job->ndim - 1];
            data[i] = o->data == NULL ? buffers[o->slot] : starts[step->args[i]] + start * strides[i];
            if (o->copy >= 0) {
                data[i] = buffers[job->n_slots + o->copy];
                strides[i] = o->itemsize;
            }
        }
        if (step->kind == FOLD) {
            npy_intp itemsize = job->operands[step->args[1]].itemsize;
            reduce_to(step, job->operands[step->args[1]].data + unit * itemsize, data[0], strides[0], n, itemsize);
        }
        else {
            step->loop(data, &n, strides, step->data);
        }
        note_faults(job, s);
    }
}

/* Run one part of a row. */
static void
run_piece(Job *job, npy_intp unit, char *const *buffers)
{
    npy_intp start = unit % job->across * job->length, inner = job->dims[job->ndim - 1];
    npy_intp n = inner - start < job->length ? inner - start : job->length;
    char *starts[MOST_OPERANDS];
    begin_row(job, unit / job->across, starts);
    run_steps(job, starts, start, n, unit, buffers);
}

/* Copy rows of what repeats something to its buffers: what is one row for all, or what is not. */
static void
copy_repeated(Job *job, int is_fixed, npy_intp many, npy_intp pitch, char *const *starts, char *const *copies)
{
    for (int k = job->n_steps; k < job->n_operands; k++) {
        Operand *o = &job->operands[k];
        for (npy_intp row = 0; o->copy >= 0 && o->is_fixed == is_fixed && row < many; row++) {
            copy_row(copies[o->copy] + row * pitch * o->itemsize, starts[k] + row * o->strides[job->ndim - 2],
                     o->strides[job->ndim - 1], job->length, o->itemsize);
        }
    }
}

/* Say whether many rows of an operand can be had, or written, as one. */
static inline int
is_one_run(Job *job, int k)
{
    Operand *o = &job->operands[k];
    if (o->data == NULL || o->copy >= 0) {
        return 1;
    }
    if (k >= job->n_steps) {
        return job->is_joined && (o->strides[job->ndim - 1] != 0 || o->strides[job->ndim - 2] == 0);
    }
    return job->is_joined && job->pitch == job->length && o->strides[job->ndim - 1] == o->itemsize &&
           o->strides[job->ndim - 2] == job->length * o->itemsize;
}

/* Run some rows: in one call where they lie one behind the other, or what lies between them is no matter. */
static void
run_rows(Job *job, npy_intp unit, char *const *buffers)
{
    npy_intp plane = job->is_joined ? job->dims[job->ndim - 2] : job->outer, inner = job->length;
    npy_intp first = unit / job->across * plane + unit % job->across * job->rows;
    npy_intp left = plane - unit % job->across * job->rows, many = left < job->rows ? left : job->rows;
    npy_intp whole = (many - 1) * job->pitch + inner;
    char *starts[MOST_ROWS][MOST_OPERANDS];
    for (npy_intp row = 0; row < (job->is_joined ? 1 : many); row++) {
        begin_row(job, first + row, starts[row]);
    }
    if (job->n_copies > 0 && job->is_joined) {
        copy_repeated(job, 0, many, job->pitch, starts[0], buffers + job->n_slots);
    }
    for (int s = 0; s < job->n_steps; s++) {
        Step *step = &job->steps[s];
        char *data[MOST_ARGS];
        npy_intp strides[MOST_ARGS];
        int is_one = 1;
        for (int i = 0; i < step->many; i++) {
            Operand *o = &job->operands[step->args[i]];
            strides[i] = o->data == NULL || o->copy >= 0 ? o->itemsize : o->strides[job->ndim - 1];
            is_one &= is_one_run(job, step->args[i]);
        }
        for (npy_intp row = 0; row < (is_one ? 1 : many); row++) {
            for (int i = 0; i < step->many; i++) {
                int k = step->args[i];
                Operand *o = &job->operands[k];
                if (o->data == NULL || o->copy >= 0) {
                    data[i] = buffers[o->data == NULL ? o->slot : job->n_slots + o->copy] + row * job->pitch * o->itemsize;
                }
                else {
                    data[i] = job->is_joined ? starts[0][k] + row * o->strides[job->ndim - 2] : starts[row][k];
                }
            }
            step->loop(data, is_one ? &whole : &inner, strides, step->data);
        }
        note_faults(job, s);
    }
}

/* Give a thread its buffers, with what is in them for all of the job. */
static void
prepare_buffers(Job *job, char *memory, char **buffers)
{
    npy_intp rows = job->rows > 0 ? job->rows : 1;
    memory += 63 - ((npy_uintp)memory + 63) % 64;
    for (int slot = 0; slot < job->n_slots + job->n_copies; slot++) {
        buffers[slot] = memory + slot * rows * job->pitch * job->widest;
    }
    if (job->n_copies > 0) {
        char *starts[MOST_OPERANDS];
        begin_row(job, 0, starts);
        copy_repeated(job, 1, rows, job->pitch, starts, buffers + job->n_slots);
    }
    take_faults();
}

/* Run what nobody has begun, until nothing is left. */
static void
work(void *given, char *memory)
{
    Job *job = given;
    char *buffers[MOST_OPERANDS];
    npy_intp unit, end;
    prepare_buffers(job, memory, buffers);
    while (take_units(job, job->grain, &unit, &end)) {
        for (; unit < end; unit++) {
            (job->rows > 0 ? run_rows : run_piece)(job, unit, buffers);
        }
    }
}

/* Return how many bytes the buffers of a thread take. */
static inline size_t
buffer_bytes(Job *job)
{
    int many = job->n_slots + job->n_copies;
    return (size_t)(many * (job->rows > 0 ? job->rows : 1) * job->pitch * job->widest + 64);
}

/* Decide how it is cut: into parts of rows, or into some rows at a time where those are short. */
static void
cut_blocks(Job *job)
{
    npy_intp inner = job->dims[job->ndim - 1], outer = 1, block, parts;
    for (int axis = 0; axis < job->ndim - 1; axis++) {
        outer *= job->dims[axis];
    }
    job->outer = outer;
    if (inner <= SHORT && outer > 1) {
        npy_intp plane = job->dims[job->ndim - 2];
        block = block_size(job);
        find_repeated(job);
        job->pitch = plane >= MANY_ROWS ? common_pitch(job) : 0;
        job->is_joined = job->pitch > 0;
        if (!job->is_joined) { /* rows of one plane, or of several */
            forget_repeated(job);
            job->pitch = inner;
            plane = outer;
        }
        job->rows = block / job->pitch < MOST_ROWS ? block / job->pitch : MOST_ROWS;
        job->length = inner;
        job->across = (plane + job->rows - 1) / job->rows;
        job->rows = (plane + job->across - 1) / job->across;
        job->units = outer / plane * job->across;
    }
    else {
        if (job->n_slots > 0) { /* without buffers, it is memory that takes the time */
            find_single(job);
        }
        block = block_size(job);
        parts = (inner + block - 1) / block;
        job->is_joined = 0;
        job->rows = 0;
        job->length = job->pitch = (inner + parts - 1) / parts;
        job->across = (inner + job->length - 1) / job->length;
        job->units = outer * job->across;
    }
    job->task = work;
    job->widest = widest_item(job, 1);
    job->bytes = buffer_bytes(job);
}

/* Run the parts of a fold that nobody has begun. A part is a node of the tree by which NumPy adds up all elements: a half
 * of a half, each of a multiple of 8 elements, and the rest; so what parts become has NumPy's bits if halves are joined.
 */
static void
work_on_fold(void *given, char *memory)
{
    Job *job = given;
    char *buffers[MOST_OPERANDS], *starts[MOST_OPERANDS];
    npy_intp unit, end;
    prepare_buffers(job, memory, buffers);
    begin_row(job, 0, starts);
    while (take_units(job, job->grain, &unit, &end)) {
        for (; unit < end; unit++) {
            npy_intp start = 0, n = job->dims[0];
            for (npy_intp half = job->units / 2; half > 0; half /= 2) {
                npy_intp first = n / 2 - n / 2 % 8;
                start += unit & half ? first : 0;
                n = unit & half ? n - first : first;
            }
            run_steps(job, starts, start, n, unit, buffers);
        }
    }
}

static int
is_fold(const Job *job)
{
    for (int s = 0; s < job->n_steps; s++) {
        if (job->steps[s].kind == FOLD) {
            return 1;
        }
    }
    return 0;
}

/* Decide how a fold is cut, into 8 ** k parts; returns 0 where its elements do not lie in one row. */
static int
cut_fold(Job *job)
{
    find_single(job);
    job->outer = job->across = job->units = 1;
    job->rows = job->is_joined = 0;
    while (job->dims[0] / job->units > 4 * LEAST) {
        job->units *= 8;
    }
    job->length = job->pitch = job->dims[0] / job->units + 16; /* what is left of halves is less */
    job->task = work_on_fold;
    job->bytes = buffer_bytes(job);
    return job->ndim == 1;
}
