/* signature.c -- the loop that a ufunc has for some dtypes.  NumPy is asked once for each. */
#include "python/record/signature.h"
#include "ir/ops.h"
#include "python/base/refusal.h"
#include "python/base/state.h"
#include "python/base/table.h"

static struct signature signatures[MX_OP_COUNT][NCODES][NCODES];
static PyObject *ufuncs[MX_OP_COUNT];

/* The arguments of ufunc.resolve_dtypes: dtypes, and the classes of Python's numbers. */
static PyObject *kinds[NCODES];

int signature_load(PyObject *numpy)
{
    kinds[WEAK_INT] = (PyObject *)&PyLong_Type;
    kinds[WEAK_FLOAT] = (PyObject *)&PyFloat_Type;
    kinds[WEAK_COMPLEX] = (PyObject *)&PyComplex_Type;
    for (int op = 0; op < MX_OP_COUNT; op++) {
        ufuncs[op] = PyObject_GetAttrString(numpy, core->mx_op_get(op)->name);
        if (!ufuncs[op])
            return -1;
    }
    return 0;
}

/* Return a borrowed reference. */
static PyObject *kind_of(int code)
{
    if (!kinds[code])
        kinds[code] = (PyObject *)PyArray_DescrFromType(dtype_type_number(code));
    return kinds[code];
}

/* Return a new reference to the dtypes of the loop, or NULL if there is none.  An exception is
 * set only if the search failed. */
static PyObject *resolve(PyObject *ufunc, const int *codes, int nin, int nout)
{
    PyObject *call_args = PyTuple_New(nin + nout);
    for (int i = 0; call_args && i < nin + nout; i++)
        PyTuple_SetItem(call_args, i, Py_NewRef(i < nin ? kind_of(codes[i]) : Py_None));
    PyObject *resolved =
        call_args ? PyObject_CallMethod(ufunc, "resolve_dtypes", "(O)", call_args) : NULL;
    Py_XDECREF(call_args);
    if (!resolved && PyErr_ExceptionMatches(PyExc_TypeError)) /* NumPy has no such loop */
        PyErr_Clear();
    return resolved;
}

/* Check for operations that are not recorded: powers of integers, which raise an exception if
 * an exponent is negative, and the complex expm1, whose results at infinity would differ. */
static bool is_special(int op, const struct signature *signature)
{
    return (op == MX_OP_power && !mx_dtype_is_inexact(signature->in[0])) ||
           (op == MX_OP_expm1 && mx_dtype_is_complex(signature->in[0]));
}

/* Find the loop that ml_dtypes registered with a ufunc for bfloat16.  These loops call C++
 * functions of floats, which run without the GIL and keep all conditions. */
static bool find_registered(struct mx_loop *out, const PyUFuncObject *ufunc, const int *rows)
{
    int types[MX_MAX_OPERANDS];
    for (int i = 0; i < ufunc->nargs; i++)
        types[i] = dtype_type_number(rows[i]);
    PyObject *number = PyLong_FromLong(dtype_type_number(ROW_bfloat16));
    if (!number)
        return false; /* with an exception set */
    PyObject *capsule = ufunc->userloops ? PyDict_GetItem(ufunc->userloops, number) : NULL;
    const PyUFunc_Loop1d *each = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    Py_DECREF(number);
    size_t size = (size_t)ufunc->nargs * sizeof *types;
    while (each && memcmp(each->arg_types, types, size) != 0)
        each = each->next;
    if (each)
        *out = (struct mx_loop){.function = (mx_loop_function)each->func, .data = each->data};
    return each != NULL;
}

/* Check whether NumPy ignores the conditions of a loop.  From NumPy 2.5 on, it does so after
 * operations without conditions.  The loops of ml_dtypes compare NaN as C does, which is a
 * condition. */
static bool is_silent(int op, const int *rows)
{
    bool is_extreme = op == MX_OP_maximum || op == MX_OP_minimum || op == MX_OP_fmax ||
                      op == MX_OP_fmin || op == MX_OP_sign;
    return rows[0] == ROW_bfloat16 && PyArray_RUNTIME_VERSION >= 0x16 &&
           (is_extreme || strcmp(core->mx_op_get(op)->result, "truth") == 0);
}

/* Find a loop in the table of a ufunc, which has only NumPy's own dtypes.  The loop is not
 * called to see what it does: one of another package may issue warnings. */
static bool find_loop(struct mx_loop *out, PyObject *object, const int *rows)
{
    const PyUFuncObject *ufunc = (const PyUFuncObject *)object;
    uintptr_t fields = (uintptr_t)ufunc + sizeof(PyObject);
    char types[MX_MAX_OPERANDS];
    for (int i = 0; i < ufunc->nargs; i++) {
        int number = dtype_type_number(rows[i]);
        if (number >= NPY_NTYPES_LEGACY)
            return false;
        types[i] = (char)number;
    }
    return core->mx_loop_find(out, fields, ufunc->nin, ufunc->nout, ufunc->ntypes, types) ==
           MX_OK;
}

bool signature_loop(struct mx_loop *out, PyObject *object, const int *rows)
{
    if (!find_loop(out, object, rows))
        return find_registered(out, (const PyUFuncObject *)object, rows);
    core->mx_loop_try(out);
    return true;
}

const struct mx_loop *signature_uniform(struct uniform_loops *loops, int row)
{
    if (!loops->rows[row].is_known) {
        const int rows[MX_MAX_OPERANDS] = {row, row, row, row};
        loops->rows[row].exists = signature_loop(&loops->rows[row].loop, loops->ufunc, rows);
        loops->rows[row].is_known = true;
        PyErr_Clear();
    }
    return loops->rows[row].exists ? &loops->rows[row].loop : NULL;
}

/* Check whether this NumPy has functions of real numbers for AVX-512, which its loops use in
 * some layouts.  They differ from others in half of the cube roots. */
static bool has_own_functions(void)
{
    static signed char found = -1;
    const int rows[] = {ROW_float64, ROW_float64};
    struct mx_loop loop;
    if (found < 0)
        found = signature_loop(&loop, ufuncs[MX_OP_cbrt], rows) &&
                core->mx_layouts_of_bits(&loop, 1, 1, rows, false) != 0;
    return found;
}

/* Return the layouts in which the loop of NumPy has other bits.  Some functions differ in one
 * of 1,000 results only. */
static int layouts_of_bits(int op, const struct mx_loop *loop, int nin, int nout,
                           const int *rows)
{
    int layouts = core->mx_layouts_of_bits(loop, nin, nout, rows, false);
    if (!layouts && !signature_is_arithmetic(op) && has_own_functions())
        layouts = core->mx_layouts_of_bits(loop, nin, nout, rows, true);
    return layouts;
}

/* Find the rows of the loop that NumPy calls.  Return false if there is none of known rows.  An
 * exception is set only if the search failed. */
static bool find_rows(PyObject *ufunc, const int *codes, int nin, int nout,
                      struct signature *signature, int *rows)
{
    PyObject *resolved = resolve(ufunc, codes, nin, nout);
    if (!resolved)
        return false;
    bool are_known = true;
    for (int i = 0; i < nin + nout; i++) {
        PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GetItem(resolved, i);
        rows[i] = dtype_row(dtype->type_num);
        are_known = are_known && rows[i] >= 0;
        *(i < nin ? &signature->in[i] : &signature->out[i - nin]) = (signed char)rows[i];
    }
    Py_DECREF(resolved);
    return are_known;
}

static void signature_find(int op, const int *codes, int nin, struct signature *signature)
{
    int nout = core->mx_op_get(op)->nout, rows[MX_MAX_OPERANDS];
    if (!find_rows(ufuncs[op], codes, nin, nout, signature, rows) ||
        !signature_loop(&signature->numpys, ufuncs[op], rows))
        return;
    bool is_own = core->mx_native_loop(&signature->loop, op, rows, &signature->numpys);
    if (!is_own)
        signature->loop = signature->numpys;
    signature->has_numpys_bits = !is_own || core->mx_native_loop_has_numpys_bits(op, rows[0]);
    if (signature->has_numpys_bits)
        signature->layouts =
            (signed char)layouts_of_bits(op, &signature->numpys, nin, nout, rows);
    signature->is_silent = is_silent(op, rows);
    signature->exists = !is_special(op, signature);
}

/* At the recursion limit NumPy may still succeed, so the next call searches again. */
static void drop_failure(const struct signature *signature)
{
    if (!signature->is_known && !PyErr_ExceptionMatches(PyExc_MemoryError))
        refusal_drop();
}

const struct signature *signature_of(int op, const struct source *inputs, int nin)
{
    int codes[2] = {inputs[0].code, nin > 1 ? inputs[1].code : 0};
    struct signature *signature = &signatures[op][codes[0]][codes[1]];
    if (!signature->is_known) {
        signature_find(op, codes, nin, signature);
        signature->is_known = !PyErr_Occurred();
        drop_failure(signature);
    }
    return signature->exists ? signature : NULL;
}

/* The loops of ufuncs of other packages, by ufunc and by the codes of the inputs.  They are
 * never freed. */
struct others_signature {
    struct table_key ufunc;
    struct signature *signature;
};
static struct table others = {.row_size = sizeof(struct others_signature)};

/* Return a new signature, or NULL with or without an exception. */
static struct signature *find_others(PyObject *ufunc, const struct source *inputs, int nin)
{
    int codes[MX_MAX_OPERANDS], rows[MX_MAX_OPERANDS];
    struct signature *signature = PyMem_Calloc(1, sizeof *signature);
    if (!signature)
        return (struct signature *)PyErr_NoMemory();
    for (int i = 0; i < nin; i++)
        codes[i] = inputs[i].code;
    signature->exists = find_rows(ufunc, codes, nin, 1, signature, rows) &&
                        find_loop(&signature->numpys, ufunc, rows);
    signature->is_known = !PyErr_Occurred();
    if (signature->is_known)
        return signature;
    drop_failure(signature);
    PyMem_Free(signature);
    return NULL;
}

const struct signature *signature_of_others(PyObject *ufunc, const struct source *inputs,
                                            int nin)
{
    long number = 0;
    for (int i = 0; i < nin; i++)
        number = number * NCODES + inputs[i].code;
    struct others_signature *row = others.capacity ? table_find(&others, ufunc, number) : NULL;
    if (!row || !row->signature) {
        struct signature *found = find_others(ufunc, inputs, nin);
        row = found ? table_add(&others, ufunc, number) : NULL;
        if (!row) {
            PyMem_Free(found);
            return NULL;
        }
        if (row->signature) { /* a finalizer has called the ufunc meanwhile */
            PyMem_Free(found);
        } else {
            Py_INCREF(ufunc);
            row->signature = found;
        }
    }
    return row->signature->exists ? row->signature : NULL;
}

int signature_op(PyObject *ufunc)
{
    for (int op = 0; op < MX_OP_COUNT; op++)
        if (ufuncs[op] == ufunc)
            return op;
    return MX_NO_OP;
}

/* -- Last bits --------------------------------------------------------------------- */

bool signature_is_arithmetic(int op)
{
    return op == MX_OP_add || op == MX_OP_subtract || op == MX_OP_multiply ||
           op == MX_OP_divide || op == MX_OP_square || op == MX_OP_sqrt;
}

bool signature_asks_iterator(const struct signature *signature, int op, npy_intp size)
{
    int row = signature->out[0];
    bool is_product = op == MX_OP_square || op == MX_OP_multiply;
    return size == 1 && mx_dtype_is_inexact(row) &&
           (mx_dtype_is_complex(row) ? is_product : !signature_is_arithmetic(op));
}
