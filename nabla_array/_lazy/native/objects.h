/* Objects of the package's classes. Operators make some and let go of some all the time, so those that die are kept
 * for the next of their kind, and neither is made or let go of by what Python has for any class.
 */

enum { MOST_SLOTS = 8 };
#if defined(Py_GIL_DISABLED) || defined(__SANITIZE_ADDRESS__) /* which sees nothing of what is kept */
enum { MOST_KEPT = 0, ROOM = 1 };
#else
enum { MOST_KEPT = 64, ROOM = MOST_KEPT };
#endif

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Classes of one layout. */
typedef struct {
    Py_ssize_t slots[MOST_SLOTS]; /* where they have them */
    int n_slots, n_kept;
    PyObject *kept[ROOM];
} Layout;

static Layout arrays, nodes, views;

/* Return a new object of a class with empty slots. Who makes one that can be in no cycle need not have it tracked. */
static inline PyObject *
make_object(PyTypeObject *type, Layout *layout, int is_tracked)
{
    PyObject *self;
    if (layout->n_kept == 0) {
        return type->tp_alloc(type, 0);
    }
    self = PyObject_Init(layout->kept[--layout->n_kept], type);
    if (is_tracked) {
        PyObject_GC_Track(self);
    }
    return self;
}

/* Do what Python's deallocation of a class with slots does. Long chains of them go through tuples, which see to it
 * that the stack suffices.
 */
static inline void
let_go(PyObject *self, Layout *layout, destructor own)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_ssize_t weak = type->tp_weaklistoffset;
    PyObject_GC_UnTrack(self);
    if (weak < 0 || (weak > 0 && SLOT(self, weak) != NULL)) {
        PyObject_ClearWeakRefs(self);
    }
    for (int i = 0; i < layout->n_slots; i++) {
        Py_CLEAR(SLOT(self, layout->slots[i]));
    }
    if (layout->n_kept < MOST_KEPT && type->tp_dealloc == own) { /* a derived class has a function of its own */
        layout->kept[layout->n_kept++] = self;
    }
    else {
        type->tp_free(self);
    }
    Py_DECREF(type);
}

static void
array_let_go(PyObject *self)
{
    let_go(self, &arrays, array_let_go);
}

static void
node_let_go(PyObject *self)
{
    let_go(self, &nodes, node_let_go);
}

static void
view_let_go(PyObject *self)
{
    let_go(self, &views, view_let_go);
}

static PyObject *openers; /* list: not empty while some code's `memoryview` is answered */

/* Give C code the elements of an array, by the method `__buffer__` (a `memoryview`), which Python itself asks from 3.12
 * on. What NumPy asks for, before it asks `__array__`, is refused here where nobody may have it, for speed.
 */
static int
array_buffer(PyObject *self, Py_buffer *view, int flags)
{
    PyObject *memory = NULL;
    int out = -1;
    view->obj = NULL;
    if (flags == PyBUF_FULL_RO && PyList_GET_SIZE(openers) == 0) {
        PyErr_SetString(PyExc_BufferError,
                        "memoryview, bytearray: x.data is the memory of an array x, x.tobytes() is its bytes");
    }
    else if ((memory = PyObject_CallMethod(self, "__buffer__", "i", flags)) != NULL) {
        if (PyMemoryView_Check(memory) && PyMemoryView_GET_BASE(memory) != NULL) {
            out = PyObject_GetBuffer(PyMemoryView_GET_BASE(memory), view, flags); /* NumPy's array, and its errors */
        }
        else { /* a derived class has a method of its own */
            PyErr_Format(PyExc_TypeError, "__buffer__: returned %R, not a memoryview of an object", memory);
        }
        Py_DECREF(memory);
    }
    return out;
}
