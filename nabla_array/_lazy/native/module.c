/* The short way of operators, for arrays whose elements are known: what `dispatch/eager.py` does, without Python's time.
 *
 * Each object made here wraps the Python function of an operator. It answers by itself where both operands are
 * known, small, and of one dtype, and nothing watches (no tape, no batch level, no stale view); anything else, each
 * error among it, is left to the function, which knows how to say it. So the package gives the same results where
 * this file could not be compiled, later. The global interpreter lock is held throughout.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <float.h>
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
#include "workers.h"
#include "blocks.h"
#include "threads.h"
#include "tables.h"
#include "kernels.h"
#include "host.h"
#include "graphs.h"
#include "evaluation.h"
#include "recording.h"
#include "faults.h"
#include "tapes.h"
#include "products.h"
#include "tanh.h"
#include "row_tiles.h"
#include "loops.h"
#include "elements.h"
#include "targets.h"
#include "operators.h"
#include "masks.h"
#include "lists.h"
#include "indexing.h"
#include "scalars.h"
#include "moves.h"
#include "reductions.h"
#include "functions.h"
#include "attributes.h"
#include "iterating.h"
#include "making.h"
#include "ordering.h"
#include "searching.h"
#include "pytrees.h"
#include "slots.h"
#include "importing.h"

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
        if (tell_noted() < 0) {
            Py_CLEAR(found);
        }
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return PyObject_Vectorcall(f->slow, args, nargsf, names);
}

/* What takes no lock: see `takes_no_lock`. */
static PyObject *
call_free(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Fast *f = (Fast *)self;
    PyObject *found = f->way(self, args, nargsf, names);
    return found != NULL || PyErr_Occurred() ? found : PyObject_Vectorcall(f->slow, args, nargsf, names);
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
    PyObject *found, *inspect;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        return Py_NewRef(((Fast *)self)->slow);
    }
    found = PyObject_GetAttr(((Fast *)self)->slow, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError) &&
        PyUnicode_CompareWithASCIIString(name, "__signature__") == 0) { /* which NumPy's functions have */
        PyErr_Clear();
        inspect = PyImport_ImportModule("inspect");
        found = inspect == NULL ? NULL : PyObject_CallMethod(inspect, "signature", "O", ((Fast *)self)->slow);
        Py_XDECREF(inspect);
    }
    return found;
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

/* `__len__` of an array without axes says so in an error; `__iter__` is None. */
static PyObject *
of_axes_get(PyObject *self, PyObject *object, PyObject *type)
{
    if (object == NULL) {
        return Py_NewRef(self);
    }
    if (IS_ARRAY(object) && axes_of(object) == 0) {
        return ((Fast *)self)->kind == 'i' ? Py_NewRef(Py_None) : PyObject_CallOneArg(((Fast *)self)->slow, object);
    }
    return PyMethod_New(self, object);
}

/* One that arrays without axes lack, as NumPy's scalars do. */
static PyTypeObject OfAxesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "nabla_array._lazy.native._fast.OfAxes",
    .tp_base = &FastType,
    .tp_basicsize = sizeof(Fast),
    .tp_descr_get = of_axes_get,
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

/* of_axes(fast): let arrays without axes lack it */
static PyObject *
of_axes(PyObject *module, PyObject *fast)
{
    if (!PyObject_TypeCheck(fast, &FastType)) {
        return PyErr_Format(PyExc_TypeError, "of_axes: no short way: %R", fast);
    }
    Py_SET_TYPE(fast, &OfAxesType);
    Py_RETURN_NONE;
}

/* Say whether a way looks at no elements: at nodes, which do not change, or at nothing but who is to answer. */
static int
takes_no_lock(vectorcallfunc way)
{
    return way == call_record || way == call_draw || way == call_asked || way == call_instance || way == call_array_function;
}

/* Return an object like another, or with nothing in it, that answers in the place of a function. */
static Fast *
new_fast(PyObject *slow, const Fast *model)
{
    const size_t front = offsetof(Fast, call);
    Fast *f = PyObject_GC_New(Fast, &FastType);
    if (f != NULL) {
        memcpy((char *)f + front, (const char *)model + front, sizeof(Fast) - front);
        f->call = takes_no_lock(f->way) ? call_free : call_fast;
        f->slow = Py_NewRef(slow);
        Py_INCREF(f->prim);
        Py_INCREF(f->host);
        PyObject_GC_Track((PyObject *)f);
    }
    return f;
}

/* The ways of calls, each with what it tells apart cases by: the kind of its own, or what `kind_of` says of a name. */
static const struct {
    const char *name;
    vectorcallfunc call;
    char kind;
} ways[] = {
    {"apply", call_apply},          {"array", call_array},         {"array_function", call_array_function},
    {"array_ufunc", call_array_ufunc},
    {"asarray", call_asarray, 'l'}, {"asked", call_asked},         {"astype", call_astype},
    {"binary", call_operator},      {"copy", call_copy, 'l'},      {"count", call_whole, 'c'},
    {"draw", call_draw},            {"evaluate", call_evaluate},
    {"getitem", call_getitem},      {"in_place", call_in_place},   {"instance", call_instance},
    {"iter", call_iter},
    {"length", call_length},        {"list", call_whole, 'l'},     {"make", call_make, 'm'},
    {"namespace", call_namespace},  {"numbers", call_whole, 'n'},  {"ordered", call_ordered},
    {"python", call_python},        {"record", call_record},       {"reduce", call_whole, 'r'},
    {"reflected", call_operator},   {"result_type", call_result_type}, {"scalar", call_scalar},
    {"setitem", call_setitem},      {"spaced", call_whole, 's'},   {"unary", call_operator},
    {"view", call_view},            {"whole", call_whole, 'w'},
    {"writing", call_writing},
};

/* Return what tells a function apart from others of its way: its first letter, or another where two share that. */
static char
kind_of(const char *name)
{
    static const struct {
        const char *name;
        char kind;
    } others[] = {
        {"asfortranarray", 'F'}, {"format", 'F'}, {"index", 'x'}, {"iscomplexobj", 'c'}, {"isrealobj", 'r'}, {"size", 'z'},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i].name) == 0) {
            return others[i].kind;
        }
    }
    return name[0];
}

/* Say whether a primitive is a ufunc with one result, whole. */
static int
is_elementwise(PyObject *prim, PyObject *ufunc)
{
    PyObject *host = PyObject_GetAttrString(prim, "host");
    int is = host == ufunc && ((PyUFuncObject *)ufunc)->nout == 1 && is_of_kind(prim, "elementwise");
    PyErr_Clear();
    Py_XDECREF(host);
    return is;
}

/* wrap(way, slow, name, prim=None, host=None, types=(), out=-1): see `fastpath.py` */
static PyObject *
wrap(PyObject *module, PyObject *args)
{
    const char *way, *name;
    PyObject *slow, *types = no_levels;
    Fast f = {.prim = Py_None, .host = Py_None, .out = -1, .few = {{.type = -1}, {.type = -1}, {.type = -1}}}, *made;
    if (!PyArg_ParseTuple(args, "sOs|OOO!n", &way, &slow, &name, &f.prim, &f.host, &PyTuple_Type, &types, &f.out)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(way, ways[i].name) == 0) {
            f.way = ways[i].call;
            f.kind = ways[i].kind != 0 ? ways[i].kind : kind_of(name);
        }
    }
    if (f.way == NULL) {
        return PyErr_Format(PyExc_ValueError, "wrap: no way to wrap %s", way);
    }
    f.reflected = strcmp(way, "reflected") == 0;
    f.nin = strcmp(way, "unary") == 0 ? 1 : 2;
    f.is_ufunc = strcmp(Py_TYPE(f.host)->tp_name, "numpy.ufunc") == 0;
    if (f.is_ufunc && f.way == call_whole) {
        f.nin = ((PyUFuncObject *)f.host)->nin;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        f.types |= (npy_uint64)1 << PyLong_AsLong(PyTuple_GET_ITEM(types, i));
    }
    f.is_strict = f.is_ufunc && f.prim != Py_None && is_elementwise(f.prim, f.host) &&
                  learn_loops(f.prim, (PyUFuncObject *)f.host, f.types) && !is_mixed((PyUFuncObject *)f.host);
    f.is_where = strcmp(name, "where") == 0;
    f.copies = strcmp(name, "array") == 0 || strcmp(name, "copy") == 0;
    f.fills = name[0];
    f.reduction = strcmp(way, "reduce") == 0 ? reduction_of(name) : NULL;
    f.op = strcmp(name, "pow") == 0 ? POW : strcmp(name, "matmul") == 0 ? MATMUL
           : strcmp(name, "floor_divide") == 0 || strcmp(name, "remainder") == 0 || strcmp(name, "fmod") == 0 ? DIVIDE : OTHER;
    if (f.way == call_operator && !f.is_ufunc && f.prim != Py_None) {
        PyObject *ufunc = PyObject_GetAttrString(f.prim, "ufunc");
        if (ufunc == NULL) {
            return NULL;
        }
        f.plain = PyObject_TypeCheck(ufunc, &PyUFunc_Type) ? (PyUFuncObject *)ufunc : NULL;
        Py_DECREF(ufunc);
    }
    made = new_fast(slow, &f);
    if (made != NULL && f.is_strict && square == NULL && strcmp(name, "square") == 0) {
        square = (Fast *)Py_NewRef(made);
    }
    if (f.is_strict && product == NULL && strcmp(name, "mul") == 0) {
        product = Py_NewRef(f.prim);
    }
    return (PyObject *)made;
}

/* like(fast, slow): the short way of one function for another */
static PyObject *
like(PyObject *module, PyObject *args)
{
    Fast *model;
    PyObject *slow;
    if (!PyArg_ParseTuple(args, "O!O", &FastType, &model, &slow)) {
        return NULL;
    }
    return (PyObject *)new_fast(slow, model);
}

/* limit(part, large, tiny, least, deepest): see `dispatch/fastpath.py` */
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

/* run(node, is_last): compute a node if it is pending, and loops here can, and tell of its faults; returns whether that was
 * done. `is_last`: nothing else is looked at.
 */
static PyObject *
run(PyObject *module, PyObject *args)
{
    PyObject *node;
    int done = 0, is_last;
    if (!PyArg_ParseTuple(args, "Op", &node, &is_last)) {
        return NULL;
    }
    if (has_loop(node)) {
        if (wait_for_lock() < 0) {
            return NULL;
        }
        done = has_loop(node) && run_looked_at(node, is_last);
        unlock();
    }
    return tell_noted() < 0 ? NULL : PyBool_FromLong(done);
}

/* forked(): a forked child has none of its parent's threads */
static PyObject *
forked(PyObject *module, PyObject *unused)
{
    n_workers = is_running = 0;
    memory_forked();
    return renew_lock() ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

/* What `setup` is given, in order, and of which class that must be. */
static const struct {
    PyObject **where;
    PyTypeObject *type;
} told_of[] = {
    {(PyObject **)&Array, &PyType_Type},
    {(PyObject **)&Node, &PyType_Type},
    {(PyObject **)&Part, &PyType_Type},
    {(PyObject **)&Exported, &PyType_Type},
    {(PyObject **)&View, &PyType_Type},
    {(PyObject **)&Aval, &PyType_Type},
    {&tapes, &PyList_Type},
    {&frozen, &PyDict_Type},
    {&scopes, &PyList_Type},
    {&weak, &PyList_Type},
    {&recent, &PyDict_Type},
    {&aval_of, &PyBaseObject_Type},
    {&faults, &PyDict_Type},
    {&listener, &PyBaseObject_Type},
    {&tell, &PyBaseObject_Type},
    {&tell_of_nodes, &PyBaseObject_Type},
    {&package, &PyUnicode_Type},
    {&settings, &PyDict_Type},
    {&overrides, &PyList_Type},
    {&active, &PyBaseObject_Type},
    {&no_params, &PyDict_Type},
    {&scalar_node, &PyBaseObject_Type},
    {&stats, &PyBaseObject_Type},
    {&slice_prim, &PyBaseObject_Type},
    {&select_prim, &PyBaseObject_Type},
    {&cores, &PyLong_Type},
    {&openers, &PyList_Type},
    {&order_step, &PyBaseObject_Type},
    {(PyObject **)&Tape, &PyType_Type},
    {(PyObject **)&Entry, &PyType_Type},
    {&marks, &PyDict_Type},
    {&seeing, &PyList_Type},
    {&slow_note, &PyBaseObject_Type},
    {&unchanged, &PyBaseObject_Type},
};

/* The slots of classes that are used here; of some all that dies with an object. */
static const struct {
    PyTypeObject **type;
    Layout *layout;
    const char *name;
    Py_ssize_t *offset;
} slots[] = {
    {&Array, &arrays, "_node", &x_node}, {&Array, &arrays, "_levels", &x_levels}, {&Array, &arrays, "_view", &x_view},
    {&Array, &arrays, "_born", &x_born}, {&Node, &nodes, "aval", &n_aval},        {&Node, &nodes, "value", &n_value},
    {&Node, &nodes, "prim", &n_prim},    {&Node, &nodes, "inputs", &n_inputs},    {&Node, &nodes, "params", &n_params},
    {&Node, &nodes, "depth", &n_depth},  {&View, &views, "base", &v_base},        {&View, &views, "seen", &v_seen},
    {&View, &views, "_steps", &v_steps}, {&View, &views, "_of", &v_of},           {&View, &views, "levels", &v_levels},
    {&View, &views, "_key", &v_key},     {&View, &views, "_shape", &v_shape},
    {&Aval, NULL, "element", &a_element}, {&Aval, NULL, "shape", &a_shape},       {&Aval, NULL, "dtype", &a_dtype},
    {&Aval, NULL, "weight", &a_weight},  {&Aval, NULL, "nbytes", &a_nbytes},      {&Tape, NULL, "thread", &t_thread},
    {&Tape, NULL, "members", &t_members}, {&Tape, NULL, "entries", &t_entries},   {&Tape, NULL, "linear", &t_linear},
    {&Tape, NULL, "derivative", &t_derivative},                                   {&Tape, NULL, "everything", &t_everything},
};

/* setup(*known): take what `told_of` names */
static PyObject *
setup(PyObject *module, PyObject *args)
{
    const size_t many = sizeof(told_of) / sizeof(told_of[0]);
    if (PyTuple_GET_SIZE(args) != (Py_ssize_t)many) {
        return PyErr_Format(PyExc_TypeError, "setup: %zd things, not %zu", PyTuple_GET_SIZE(args), many);
    }
    for (size_t i = 0; i < many; i++) {
        PyObject *given = PyTuple_GET_ITEM(args, (Py_ssize_t)i);
        if (!PyObject_TypeCheck(given, told_of[i].type)) {
            return PyErr_Format(PyExc_TypeError, "setup: %R is no %s", given, told_of[i].type->tp_name);
        }
        Py_XSETREF(*told_of[i].where, Py_NewRef(given));
    }
    arrays.n_slots = nodes.n_slots = views.n_slots = 0;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        if ((*slots[i].offset = offset_of((PyObject *)*slots[i].type, slots[i].name)) < 0) {
            return NULL;
        }
        if (slots[i].layout != NULL) {
            slots[i].layout->slots[slots[i].layout->n_slots++] = *slots[i].offset;
        }
    }
    Array->tp_dealloc = array_let_go;
    ((PyHeapTypeObject *)Array)->as_buffer.bf_getbuffer = array_buffer;
    PyType_Modified(Array);
    Node->tp_dealloc = Part->tp_dealloc = Exported->tp_dealloc = node_let_go;
    View->tp_dealloc = view_let_go;
    learn_loops(select_prim, NULL, 0);
    Node->tp_vectorcall = make_node;
    Part->tp_vectorcall = make_part;
    Array->tp_vectorcall = make_array;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "Take what operators must know of."},
    {"fill_slots", fill_slots, METH_NOARGS, "Call the methods of arrays without looking them up."},
    {"checking", checking, METH_O, "Return a method for `ABCMeta.__instancecheck__`, which asks the usual one."},
    {"importing", importing, METH_O, "Return what asks a function for NumPy's modules in the place of `__import__`."},
    {"stable_order", stable_order, METH_O, "Return a stable order along the last axis, or None."},
    {"merge", (PyCFunction)(void (*)(void))merge, METH_FASTCALL, "Merge two sorted lines of numbers."},
    {"reduce_rows", reduce_rows_of, METH_VARARGS, "Reduce short rows of a table; return whether that was done."},
    {"search", (PyCFunction)(void (*)(void))search, METH_FASTCALL, "Return the places of numbers among sorted ones."},
    {"interpolate", (PyCFunction)(void (*)(void))interpolate, METH_FASTCALL, "Return values between samples, on straight lines."},
    {"number_operand", (PyCFunction)(void (*)(void))number_operand, METH_FASTCALL, "Return the node of a number."},
    {"run", run, METH_VARARGS, "Compute a pending node with loops; return whether that was done."},
    {"linearize", linearize, METH_VARARGS, "Put the pending nodes below some in order, with their graph key."},
    {"number", number, METH_VARARGS, "Number the nodes of a graph, and say where its ends are, with a key."},
    {"run_blocks", run_blocks, METH_VARARGS, "Run elementwise steps on whole arrays, block by block."},
    {"make_sequence", make_sequence, METH_VARARGS, "Make ready what is done to each tile of a schedule."},
    {"run_sequence", run_sequence, METH_VARARGS, "Run what was made ready on each tile."},
    {"run_loop", run_loop, METH_VARARGS, "Run what was made ready so often, or as long as something is true."},
    {"stop_address", stop_address, METH_NOARGS, "Return where the function is that says whether to stop."},
    {"loop_address", loop_address, METH_VARARGS, "Return where a ufunc's loop is, its data, and its result's dtype."},
    {"run_machine", run_machine, METH_VARARGS, "Call machine code at an address with arrays."},
    {"keep_memory", keep_memory, METH_NOARGS, "Keep the memory of arrays that are made in this context."},
    {"count_run", count_run, METH_O, "Count a schedule that begins to run, by 1, or ends, by -1."},
    {"outer", outer, METH_VARARGS, "Return the products of rows of two tables, each with each."},
    {"choose", choose, METH_VARARGS, "Return the elements of an array where a mask is true."},
    {"put", put, METH_VARARGS, "Write to the elements of an array where a mask is true."},
    {"count_threads", count_threads, METH_VARARGS, "Return how many threads a job would have."},
    {"hear", hear, METH_NOARGS, "Count that a thread hears of faults."},
    {"filter_by", filter_by, METH_O, "Set the module whose filters are those of Python's warnings."},
    {"sees_warnings", sees_warnings, METH_NOARGS, "Say whether usual warnings of faults would be seen."},
    {"under", under, METH_VARARGS, "Give the thread an error state of its own, or end that."},
    {"forked", forked, METH_NOARGS, "Forget the threads of a parent."},
    {"attribute", attribute, METH_VARARGS, "Return a property of arrays in the place of Python's."},
    {"asking", asking, METH_VARARGS, "Say which modules are told of other classes than an array's own."},
    {"of_axes", of_axes, METH_O, "Let arrays without axes lack a method."},
    {"alone", alone, METH_O, "Let a function be no method of other classes."},
    {"like", like, METH_VARARGS, "Return a function that answers simple calls as another does."},
    {"trees", trees, METH_VARARGS, "Take what pytrees must know of."},
    {"flatten", (PyCFunction)(void (*)(void))flatten, METH_FASTCALL, "Append a pytree's leaves; return its structure."},
    {"count_leaves", leaf_count, METH_O, "Return how many leaves a structure has."},
    {"unflatten", (PyCFunction)(void (*)(void))unflatten, METH_FASTCALL, "Return a pytree of a structure and leaves."},
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

/* Names that are looked up, and a text. */
static const struct {
    PyObject **where;
    const char *name;
} names[] = {
    {&s_entered, "_entered"}, {&s_aval, "aval"},   {&s_class, "__class__"}, {&s_subclasscheck, "__subclasscheck__"}, {&s_is_protocol, "_is_protocol"},   {&s_kind, "kind"},   {&s_ufunc, "ufunc"}, {&s_dtype, "dtype"},   {&s_name, "__name__"},
    {&s_file, "__file__"},
    {&s_heard, "heard"},      {&s_mode, "mode"},   {&s_settings, "settings"},
    {&s_usual, "usual"},      {&s_divide, "divide"}, {&s_over, "over"}, {&s_under, "under"}, {&s_invalid, "invalid"},
    {&s_warnings, "float_warnings"}, {&s_filters, "filters"},
    {&s_threads, "threads"},  {&s_evaluations, "evaluations"},  {&s_interface, "__array_interface__"},
    {&s_seen, "seen"},        {&s_is_constant, "is_constant"}, {&s_rules, "rules"}, {&s_batch, "batch"},
    {&s_axes, "axes"},        {&s_offset, "offset"},  {&s_shape, "shape"},   {&s_real, "real"},
    {&s_imag, "imag"},
    {&s_role, "role"},        {&s_projection, "projection"},
    {&refusal, "memoryview, bytearray: x.data is the memory of an array x, x.tobytes() is its bytes"},
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    PyObject *module, *lock;
    import_array();
    import_umath();
    no_levels = PyTuple_New(0);
    truth_dtype = PyArray_DescrFromType(NPY_BOOL);
    integer_dtype = PyArray_DescrFromType(NPY_INTP);
    double_dtype = PyArray_DescrFromType(NPY_DOUBLE);
    complex_dtype = PyArray_DescrFromType(NPY_CDOUBLE);
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((*names[i].where = PyUnicode_InternFromString(names[i].name)) == NULL) {
            return NULL;
        }
    }
    if (no_levels == NULL || !make_keeper() || PyType_Ready(&FastType) < 0 || PyType_Ready(&AloneType) < 0 ||
        PyType_Ready(&OfAxesType) < 0 || PyType_Ready(&AttributeType) < 0 || PyType_Ready(&ElementsType) < 0 ||
        PyType_Ready(&LockType) < 0 || !renew_lock()) {
        return NULL;
    }
    module = PyModule_Create(&definition);
    lock = (PyObject *)PyObject_New(PyObject, &LockType);
    if (module != NULL && (lock == NULL || PyModule_AddObjectRef(module, "lock", lock) < 0 ||
                           PyModule_AddObjectRef(module, "Fast", (PyObject *)&FastType) < 0)) {
        Py_CLEAR(module);
    }
    Py_XDECREF(lock);
    return module;
}
