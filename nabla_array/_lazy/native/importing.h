/* What Python asks while a program is run, in compiled code for its speed: `import` statements that cannot mean NumPy, and
 * whether something is an instance of an abstract class.
 */

static PyObject *s_class, *s_subclasscheck, *s_is_protocol;

static PyObject *
import_statement(PyObject *slow, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static PyObject *numpy;
    if (numpy == NULL && (numpy = PyUnicode_InternFromString("numpy")) == NULL) {
        return NULL;
    }
    if (n == 5 && names == NULL && PyUnicode_Check(args[0]) && PyLong_Check(args[4]) &&
        PyUnicode_Tailmatch(args[0], numpy, 0, PY_SSIZE_T_MAX, -1) == 0) {
        long level = PyLong_AsLong(args[4]);
        if (level == -1 && PyErr_Occurred()) {
            return NULL;
        }
        return PyImport_ImportModuleLevelObject(args[0], args[1], args[2], args[3], (int)level);
    }
    return PyObject_Vectorcall(slow, args, (size_t)n, names);
}

/* importing(function): the same function in the place of `__import__`, which it is asked for modules of NumPy's alone */
static PyObject *
importing(PyObject *module, PyObject *function)
{
    static PyMethodDef statement = {"__import__", (PyCFunction)(void (*)(void))import_statement,
                                    METH_FASTCALL | METH_KEYWORDS, NULL};
    return PyCFunction_New(&statement, function);
}

/* Say whether a class is a protocol of `typing`, which asks for attributes. */
static int
is_protocol(PyObject *cls)
{
    PyObject *told = PyObject_GetAttr(cls, s_is_protocol);
    int found = told != NULL && PyObject_IsTrue(told) == 1;
    Py_XDECREF(told);
    PyErr_Clear();
    return found;
}

/* Do what `checking` of protocols.py does; Python makes no frame for it, so that an array sees who asks. */
static PyObject *
check_instance(PyObject *usual, PyObject *const *args, Py_ssize_t n)
{
    PyObject *kind, *found = NULL;
    if (n != 2 || !IS_ARRAY(args[1]) || is_protocol(args[0])) {
        return PyObject_Vectorcall(usual, args, (size_t)n, NULL);
    }
    kind = PyObject_GetAttr(args[1], s_class);
    if (kind != NULL && PyType_Check(kind) && (PyTypeObject *)kind != Array) {
        found = PyObject_CallMethodOneArg(args[0], s_subclasscheck, kind);
    }
    else if (kind != NULL) {
        found = PyObject_Vectorcall(usual, args, (size_t)n, NULL);
    }
    Py_XDECREF(kind);
    return found;
}

/* checking(usual): a method in the place of `ABCMeta.__instancecheck__`, which asks the usual one */
static PyObject *
checking(PyObject *module, PyObject *usual)
{
    static PyMethodDef check = {"__instancecheck__", (PyCFunction)(void (*)(void))check_instance, METH_FASTCALL, NULL};
    PyObject *function = PyCFunction_New(&check, usual), *method = function == NULL ? NULL : PyInstanceMethod_New(function);
    Py_XDECREF(function);
    return method;
}
