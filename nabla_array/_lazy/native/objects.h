/* Objects of the package's classes. Operators make some and let go of some all the time, so those that die are kept
 * for the next of their kind, and neither is made or let go of by what Python has for any class.
 */

enum { MOST_SLOTS = 8 };
#if defined(Py_GIL_DISABLED) || defined(Py_TRACE_REFS) || defined(__SANITIZE_ADDRESS__) /* which miss what is kept */
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
        self = type->tp_alloc(type, 0);
        if (self != NULL && !is_tracked) {
            PyObject_GC_UnTrack(self);
        }
        return self;
    }
    self = PyObject_Init(layout->kept[--layout->n_kept], type);
    if (is_tracked) {
        PyObject_GC_Track(self);
    }
    return self;
}

/* Say whether somebody has a weak reference to an object. */
static inline int
has_weakrefs(PyObject *self)
{
    Py_ssize_t weak = Py_TYPE(self)->tp_weaklistoffset; /* below 0 where Python keeps them before the object */
    return weak != 0 && SLOT(self, weak) != NULL;
}

/* Do what Python's deallocation of a class with slots does. Long chains of them go through tuples, which see to it
 * that the stack suffices.
 */
static inline void
let_go(PyObject *self, Layout *layout, destructor own)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (has_weakrefs(self)) {
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

/* The views that were made last and are alive (borrowed), a few in each row: its address says in which a view is. They are
 * made and let go of where the interpreter's lock is held.
 */
enum { VIEW_ROWS = 32, ROW_OF_VIEWS = 4, RECENT_VIEWS = VIEW_ROWS * ROW_OF_VIEWS };
static PyObject *recent_views[RECENT_VIEWS];

static inline PyObject **
row_of_view(PyObject *x)
{
    return &recent_views[((npy_uintp)x >> 5) % VIEW_ROWS * ROW_OF_VIEWS];
}

static inline void
note_view(PyObject *x)
{
    PyObject **row = row_of_view(x);
    int free = 0;
    for (int i = 0; i < ROW_OF_VIEWS; i++) {
        if (row[i] == x) {
            return;
        }
        free = row[i] == NULL ? i : free;
    }
    row[free] = x;
}

static inline void
forget_view(PyObject *x)
{
    PyObject **row = row_of_view(x);
    for (int i = 0; i < ROW_OF_VIEWS; i++) {
        if (row[i] == x) {
            row[i] = NULL;
        }
    }
}

static int keep_number(PyObject *self);

static void
array_let_go(PyObject *self)
{
    forget_view(self);
    if (!keep_number(self)) {
        let_go(self, &arrays, array_let_go);
    }
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

static PyObject *s_name, *s_file;
static PyObject *program_hook; /* list: what says whether global names are of the program that is run, if one is */
static PyObject *program_files; /* list: the dict of what it has said so far, by the modules' files */

/* Say whether code with these global names is of a program that is run, as `Own.names` in Python does; -1: ask there. */
static int
is_programs(PyObject *globals)
{
    PyObject *name, *file, *known;
    int found = -1;
    if (program_hook == NULL || globals == NULL) {
        return -1;
    }
    if (PyList_GET_SIZE(program_hook) == 0) {
        return 0;
    }
    if (PyList_GET_SIZE(program_hook) != 1 || PyList_GET_SIZE(program_files) != 1) {
        return -1;
    }
    name = PyDict_GetItemWithError(globals, s_name);
    if (name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__main__") == 0) {
        return 1;
    }
    if ((file = PyDict_GetItemWithError(globals, s_file)) != NULL) {
        known = PyDict_GetItemWithError(PyList_GET_ITEM(program_files, 0), file);
        found = known == NULL ? -1 : known == Py_True;
    }
    PyErr_Clear();
    return found;
}

/* Say whether the code that runs is known to be of no program that is run. */
static inline int
is_foreign(void)
{
    return is_programs(PyEval_GetGlobals()) == 0;
}

static PyObject *refusal; /* what an array says that gives no buffer: made once, since NumPy asks for one first */
static PyObject *openers; /* list: not empty while some code's `memoryview` is answered */

/* Say whether the code that runs may not have what a `memoryview` shows. */
static inline int
is_refused(void)
{
    Py_ssize_t n = PyList_GET_SIZE(openers);
    return n == 0 || (n == 1 && program_hook != NULL && PyList_GET_SIZE(program_hook) == 1 &&
                      PyList_GET_ITEM(openers, 0) == PyList_GET_ITEM(program_hook, 0) && is_foreign());
}

static int lend(PyObject *self, Py_buffer *view, int flags);
static int lend_number(PyObject *self, Py_buffer *view);
static int tell_noted(void);

/* Give C code the elements of an array, by the method `__buffer__` (a `memoryview`), which Python itself asks from 3.12
 * on. What NumPy asks for, before it asks `__array__`, is refused here where nobody may have it, for speed.
 */
static int
array_buffer(PyObject *self, Py_buffer *view, int flags)
{
    PyObject *memory = NULL;
    int out = -1;
    view->obj = NULL;
    if (flags == PyBUF_FULL_RO && lend_number(self, view)) {
        return 0;
    }
    if (flags == PyBUF_FULL_RO && is_refused()) {
        PyErr_SetObject(PyExc_BufferError, refusal);
    }
    else if (flags == PyBUF_FULL_RO && lend(self, view, flags)) {
        out = 0;
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
    if (out == 0 && tell_noted() < 0) {
        PyBuffer_Release(view);
        out = -1;
    }
    if (out == 0 && flags == PyBUF_FULL_RO) {
        view->readonly = 1; /* code that writes asks for that: NumPy makes a copy for it then */
    }
    return out;
}
