/* `import` statements while a program is run: those that may mean NumPy are the runner's, all others Python's, at their speed. */

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
