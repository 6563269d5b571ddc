/* Operators on two numbers, as NumPy computes them. */

enum op { ADD, SUB, MUL, DIV, EQ, NE, LT, LE, GT, GE, AND, OR, XOR, RSHIFT, FLOORDIV, MOD, POW, MATMUL, OTHER };
static const char *op_names[] = {"add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge",
                                 "and", "or", "xor", "shift_right", "floor_divide", "remainder", "pow", "matmul"};

#define IS_COMPARISON(op) ((op) >= EQ && (op) <= GE)

static inline int
compare(enum op op, int less, int equal, int greater)
{
    switch (op) {
    case EQ: return equal;
    case NE: return !equal;
    case LT: return less;
    case LE: return less || equal;
    case GT: return greater;
    default: return greater || equal;
    }
}

/* Integers of all widths but 64 bits without a sign, as 64 bits. */
static int
load_integer(int type, const void *data, long long *out)
{
    switch (type) {
    case NPY_INT8: *out = *(const npy_int8 *)data; return 1;
    case NPY_INT16: *out = *(const npy_int16 *)data; return 1;
    case NPY_INT32: *out = *(const npy_int32 *)data; return 1;
    case NPY_INT64: *out = *(const npy_int64 *)data; return 1;
    case NPY_UINT8: *out = *(const npy_uint8 *)data; return 1;
    case NPY_UINT16: *out = *(const npy_uint16 *)data; return 1;
    case NPY_UINT32: *out = *(const npy_uint32 *)data; return 1;
    default: return 0;
    }
}

/* Return whether the integer is one of the type, having stored it if so. */
static int
store_integer(int type, long long value, void *data)
{
    switch (type) {
    case NPY_INT8: *(npy_int8 *)data = (npy_int8)value; return value >= NPY_MIN_INT8 && value <= NPY_MAX_INT8;
    case NPY_INT16: *(npy_int16 *)data = (npy_int16)value; return value >= NPY_MIN_INT16 && value <= NPY_MAX_INT16;
    case NPY_INT32: *(npy_int32 *)data = (npy_int32)value; return value >= NPY_MIN_INT32 && value <= NPY_MAX_INT32;
    case NPY_INT64: *(npy_int64 *)data = value; return 1;
    case NPY_UINT8: *(npy_uint8 *)data = (npy_uint8)value; return value >= 0 && value <= NPY_MAX_UINT8;
    case NPY_UINT16: *(npy_uint16 *)data = (npy_uint16)value; return value >= 0 && value <= NPY_MAX_UINT16;
    case NPY_UINT32: *(npy_uint32 *)data = (npy_uint32)value; return value >= 0 && value <= NPY_MAX_UINT32;
    default: return 0;
    }
}

/* Return what an operator gives for two integers; 0 where that does not fit, or is not so simple. */
static int
integers(enum op op, long long a, long long b, long long *out)
{
    switch (op) {
    case ADD: return !__builtin_add_overflow(a, b, out);
    case SUB: return !__builtin_sub_overflow(a, b, out);
    case MUL: return !__builtin_mul_overflow(a, b, out);
    case AND: *out = a & b; return 1;
    case OR: *out = a | b; return 1;
    case XOR: *out = a ^ b; return 1;
    case RSHIFT:
        if (b < 0) {
            return 0;
        }
        *out = a >> (b > 63 ? 63 : b);
        return 1;
    case FLOORDIV:
    case MOD:
        if (b == 0 || b == -1) {
            return 0;
        }
        *out = op == MOD ? a % b : a / b;
        if (a % b != 0 && ((a < 0) != (b < 0))) {
            *out += op == MOD ? b : -1;
        }
        return 1;
    default: return 0;
    }
}

/* Load the operand `o`, an array of one element of this type or a number of Python's, as a double or an integer. */
static int
load(PyObject *o, PyArrayObject *value, int type, double *real, long long *integer)
{
    if (value != NULL) {
        const void *data = PyArray_DATA(value);
        if (!PyArray_ISBEHAVED_RO(value)) {
            return 0;
        }
        if (type == NPY_DOUBLE) {
            *real = *(const double *)data;
            return 1;
        }
        if (type == NPY_FLOAT) {
            *real = *(const float *)data;
            return 1;
        }
        return load_integer(type, data, integer);
    }
    if (PyFloat_CheckExact(o) || (type == NPY_DOUBLE && Py_TYPE(o) == &PyDoubleArrType_Type)) {
        *real = PyFloat_AS_DOUBLE(o);
        return type == NPY_DOUBLE || type == NPY_FLOAT;
    }
    if (PyLong_CheckExact(o) || (type == NPY_BOOL && PyBool_Check(o))) {
        int overflow;
        *integer = PyLong_AsLongLongAndOverflow(o, &overflow);
        *real = (double)*integer;
        /* A double of a larger one may be rounded twice on the way to fewer bits. */
        return !overflow && (type != NPY_FLOAT || (*integer > -(1 << 24) && *integer < (1 << 24)));
    }
    return 0;
}

/* Return an operator's result for two numbers of one dtype; NULL, without an error, where that is not so simple.
 *
 * `a` and `b` are their elements, one of them NULL for a number of Python's. Results that are not finite, or do not
 * fit, are left to NumPy, which warns of them.
 */
static PyObject *
numbers(enum op op, PyObject *x, PyArrayObject *a, PyObject *y, PyArrayObject *b, PyObject *aval)
{
    PyArray_Descr *dtype = PyArray_DESCR(a != NULL ? a : b);
    int type = dtype->type_num;
    double p, q;
    long long i, j, k;
    union {
        double d;
        float f;
        long long i;
        npy_bool truth;
    } out;
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        if ((op > GE && op != POW) || !load(x, a, type, &p, &i) || !load(y, b, type, &q, &j)) {
            return NULL;
        }
        if (type == NPY_FLOAT) { /* a number of Python's takes the dtype first */
            p = (float)p;
            q = (float)q;
        }
        if (op == POW && isinf(p) && isfinite(q)) { /* NumPy's arrays take a root for 0.5: of -inf that is nan */
            if (type == NPY_FLOAT) {
                out.f = powf((float)p, (float)q);
            }
            else {
                out.d = pow(p, q);
            }
            return known_number(dtype, &out, aval);
        }
        if (type == NPY_FLOAT && (!isfinite(p) || !isfinite(q))) {
            return NULL;
        }
        if (IS_COMPARISON(op)) {
            out.truth = (npy_bool)compare(op, p < q, p == q, p > q);
            return known_number(truth_dtype, &out, NULL);
        }
        if (op == DIV && q == 0) {
            return NULL;
        }
        if (type == NPY_FLOAT) {
            float f = (float)p, g = (float)q;
            out.f = op == ADD ? f + g : op == SUB ? f - g : op == MUL ? f * g : op == DIV ? f / g : powf(f, g);
            return isfinite(out.f) ? known_number(dtype, &out, aval) : NULL;
        }
        out.d = op == ADD ? p + q : op == SUB ? p - q : op == MUL ? p * q : op == DIV ? p / q : pow(p, q);
        return isfinite(out.d) ? known_number(dtype, &out, aval) : NULL;
    }
    if (!load(x, a, type, &p, &i) || !load(y, b, type, &q, &j)) {
        return NULL;
    }
    if (a == NULL || b == NULL) { /* a number of Python's that the dtype has not is an error */
        long long unused;
        if (!store_integer(type, a == NULL ? i : j, &unused)) {
            return NULL;
        }
    }
    if (IS_COMPARISON(op)) {
        out.truth = (npy_bool)compare(op, i < j, i == j, i > j);
        return known_number(truth_dtype, &out, NULL);
    }
    if (op == DIV) {
        out.d = (double)i / (double)j;
        return j == 0 ? NULL : known_number(double_dtype, &out, NULL);
    }
    if (!integers(op, i, j, &k) || !store_integer(type, k, &out)) {
        return NULL;
    }
    return known_number(dtype, &out, aval);
}

/* Write a number where `data` points; returns 0 where NumPy should do it. */
static int
write_number(int type, char *data, PyObject *y, PyArrayObject *value)
{
    double real;
    long long integer, kept;
    if (!load(y, value, type, &real, &integer)) {
        return 0;
    }
    switch (type) {
    case NPY_DOUBLE: *(double *)data = real; return 1;
    case NPY_BOOL: *(npy_bool *)data = integer != 0; return 1;
    case NPY_FLOAT:
        if (value == NULL && !isfinite((float)real)) {
            return 0;
        }
        *(float *)data = (float)real;
        return 1;
    default:
        if (!store_integer(type, integer, &kept)) {
            return 0;
        }
        store_integer(type, integer, data);
        return 1;
    }
}
