/* Fusion groups in which each row becomes one element, or some rows do, and what is one element a row meets what is many. */

/* Bytes that the buffers of one row may take; that those of a block have, about. How many rows a block has decides what
 * is added to what where they are joined.
 */
enum { LARGEST_ROW = 1 << 19, CACHED_ROWS = 1 << 16, MOST_JOINED = 64 };

/* Return where the elements of an operand begin for a row of a block, and how far apart those are. */
static inline char *
row_of(Job *job, const Operand *o, npy_intp first, npy_intp row, char *const *buffers, npy_intp *stride)
{
    if (o->data != NULL && o->copy >= 0) {
        *stride = o->itemsize;
        return buffers[job->n_slots + job->n_narrow + o->copy] + row * job->length * o->itemsize;
    }
    if (o->data != NULL) {
        *stride = o->is_narrow ? 0 : o->strides[1];
        return o->data + (first + row) * o->strides[0];
    }
    *stride = o->is_narrow ? 0 : o->itemsize;
    return o->is_narrow ? buffers[job->n_slots + o->slot] + row * o->itemsize
                        : buffers[o->slot] + row * job->length * o->itemsize;
}

/* Say whether the rows of an operand that is not narrow lie one behind the other. */
static inline int
is_flat(Job *job, const Operand *o)
{
    return !o->is_narrow && (o->data == NULL || o->copy >= 0 || o->strides[0] == job->length * o->strides[1]);
}

/* Do a step to each element of some rows. */
static void
run_each(Job *job, const Step *step, npy_intp first, npy_intp many, char *const *buffers)
{
    const Operand *out = &job->operands[step->args[step->many - 1]];
    npy_intp n = job->length, calls = many, strides[MOST_ARGS];
    char *data[MOST_ARGS];
    int are_flat = 1;
    for (int i = 0; i < step->many; i++) {
        are_flat &= is_flat(job, &job->operands[step->args[i]]);
    }
    if (out->is_narrow || are_flat) {
        n = out->is_narrow ? many : many * n;
        calls = 1;
    }
    for (npy_intp row = 0; row < calls; row++) {
        for (int i = 0; i < step->many; i++) {
            const Operand *o = &job->operands[step->args[i]];
            data[i] = row_of(job, o, first, row, buffers, &strides[i]);
            if (out->is_narrow) {
                strides[i] = o->data != NULL ? o->strides[0] : o->itemsize;
            }
        }
        step->loop(data, &n, strides, step->data);
    }
}

/* Reduce each of some rows to one element. */
static void
run_reduce(Job *job, const Step *step, npy_intp first, npy_intp many, char *const *buffers)
{
    const Operand *from = &job->operands[step->args[0]], *out = &job->operands[step->args[1]];
    npy_intp stride, unused;
    char *start = row_of(job, from, first, 0, buffers, &stride), *to = row_of(job, out, first, 0, buffers, &unused);
    npy_intp row_step = row_of(job, from, first, 1, buffers, &unused) - start;
    npy_intp out_step = row_of(job, out, first, 1, buffers, &unused) - to;
    reduce_rows(step, to, out_step, start, row_step, stride, many, job->length, from->itemsize);
}

/* Repeat one element along each of some rows, which stay inside. */
static void
run_spread(Job *job, const Step *step, npy_intp first, npy_intp many, char *const *buffers)
{
    const Operand *from = &job->operands[step->args[0]], *out = &job->operands[step->args[1]];
    for (npy_intp row = 0; row < many; row++) {
        npy_intp unused;
        char *data = row_of(job, out, first, row, buffers, &unused);
        copy_row(data, row_of(job, from, first, row, buffers, &unused), 0, job->length, out->itemsize);
    }
}

/* Reduce some rows to one, which has a place for each unit; `begins`: they are its first. */
static void
run_join(Job *job, const Step *step, npy_intp unit, int begins, npy_intp first, npy_intp many, char *const *buffers)
{
    const Operand *from = &job->operands[step->args[0]], *out = &job->operands[step->args[1]];
    char *data = out->data + unit * out->strides[0];
    npy_intp stride, n = job->length;
    double identity[2]; /* aligned, which those in steps need not be */
    char *start = row_of(job, from, first, 0, buffers, &stride);
    if (from->is_narrow) {
        reduce_to(step, data, start, from->data != NULL ? from->strides[0] : from->itemsize, many, from->itemsize);
        return;
    }
    if (begins && !step->has_identity) {
        copy_row(data, start, stride, n, out->itemsize);
    }
    memcpy(identity, step->identity, sizeof identity);
    for (npy_intp row = begins && !step->has_identity; row < many; row++) {
        int is_first = begins && row == 0;
        npy_intp strides[3] = {is_first ? 0 : out->itemsize, 0, out->itemsize};
        char *args[3] = {is_first ? (char *)identity : data, row_of(job, from, first, row, buffers, &strides[1]), data};
        step->loop(args, &n, strides, step->data);
    }
}

/* Run the steps for a block of rows, the first one of a unit or another. */
static void
run_block(Job *job, npy_intp unit, int begins, npy_intp first, char *const *buffers)
{
    npy_intp left = job->dims[0] - first, many = left < job->rows ? left : job->rows;
    if (job->n_copies > 0) {
        char *starts[MOST_OPERANDS];
        for (int k = 0; k < job->n_operands; k++) {
            starts[k] = job->operands[k].data + (k < job->n_steps ? 0 : first * job->operands[k].strides[0]);
        }
        copy_repeated(job, 0, many, job->length, starts, (char **)buffers + job->n_slots + job->n_narrow);
    }
    for (int s = 0; s < job->n_steps; s++) {
        const Step *step = &job->steps[s];
        switch (step->kind) {
        case REDUCE: run_reduce(job, step, first, many, buffers); break;
        case SPREAD: run_spread(job, step, first, many, buffers); break;
        case JOIN: run_join(job, step, unit, begins, first, many, buffers); break;
        default: run_each(job, step, first, many, buffers);
        }
        note_faults(job, s);
    }
}

/* Run the units of blocks that nobody has begun. */
static void
work_on_table(void *given, char *memory)
{
    Job *job = given;
    char *buffers[2 * MOST_OPERANDS], *starts[MOST_OPERANDS];
    int others = job->n_slots + job->n_narrow;
    npy_intp unit, end, wide = job->rows * job->length * job->widest;
    memory += 63 - ((npy_uintp)memory + 63) % 64;
    for (int slot = 0; slot < others + job->n_copies; slot++) {
        buffers[slot] = memory;
        memory += slot < job->n_slots || slot >= others ? wide : job->rows * job->widest;
    }
    for (int k = 0; k < job->n_operands; k++) {
        starts[k] = job->operands[k].data;
    }
    copy_repeated(job, 1, job->rows, job->length, starts, buffers + others);
    take_faults();
    while (take_units(job, 1, &unit, &end)) {
        npy_intp start = unit * job->group * job->rows, stop = start + job->group * job->rows;
        for (npy_intp first = start; first < stop && first < job->dims[0]; first += job->rows) {
            run_block(job, unit, first == start, first, buffers);
        }
    }
}

/* Return how many blocks share a place for what is joined: to read long rows of many blocks would take longest. */
static npy_intp
blocks_in_unit(const Job *job, npy_intp blocks)
{
    int is_joined = 0;
    for (int s = 0; s < job->n_steps; s++) {
        if (job->steps[s].kind == JOIN) {
            if (job->operands[job->steps[s].args[0]].is_narrow) {
                return 1; /* short: halves of halves are more exact */
            }
            is_joined = 1;
        }
    }
    return is_joined ? (blocks + MOST_JOINED - 1) / MOST_JOINED : 1;
}

/* Decide how a table is cut into blocks of rows; returns 0 where its rows are too long. */
static int
cut_table(Job *job)
{
    npy_intp row, blocks, wide;
    job->length = job->dims[1];
    if (job->length <= SHORT) {
        find_repeated(job);
    }
    row = job->widest * (job->n_slots > 0 ? job->n_slots : 1) * job->length;
    if (row > LARGEST_ROW) {
        return 0;
    }
    job->rows = CACHED_ROWS / row;
    job->rows = job->rows < 1 ? 1 : job->rows > LEAST ? LEAST : job->rows;
    job->rows = job->rows < job->dims[0] ? job->rows : job->dims[0];
    blocks = (job->dims[0] + job->rows - 1) / job->rows;
    job->group = blocks_in_unit(job, blocks);
    job->units = (blocks + job->group - 1) / job->group;
    wide = job->n_slots + job->n_copies;
    job->task = work_on_table;
    job->bytes = (size_t)(job->rows * job->widest * (wide * job->length + job->n_narrow) + 64);
    return 1;
}

/* Decide how a job is cut; returns 0 where it cannot be. */
static int
cut_job(Job *job)
{
    if (!job->is_table) {
        merge_axes(job);
    }
    assign_slots(job);
    job->widest = widest_item(job, 0);
    if (job->is_table) {
        return cut_table(job);
    }
    if (is_fold(job)) {
        return cut_fold(job);
    }
    cut_blocks(job);
    return 1;
}
