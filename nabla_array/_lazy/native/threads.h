/* How many threads a job is worth: it takes longer to wake one than to do many a job. */
#include <time.h>

static PyObject *cores; /* how many threads there are, if settings do not say */
static PyObject *s_threads;

/* Say whether NumPy computes a ufunc one number after the other: all others have vectors of them. */
static int
is_scalar_loop(const char *name, int type)
{
    switch (name[0]) {
    case 'c': return type == NPY_DOUBLE && strcmp(name, "cos") == 0;
    case 's': return type == NPY_DOUBLE && strcmp(name, "sin") == 0;
    case 'f': return strcmp(name, "fmod") == 0 || strcmp(name, "floor_divide") == 0;
    case 'h': return strcmp(name, "hypot") == 0;
    case 'l': return strncmp(name, "logaddexp", 9) == 0;
    case 'r': return strcmp(name, "remainder") == 0;
    default: return 0;
    }
}

/* Return how much longer a ufunc takes than a sum, about: some that only floating-point numbers have take four times as
 * long, those without vectors, and another library's (which begin with other dtypes than NumPy's), longer, and complex
 * numbers take more than two.
 */
static int
cost_of(PyUFuncObject *ufunc, int type)
{
    int first = ufunc->types[0];
    int cost = first > NPY_BYTE && first != NPY_HALF                             ? 16
               : is_scalar_loop(ufunc->name, type)                               ? 16
               : first == NPY_HALF && strcmp(ufunc->name, "divide") != 0 ? 4
                                                                                 : 1;
    return PyTypeNum_ISCOMPLEX(type) ? 3 * cost : cost;
}

/* Return how long its steps take, about: that of sums counts 1. */
static inline npy_intp
cost_of_job(const Job *job)
{
    npy_intp cost = 0;
    for (int s = 0; s < job->n_steps; s++) {
        cost += job->steps[s].cost;
    }
    return cost;
}

/* How many sums a thread must have to do to be worth waking, or telling while it is awake; elements of arrays that are
 * worth moving from one core to another; nanoseconds between what comes in close succession.
 */
enum { WORTH_WAKING = 1 << 16, WORTH_TELLING = 1 << 13, WORTH_MOVING = 1 << 12, CLOSE = 100000 };

/* Say whether so many sums, and what came shortly before, are worth waking one thread, for them and what comes next. */
static int
comes_often(npy_intp sums)
{
    static npy_int64 last;
    static npy_intp lately;
    struct timespec now;
    npy_int64 time;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    time = (npy_int64)now.tv_sec * 1000000000 + now.tv_nsec;
    lately = sums + (time - last < CLOSE ? lately : 0);
    last = time;
    return lately >= 2 * WORTH_WAKING;
}

/* Return how many threads so many sums are worth, of which a second may be awake, or to be woken, anyway: to wake one
 * takes a third of what makes it worth that.
 */
static int
threads_worth(npy_intp sums, int is_awake)
{
    long many = sums >= 2 * WORTH_WAKING ? (long)sqrt(3.0 * (double)sums / WORTH_WAKING) : is_awake ? 2 : 1, most;
    PyObject *wanted = many == 1 ? NULL : setting(s_threads);
    most = wanted == NULL ? 1 : PyLong_AsLong(wanted);
    most = most == 0 ? PyLong_AsLong(cores) : most;
    return (int)(many < most ? many : most);
}

/* Return how many threads are to do now what costs so much on so many elements. */
static int
threads_for(npy_intp cost, npy_intp size)
{
    npy_intp sums = size * cost;
    if (sums < 2 * WORTH_TELLING || size < WORTH_MOVING) {
        return 1;
    }
    return threads_worth(sums, (n_workers > 0 && __atomic_load_n(&workers[0].is_awake, __ATOMIC_RELAXED)) ||
                                   (sums < 2 * WORTH_WAKING && comes_often(sums)));
}

/* Say whether a job takes longer than it takes to let other threads have the interpreter's lock, some 10 us. */
static inline int
is_long(const Job *job)
{
    return job->size * cost_of_job(job) >= WORTH_WAKING / 2;
}

/* Run a job that is cut, on as many threads as it is worth; returns -1 where memory is short. Others may have the
 * interpreter's lock meanwhile if that is said.
 */
static int
run_job(Job *job, int lets_others)
{
    int threads = threads_for(cost_of_job(job), job->size);
    cut_stretches(job, threads);
    job->grain = job->units / (8 * threads);
    job->grain = job->grain < 1 ? 1 : job->grain > GRAIN ? GRAIN : job->grain;
    job->faults = 0;
    memset(job->step_faults, 0, sizeof(job->step_faults));
    if (share(job->task, job, threads <= job->units ? threads - 1 : 0, job->bytes, lets_others) < 0) {
        return -1;
    }
    for (int s = 0; s < job->n_steps; s++) {
        job->faults |= job->step_faults[s];
    }
    return 0;
}
