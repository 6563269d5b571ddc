/* The lock of the graph: whoever claims or runs pending nodes, writes to elements, or gives an array another
 * node holds it.
 *
 * Python waits for it. Code here only tries it, and leaves to Python what another thread keeps it from. The
 * interpreter's lock guards its state, so that to take it costs a comparison.
 */
#include <pythread.h>

/* What a thread has to itself: an address that costs no call on Linux. (Elsewhere compilers have no such address,
 * or read a register that the system does not use for it.) */
static inline npy_uintp
this_thread(void)
{
#if defined(__has_builtin) && defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#if __has_builtin(__builtin_thread_pointer)
    return (npy_uintp)__builtin_thread_pointer();
#endif
#endif
    return (npy_uintp)PyThread_get_thread_ident();
}

static struct {
    npy_uintp holder;
    long depth; /* how often the holder has it: 0 if it is free */
    int waiting, is_called;
    PyThread_type_lock call; /* released to wake one of those that wait */
} graph_lock;

/* Take the lock if no other thread has it; returns whether that was done. */
static inline int
try_lock(void)
{
    npy_uintp me = this_thread();
    if (graph_lock.depth != 0 && graph_lock.holder != me) {
        return 0;
    }
    graph_lock.holder = me;
    graph_lock.depth++;
    return 1;
}

static inline void
unlock(void)
{
    if (--graph_lock.depth == 0 && graph_lock.waiting != 0 && !graph_lock.is_called) {
        graph_lock.is_called = 1;
        PyThread_release_lock(graph_lock.call);
    }
}

/* Wait for the lock and take it; returns -1 for an error, as of a signal's handler meanwhile. */
static int
wait_for_lock(void)
{
    graph_lock.waiting++;
    while (!try_lock()) {
        PyLockStatus status;
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(graph_lock.call, -1, 1);
        Py_END_ALLOW_THREADS
        if (status == PY_LOCK_ACQUIRED) {
            graph_lock.is_called = 0;
        }
        else if (Py_MakePendingCalls() < 0) {
            graph_lock.waiting--;
            return -1;
        }
    }
    graph_lock.waiting--;
    return 0;
}

/* Let nobody wait, in a process that has just begun; returns 0 for an error. */
static int
renew_lock(void)
{
    graph_lock.waiting = graph_lock.is_called = 0;
    graph_lock.call = PyThread_allocate_lock();
    return graph_lock.call != NULL && PyThread_acquire_lock(graph_lock.call, NOWAIT_LOCK);
}

static PyObject *
lock_acquire(PyObject *self, PyObject *unused)
{
    return wait_for_lock() < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
lock_release(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    if (graph_lock.depth == 0 || graph_lock.holder != this_thread()) {
        PyErr_SetString(PyExc_RuntimeError, "release: another thread holds the lock, or none");
        return NULL;
    }
    unlock();
    Py_RETURN_NONE;
}

/* Let go of the lock, however often this thread has it; returns how often that is. */
static long
drop_lock(void)
{
    long depth = graph_lock.depth;
    if (depth == 0 || graph_lock.holder != this_thread()) {
        return 0;
    }
    graph_lock.depth = 1;
    unlock();
    return depth;
}

/* Take the lock as often as before; returns -1 with an error, and the lock, where a signal's handler raised. */
static int
retake_lock(long depth)
{
    PyObject *type = NULL, *error = NULL, *trace = NULL;
    if (depth == 0) {
        return 0;
    }
    while (wait_for_lock() < 0) {
        if (type == NULL) {
            PyErr_Fetch(&type, &error, &trace);
        }
        PyErr_Clear();
    }
    graph_lock.depth = depth;
    if (type != NULL) {
        PyErr_Restore(type, error, trace);
        return -1;
    }
    return 0;
}

/* Take the lock as often as before; signals have to wait. */
static void
regain_lock(long depth)
{
    if (depth == 0) {
        return;
    }
    graph_lock.waiting++;
    while (!try_lock()) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(graph_lock.call, WAIT_LOCK);
        Py_END_ALLOW_THREADS
        graph_lock.is_called = 0;
    }
    graph_lock.waiting--;
    graph_lock.depth = depth;
}

static PyObject *
lock_is_owned(PyObject *self, PyObject *unused)
{
    return PyBool_FromLong(graph_lock.depth != 0 && graph_lock.holder == this_thread());
}

static PyObject *
lock_release_save(PyObject *self, PyObject *unused)
{
    return PyLong_FromLong(drop_lock());
}

static PyObject *
lock_acquire_restore(PyObject *self, PyObject *depth)
{
    return retake_lock(PyLong_AsLong(depth)) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef lock_methods[] = {
    {"acquire", lock_acquire, METH_NOARGS, NULL},
    {"release", (PyCFunction)(void (*)(void))lock_release, METH_FASTCALL, NULL},
    {"__enter__", lock_acquire, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))lock_release, METH_FASTCALL, NULL},
    /* As of `threading.RLock`, for conditions and waits. */
    {"_is_owned", lock_is_owned, METH_NOARGS, NULL},
    {"_release_save", lock_release_save, METH_NOARGS, NULL},
    {"_acquire_restore", lock_acquire_restore, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* The one lock, for Python. */
static PyTypeObject LockType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.Lock",
    .tp_basicsize = sizeof(PyObject),
    .tp_methods = lock_methods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};
