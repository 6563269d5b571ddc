/* Threads that share a task with the one that has it; they need no interpreter. */
#include <pythread.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MOST_WORKERS = 63 };

/* A thread that waits for jobs: awake for a while after each, since to wake it takes longer than many jobs, then asleep.
 * `go` is released to wake it, once (`is_called`) until it wakes; `done` when a job that it began is done. One that it
 * did not begin before nothing of it was left is taken back.
 */
enum { IDLE, OFFERED, BEGUN };
enum { GLANCES = 2000 }; /* at what may have changed, some 50 us in all */
typedef struct {
    PyThread_type_lock go, done;
    int state, is_called, is_awake;
    void (*task)(void *, char *);
    void *given;
    char *memory;
    size_t bytes;
} Worker;

static Worker workers[MOST_WORKERS];
static int n_workers;
static __thread int my_place; /* among those that share a task: 0 for the thread that has it */

static char *
with_room(Worker *w, size_t bytes)
{
    if (w->bytes < bytes) {
        PyMem_RawFree(w->memory);
        w->memory = PyMem_RawMalloc(bytes);
        w->bytes = w->memory == NULL ? 0 : bytes;
    }
    return w->memory;
}

static inline int
changes(int *state, int from, int to)
{
    return __atomic_compare_exchange_n(state, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Let a moment pass. */
static inline void
pause_shortly(void)
{
#if defined(__SSE2__)
    _mm_pause();
#endif
}

/* Do what is offered; returns whether something was. */
static inline int
accept_job(Worker *w)
{
    if (!changes(&w->state, OFFERED, BEGUN)) {
        return 0;
    }
    w->task(w->given, w->memory);
    __atomic_store_n(&w->state, IDLE, __ATOMIC_SEQ_CST);
    PyThread_release_lock(w->done);
    return 1;
}

static void
serve(void *arg)
{
    Worker *w = arg;
    my_place = (int)(w - workers) + 1;
    for (;;) {
        PyThread_acquire_lock(w->go, WAIT_LOCK);
        __atomic_store_n(&w->is_called, 0, __ATOMIC_SEQ_CST);
        do {
            __atomic_store_n(&w->is_awake, 1, __ATOMIC_SEQ_CST);
            for (int left = GLANCES; left > 0; left--) {
                if (__atomic_load_n(&w->state, __ATOMIC_RELAXED) == OFFERED && accept_job(w)) {
                    left = GLANCES;
                }
                pause_shortly();
            }
            __atomic_store_n(&w->is_awake, 0, __ATOMIC_SEQ_CST);
        } while (accept_job(w)); /* who offered that may have seen it awake */
    }
}

/* Wait until a job that a worker began is done. */
static void
await(Worker *w)
{
    for (int left = GLANCES; left > 0; left--) {
        if (PyThread_acquire_lock(w->done, NOWAIT_LOCK)) {
            return;
        }
        pause_shortly();
    }
    PyThread_acquire_lock(w->done, WAIT_LOCK);
}

/* Have at least so many threads, if that can be; returns how many there are. */
static int
start_workers(int wanted)
{
    while (n_workers < wanted && n_workers < MOST_WORKERS) {
        Worker *w = &workers[n_workers];
        *w = (Worker){.memory = w->memory, .bytes = w->bytes};
        w->go = PyThread_allocate_lock();
        w->done = PyThread_allocate_lock();
        if (w->go == NULL || w->done == NULL) {
            break;
        }
        PyThread_acquire_lock(w->go, WAIT_LOCK);
        PyThread_acquire_lock(w->done, WAIT_LOCK);
        if (PyThread_start_new_thread(serve, w) == PYTHREAD_INVALID_THREAD_ID) {
            break;
        }
        n_workers++;
    }
    return n_workers < wanted ? n_workers : wanted;
}

static int is_running; /* whether a thread of Python's has the workers, and the buffers */

/* Have this thread and so many others do a task, each with so many bytes of its own; returns -1 where memory is short.
 *
 * Needs the interpreter's lock, which others may have meanwhile if that is said.
 */
static int
share(void (*task)(void *, char *), void *given, int others, size_t bytes, int is_long)
{
    static Worker mine;
    Worker *own = &mine, spare = {0};
    PyThreadState *state = NULL;
    int begun = 0;
    if (is_running) {
        own = &spare;
        others = 0;
    }
    if (with_room(own, bytes) == NULL) {
        return -1;
    }
    others = others > 0 ? start_workers(others) : 0;
    for (; begun < others && with_room(&workers[begun], bytes) != NULL; begun++) {
        Worker *w = &workers[begun];
        w->task = task;
        w->given = given;
        __atomic_store_n(&w->state, OFFERED, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&w->is_awake, __ATOMIC_SEQ_CST) && !__atomic_exchange_n(&w->is_called, 1, __ATOMIC_SEQ_CST)) {
            PyThread_release_lock(w->go);
        }
    }
    if (own == &mine) {
        is_running = 1;
    }
    if (is_long) {
        state = PyEval_SaveThread();
    }
    task(given, own->memory);
    for (int i = 0; i < begun; i++) {
        if (!changes(&workers[i].state, OFFERED, IDLE)) {
            await(&workers[i]);
        }
    }
    if (state != NULL) {
        PyEval_RestoreThread(state);
    }
    if (own == &mine) {
        is_running = 0;
    }
    PyMem_RawFree(spare.memory);
    return 0;
}
