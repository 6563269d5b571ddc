/* The hyperbolic tangent of doubles, for schedules that run tile by tile (`row_tiles.h`): with AVX2, NumPy's loop gathers what
 * it needs from a table, element by element, and takes three times as long. It is the kernel of
 * `kernels/exponential.mojo`, within 2.5 units in the last place. Where there is AVX-512, which has a register for the
 * table, or no AVX2, NumPy's loop stays.
 */
#if defined(__GNUC__) && defined(__x86_64__)

typedef double Doubles __attribute__((vector_size(32)));
typedef npy_int64 Integers __attribute__((vector_size(32)));
enum { LANES = 4 };

/* y / (y + 2) of y = e^(2 |x|) - 1, whose digits beyond the 53rd do not matter: for k = 0 r is exact. */
__attribute__((target("avx2,fma"))) static inline Doubles
tanh_of(Doubles x)
{
    const double shifter = 6755399441055744.0; /* rounds to an integer, which is then in the sum's low bits */
    const Integers sign = (Integers)(Doubles){-0.0, -0.0, -0.0, -0.0}, one = (Integers)(Doubles){1, 1, 1, 1};
    Doubles a = (Doubles)((Integers)x & ~sign), most = {22, 22, 22, 22}, shifted, k, r, s, power, y;
    Integers is_large = a > most;
    a = (Doubles)((is_large & (Integers)most) | (~is_large & (Integers)a));
    shifted = a * (2 * 1.4426950408889634) + shifter;
    k = shifted - shifter;
    r = a + a - k * 0.6931471803691238; /* exact: ln 2 to 32 bits */
    r = r - k * 1.9082149292705877e-10;
    power = (Doubles)(((Integers)shifted << 52) + one);
    s = r * r;
    /* (e^r - 1 - r) / r^2 */
    y = (0.5000000000000001 + 0.16666666666666669 * r) + (0.041666666666623824 + 0.008333333333330039 * r) * s +
        ((0.0013888888917367081 + 0.00019841269863171557 * r) + (2.4801521057868204e-05 + 2.7557268276905696e-06 * r) * s +
         (2.7620201591031547e-07 + 2.5100472505694996e-08 * r) * (s * s)) *
            (s * s);
    y = power * (s * y + r) + (power - 1);
    return (Doubles)((Integers)(y / (y + 2)) | ((Integers)x & sign));
}

__attribute__((target("avx2,fma"))) static void
quick_tanh(char **args, const npy_intp *n, const npy_intp *strides, void *data)
{
    char *in = args[0], *out = args[1];
    npy_intp i = 0, size = sizeof(double);
    if (strides[0] == size && strides[1] == size) {
        for (; i + LANES <= *n; i += LANES) {
            Doubles x;
            memcpy(&x, in + i * size, sizeof(x));
            x = tanh_of(x);
            memcpy(out + i * size, &x, sizeof(x));
        }
    }
    while (i < *n) {
        Doubles x = {0};
        npy_intp many = *n - i < LANES ? *n - i : LANES;
        for (npy_intp j = 0; j < many; j++) {
            x[j] = *(double *)(in + (i + j) * strides[0]);
        }
        x = tanh_of(x);
        for (npy_intp j = 0; j < many; j++, i++) {
            *(double *)(out + i * strides[1]) = x[j];
        }
    }
}

/* Let a step that is NumPy's tangent of doubles be this one. */
static void
quicken(Step *step, PyObject *function)
{
    if (step->kind == EACH && PyObject_TypeCheck(function, &PyUFunc_Type)) {
        PyUFuncObject *ufunc = (PyUFuncObject *)function;
        int loop = strcmp(ufunc->name, "tanh") == 0 ? find_loop(ufunc, NPY_DOUBLE) : -1;
        if (loop >= 0 && step->loop == ufunc->functions[loop] && __builtin_cpu_supports("avx2") &&
            __builtin_cpu_supports("fma") && !__builtin_cpu_supports("avx512f")) {
            step->loop = quick_tanh;
            step->is_quiet = 1; /* squares of what is tiny underflow */
        }
    }
}

#else

static void
quicken(Step *step, PyObject *function)
{
}

#endif
