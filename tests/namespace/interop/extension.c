/* An extension module as users write them for NumPy's C API: it takes NumPy's arrays alone, and writes to them. */
#include <Python.h>
#include <numpy/arrayobject.h>

static PyObject *
scale(PyObject *module, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"array", "factor", NULL};
    PyArrayObject *array;
    double factor;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O!d", keywords, &PyArray_Type, &array, &factor)) {
        return NULL;
    }
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISWRITEABLE(array)) {
        PyErr_SetString(PyExc_ValueError, "scale: wants float64, in C's order, to write to");
        return NULL;
    }
    for (npy_intp i = 0; i < PyArray_SIZE(array); i++) {
        ((double *)PyArray_DATA(array))[i] *= factor;
    }
    return Py_NewRef(array);
}

static PyMethodDef methods[] = {
    {"scale", (PyCFunction)(void (*)(void))scale, METH_VARARGS | METH_KEYWORDS, "Multiply the elements, in place."},
    {NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods};

PyMODINIT_FUNC
PyInit_extension(void)
{
    import_array();
    return PyModule_Create(&module);
}
