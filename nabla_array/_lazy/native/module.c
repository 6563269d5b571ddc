/* The short way of operators, for arrays whose elements are known: what `direct.py` does, without Python's time.
 *
 * Each object made here wraps the Python function of an operator. It answers by itself where both operands are
 * known, small, and of one dtype, and nothing watches (no tape, no batch level, no stale view); anything else, each
 * error among it, is left to the function, which knows how to say it. So the package gives the same results where
 * this file could not be compiled, later. The global interpreter lock is held throughout.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

#include <math.h>
#include <stddef.h>

/* One unit: what is small is inlined. Each file uses those before it. */
#include "lock.h"
#include "memory.h"
#include "objects.h"
#include "values.h"
#include "numbers.h"
#include "host.h"
#include "workers.h"
#include "blocks.h"
#include "threads.h"
#include "tables.h"
#include "kernels.h"
#include "graphs.h"
#include "evaluation.h"
#include "recording.h"
#include "products.h"
#include "tanh.h"
#include "row_tiles.h"
#include "operators.h"
#include "masks.h"
#include "indexing.h"
#include "functions.h"

static void
fast_dealloc(PyObject *self)
{
    Fast *f = (Fast *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(f->slow);
    Py_CLEAR(f->prim);
    Py_CLEAR(f->host);
    PyObject_GC_Del(self);
}

static int
fast_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Fast *)self)->slow);
    Py_VISIT(((Fast *)self)->prim);
    Py_VISIT(((Fast *)self)->host);
    return 0;
}

static PyObject *
call_fast(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    if (try_lock()) {
        PyObject *found = f->way(self, args, nargsf, names);
        unlock();
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

static PyObject *
fast_get(PyObject *self, PyObject *object, PyObject *type)
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

/* pickle finds it where the function behind it says that it is. */
static PyObject *
fast_reduce(PyObject *self, PyObject *unused)
{
    return PyObject_GetAttrString(((Fast *)self)->slow, "__qualname__");
}

static PyMethodDef fast_methods[] = {
    {"__reduce__", fast_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* What else one asks of a function (its name, its signature) is asked of the one behind it. */
static PyObject *
fast_getattro(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__class__", "__reduce__", "__reduce_ex__"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        return Py_NewRef(((Fast *)self)->slow);
    }
    return PyObject_GetAttr(((Fast *)self)->slow, name);
}

static int
fast_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Fast *)self)->slow, name, value);
}

static PyObject *
fast_repr(PyObject *self)
{
    return PyObject_Repr(((Fast *)self)->slow);
}

static PyTypeObject FastType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.Fast",
    .tp_basicsize = sizeof(Fast),
    .tp_dealloc = fast_dealloc,
    .tp_traverse = fast_traverse,
    .tp_vectorcall_offset = offsetof(Fast, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = fast_get,
    .tp_methods = fast_methods,
    .tp_getattro = fast_getattro,
    .tp_setattro = fast_setattro,
    .tp_repr = fast_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC,
};

static PyObject *
alone_get(PyObject *self, PyObject *object, PyObject *type)
{
    return object != NULL && IS_ARRAY(object) ? PyMethod_New(self, object) : Py_NewRef(self);
}

/* One that is no method of classes but ours, as NumPy's ufuncs and builtin functions are none. */
static PyTypeObject AloneType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.Alone",
    .tp_base = &FastType,
    .tp_basicsize = sizeof(Fast),
    .tp_descr_get = alone_get,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

/* alone(fast): let it be no method where it is an attribute of a class */
static PyObject *
alone(PyObject *module, PyObject *fast)
{
    if (!PyObject_TypeCheck(fast, &FastType)) {
        return PyErr_Format(PyExc_TypeError, "alone: no short way: %R", fast);
    }
    Py_SET_TYPE(fast, &AloneType); /* both are static, and of one layout */
    Py_RETURN_NONE;
}

static Fast *
new_fast(vectorcallfunc way, PyObject *slow, PyObject *prim, PyObject *host)
{
    Fast *f = PyObject_GC_New(Fast, &FastType);
    if (f != NULL) {
        f->call = call_fast;
        f->way = way;
        f->slow = Py_NewRef(slow);
        f->prim = Py_NewRef(prim);
        f->host = Py_NewRef(host);
        f->op = OTHER;
        f->kind = 0;
        f->reflected = f->is_ufunc = f->is_strict = f->is_where = 0;
        f->nin = 2;
        f->out = -1;
        f->types = 0;
        PyObject_GC_Track((PyObject *)f);
    }
    return f;
}

static const struct {
    const char *name;
    vectorcallfunc call;
} ways[] = {
    {"binary", call_operator},   {"reflected", call_operator}, {"unary", call_operator},   {"in_place", call_in_place},
    {"getitem", call_getitem},   {"setitem", call_setitem},    {"scalar", call_scalar},
    {"view", call_view},         {"whole", call_whole},        {"make", call_whole},
    {"count", call_whole},       {"list", call_whole},         {"array_ufunc", call_array_ufunc},
    {"apply", call_apply},
};

/* Say whether a primitive is a ufunc with one result, whole. */
static int
is_elementwise(PyObject *prim, PyObject *ufunc)
{
    PyObject *kind = PyObject_GetAttrString(prim, "kind"), *host = PyObject_GetAttrString(prim, "host");
    int is = kind != NULL && host == ufunc && ((PyUFuncObject *)ufunc)->nout == 1 && PyUnicode_Check(kind) &&
             PyUnicode_CompareWithASCIIString(kind, "elementwise") == 0;
    PyErr_Clear();
    Py_XDECREF(kind);
    Py_XDECREF(host);
    return is;
}

/* wrap(way, slow, name, prim=None, host=None, types=(), out=-1): see `fast.py` */
static PyObject *
wrap(PyObject *module, PyObject *args)
{
    const char *way, *name;
    PyObject *slow, *prim = Py_None, *host = Py_None, *types = no_levels;
    Fast *f = NULL;
    Py_ssize_t out = -1;
    if (!PyArg_ParseTuple(args, "sOs|OOO!n", &way, &slow, &name, &prim, &host, &PyTuple_Type, &types, &out)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(way, ways[i].name) == 0 && (f = new_fast(ways[i].call, slow, prim, host)) == NULL) {
            return NULL;
        }
    }
    if (f == NULL) {
        return PyErr_Format(PyExc_ValueError, "wrap: no way to wrap %s", way);
    }
    f->reflected = strcmp(way, "reflected") == 0;
    f->nin = strcmp(way, "unary") == 0 ? 1 : 2;
    f->is_ufunc = strcmp(Py_TYPE(host)->tp_name, "numpy.ufunc") == 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        f->types |= (npy_uint64)1 << PyLong_AsLong(PyTuple_GET_ITEM(types, i));
    }
    f->is_strict = f->is_ufunc && prim != Py_None && is_elementwise(prim, host) &&
                   learn_loops(prim, (PyUFuncObject *)host, f->types);
    if (f->is_strict) {
        if (square == NULL && strcmp(name, "square") == 0) {
            square = (Fast *)Py_NewRef(f);
        }
        if (product == NULL && strcmp(name, "mul") == 0) {
            product = Py_NewRef(prim);
        }
    }
    f->out = out;
    f->is_where = strcmp(name, "where") == 0;
    f->kind = f->way == call_whole ? way[0] : strcmp(name, "index") == 0 ? 'x' : name[0];
    for (int op = 0; op < OTHER; op++) {
        if (strcmp(name, op_names[op]) == 0) {
            f->op = (enum op)op;
        }
    }
    return (PyObject *)f;
}

/* like(fast, slow): the short way of one function for another */
static PyObject *
like(PyObject *module, PyObject *args)
{
    Fast *old, *f;
    PyObject *slow;
    if (!PyArg_ParseTuple(args, "O!O", &FastType, &old, &slow)) {
        return NULL;
    }
    f = new_fast(old->way, slow, old->prim, old->host);
    if (f != NULL) {
        f->op = old->op;
        f->reflected = old->reflected;
        f->is_ufunc = old->is_ufunc;
        f->is_strict = old->is_strict;
        f->nin = old->nin;
        f->out = old->out;
        f->is_where = old->is_where;
        f->kind = old->kind;
        f->types = old->types;
    }
    return (PyObject *)f;
}

/* limit(part, large, tiny, least, deepest): see `direct.py`, `array.py` and `node.py` */
static PyObject *
limit(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "nnnnl", &part_bytes, &large_bytes, &tiny_bytes, &least_recorded, &deepest)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Return where a class keeps a slot, -1 with an error if it does not. */
static Py_ssize_t
offset_of(PyObject *type, const char *name)
{
    PyObject *slot = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (slot != NULL) {
        if (Py_TYPE(slot) == &PyMemberDescr_Type) {
            offset = ((PyMemberDescrObject *)slot)->d_member->offset;
        }
        else {
            PyErr_Format(PyExc_TypeError, "setup: %s is no slot", name);
        }
        Py_DECREF(slot);
    }
    return offset;
}

/* run(node): compute a node if it is pending, and loops here can; returns whether that was done */
static PyObject *
run(PyObject *module, PyObject *node)
{
    int done = 0;
    if (has_loop(node)) {
        if (wait_for_lock() < 0) {
            return NULL;
        }
        done = has_loop(node) && run_loops(node);
        unlock();
    }
    return PyBool_FromLong(done);
}

/* forked(): a forked child has none of its parent's threads */
static PyObject *
forked(PyObject *module, PyObject *unused)
{
    n_workers = 0;
    unlock_blocks(); /* of a thread that is not here any more */
    return renew_lock() ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

/* setup(Array, Node, Part, Lent, View, Aval, tapes, frozen, scopes, recent, aval_of, faults, listener, tell,
         settings, overrides, active, no_params, scalar_node, stats, slice, cores) */
static PyObject *
setup(PyObject *module, PyObject *args)
{
    PyObject *array, *node, *part, *lent, *view, *aval, *running;
    if (!PyArg_ParseTuple(args, "OOOOOOO!O!O!O!OO!OOO!O!OOOOOl", &array, &node, &part, &lent, &view, &aval, &PyList_Type, &running,
                          &PyDict_Type, &frozen, &PyList_Type, &scopes, &PyDict_Type, &recent, &aval_of,
                          &PyDict_Type, &faults, &listener, &tell, &PyDict_Type, &settings, &PyList_Type, &overrides, &active, &no_params, &scalar_node,
                          &stats, &slice_prim, &cores)) {
        return NULL;
    }
    if ((x_node = offset_of(array, "_node")) < 0 || (x_levels = offset_of(array, "_levels")) < 0 ||
        (x_view = offset_of(array, "_view")) < 0 || (x_born = offset_of(array, "_born")) < 0 || (n_aval = offset_of(node, "aval")) < 0 ||
        (n_value = offset_of(node, "value")) < 0 || (v_base = offset_of(view, "base")) < 0 ||
        (v_seen = offset_of(view, "seen")) < 0 || (v_steps = offset_of(view, "_steps")) < 0 ||
        (v_part = offset_of(view, "_part")) < 0 || (v_levels = offset_of(view, "levels")) < 0 || (a_element = offset_of(aval, "element")) < 0 ||
        (a_shape = offset_of(aval, "shape")) < 0 || (a_dtype = offset_of(aval, "dtype")) < 0 ||
        (a_weight = offset_of(aval, "weight")) < 0 || (a_nbytes = offset_of(aval, "nbytes")) < 0 ||
        (n_prim = offset_of(node, "prim")) < 0 || (n_inputs = offset_of(node, "inputs")) < 0 ||
        (n_params = offset_of(node, "params")) < 0 || (n_depth = offset_of(node, "depth")) < 0) {
        return NULL;
    }
    Array = (PyTypeObject *)Py_NewRef(array);
    Part = (PyTypeObject *)Py_NewRef(part);
    Lent = (PyTypeObject *)Py_NewRef(lent);
    View = (PyTypeObject *)Py_NewRef(view);
    Node = (PyTypeObject *)Py_NewRef(node);
    Aval = (PyTypeObject *)Py_NewRef(aval);
    arrays = (Layout){{x_node, x_levels, x_view, x_born}, 4, 0, {NULL}};
    nodes = (Layout){{n_aval, n_value, n_prim, n_inputs, n_params, n_depth}, 6, 0, {NULL}};
    views = (Layout){{v_base, v_seen, v_steps, v_part, v_levels}, 5, 0, {NULL}};
    Array->tp_dealloc = array_let_go;
    ((PyHeapTypeObject *)Array)->as_buffer.bf_getbuffer = array_buffer;
    PyType_Modified(Array);
    Node->tp_dealloc = Part->tp_dealloc = Lent->tp_dealloc = node_let_go;
    View->tp_dealloc = view_let_go;
    Py_INCREF(frozen);
    Py_INCREF(scopes);
    Py_INCREF(recent);
    Py_INCREF(aval_of);
    Py_INCREF(faults);
    Py_INCREF(listener);
    Py_INCREF(tell);
    Py_INCREF(settings);
    Py_INCREF(overrides);
    Py_INCREF(active);
    Py_INCREF(no_params);
    Py_INCREF(scalar_node);
    Py_INCREF(stats);
    Py_INCREF(slice_prim);
    tapes = Py_NewRef(running);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "Take what operators must know of."},
    {"run", run, METH_O, "Compute a pending node with loops; return whether that was done."},
    {"linearize", linearize, METH_VARARGS, "Put the pending nodes below some in order, with their graph key."},
    {"run_blocks", run_blocks, METH_VARARGS, "Run elementwise steps on whole arrays, block by block."},
    {"make_sequence", make_sequence, METH_VARARGS, "Make ready what is done to each piece of a program."},
    {"run_sequence", run_sequence, METH_VARARGS, "Run what was made ready on each piece."},
    {"keep_memory", keep_memory, METH_NOARGS, "Keep the memory of arrays that are made in this context."},
    {"outer", outer, METH_VARARGS, "Return the products of rows of two tables, each with each."},
    {"choose", choose, METH_VARARGS, "Return the elements of an array where a mask is true."},
    {"put", put, METH_VARARGS, "Write to the elements of an array where a mask is true."},
    {"count_threads", count_threads, METH_VARARGS, "Return how many threads a job would have."},
    {"forked", forked, METH_NOARGS, "Forget the threads of a parent."},
    {"alone", alone, METH_O, "Let a function be no method of other classes."},
    {"like", like, METH_VARARGS, "Return a function that answers simple calls as another does."},
    {"limit", limit, METH_VARARGS, "Take from how many bytes on parts, what meets them, and other arrays are recorded."},
    {"wrap", wrap, METH_VARARGS, "Return a function that answers simple calls in the place of another."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_fast",
    .m_doc = "The short way of operators.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    import_array();
    import_umath();
    no_levels = PyTuple_New(0);
    truth_dtype = PyArray_DescrFromType(NPY_BOOL);
    double_dtype = PyArray_DescrFromType(NPY_DOUBLE);
    s_entered = PyUnicode_InternFromString("_entered");
    s_aval = PyUnicode_InternFromString("aval");
    s_kind = PyUnicode_InternFromString("kind");
    s_heard = PyUnicode_InternFromString("heard");
    s_mode = PyUnicode_InternFromString("mode");
    s_settings = PyUnicode_InternFromString("settings");
    s_usual = PyUnicode_InternFromString("usual");
    s_warnings = PyUnicode_InternFromString("float_warnings");
    s_threads = PyUnicode_InternFromString("threads");
    s_evaluations = PyUnicode_InternFromString("evaluations");
    if (no_levels == NULL || s_entered == NULL || s_aval == NULL || s_kind == NULL || s_heard == NULL || s_mode == NULL || s_settings == NULL || s_usual == NULL ||
        s_warnings == NULL || s_threads == NULL || s_evaluations == NULL || !make_keeper() ||
        PyType_Ready(&FastType) < 0 || PyType_Ready(&AloneType) < 0 || PyType_Ready(&LockType) < 0 || !renew_lock()) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    PyObject *lock = (PyObject *)PyObject_New(PyObject, &LockType);
    if (module != NULL && (lock == NULL || PyModule_AddObjectRef(module, "lock", lock) < 0 ||
                           PyModule_AddObjectRef(module, "Fast", (PyObject *)&FastType) < 0)) {
        Py_CLEAR(module);
    }
    Py_XDECREF(lock);
    return module;
}
