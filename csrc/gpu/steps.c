/* steps.c -- what one thread does with one element, step by step. */
#include "gpu/steps.h"

#include <string.h>

#include "gpu/atomics.h"

/* -- Supported instructions ------------------------------------------------------- */

/* The processor computes reciprocals of integers, because only it has NumPy's results for zero,
 * and powers of complex numbers, because the GPU's error grows with the exponent. */
static bool is_exact_enough(int op, char kind)
{
    return op == MX_OP_reciprocal
               ? kind == 'f' || kind == 'c'
               : kind != 'c' || (op != MX_OP_power && op != MX_OP_float_power);
}

bool mx_steps_supports(const struct mx_instruction *in)
{
    for (int k = 0; k < mx_operand_count(in); k++)
        if (!mx_device_supports(in->operands[k].dtype))
            return false;
    switch (in->kind) {
    case MX_MAP:
        return is_exact_enough(in->op, mx_dtype_kind(in->operands[0].dtype));
    case MX_ARANGE:
        return !mx_dtype_is_complex(in->operands[1].dtype);
    case MX_SCATTER: /* an update is atomic; if elements are set, each has one writer */
        return mx_atomics_support(in->op, in->operands[in->nin].dtype);
    default:
        return true;
    }
}

/* -- Conditions -------------------------------------------------------------------- */

#define UNDERFLOW 4 /* MX_UNDERFLOW of the kernels' prelude */

/* The rule that derives the floating-point conditions of a row from its operands and its
 * result. The prelude has a function mx_met_... for each. */
enum conditions {
    NONE,
    ARITHMETIC,
    QUOTIENT,
    RECIPROCAL,
    POLE,
    POWER,
    DIVMOD,
    STEP,
    ORDER,
    EXTREME,
    NUMBER,
    LOGARITHMS,
};

static const unsigned char conditions[MX_OP_COUNT] = {
    [MX_OP_add] = ARITHMETIC,
    [MX_OP_subtract] = ARITHMETIC,
    [MX_OP_multiply] = ARITHMETIC,
    [MX_OP_divide] = QUOTIENT,
    [MX_OP_floor_divide] = DIVMOD,
    [MX_OP_remainder] = DIVMOD,
    [MX_OP_fmod] = DIVMOD,
    [MX_OP_divmod] = DIVMOD,
    [MX_OP_power] = POWER,
    [MX_OP_float_power] = POWER,
    [MX_OP_square] = ARITHMETIC,
    [MX_OP_reciprocal] = RECIPROCAL,
    [MX_OP_absolute] = ARITHMETIC,
    [MX_OP_sqrt] = ARITHMETIC,
    [MX_OP_exp] = ARITHMETIC,
    [MX_OP_exp2] = ARITHMETIC,
    [MX_OP_expm1] = ARITHMETIC,
    [MX_OP_log] = POLE,
    [MX_OP_log2] = POLE,
    [MX_OP_log10] = POLE,
    [MX_OP_log1p] = POLE,
    [MX_OP_logaddexp] = LOGARITHMS,
    [MX_OP_logaddexp2] = LOGARITHMS,
    [MX_OP_sin] = ARITHMETIC,
    [MX_OP_cos] = ARITHMETIC,
    [MX_OP_tan] = ARITHMETIC,
    [MX_OP_arcsin] = ARITHMETIC,
    [MX_OP_arccos] = ARITHMETIC,
    [MX_OP_hypot] = ARITHMETIC,
    [MX_OP_sinh] = ARITHMETIC,
    [MX_OP_cosh] = ARITHMETIC,
    [MX_OP_arccosh] = ARITHMETIC,
    [MX_OP_arctanh] = POLE,
    [MX_OP_rad2deg] = ARITHMETIC,
    [MX_OP_degrees] = ARITHMETIC,
    [MX_OP_ldexp] = ARITHMETIC,
    [MX_OP_nextafter] = STEP,
    [MX_OP_spacing] = STEP,
};

/* The calls that find underflow.  That of other rows cannot be derived, or not without their
 * rounding errors. */
static const char *const underflows[MX_OP_COUNT] = {
    [MX_OP_multiply] = "product(a, b, r)", [MX_OP_square] = "product(a, a, r)",
    [MX_OP_divide] = "quotient(a, b, r)",  [MX_OP_reciprocal] = "reciprocal(a, r)",
    [MX_OP_exp] = "exponential(a, r)",
};

/* The loops of ml_dtypes compare floats as C does, which is an invalid operation with NaN. */
static const unsigned char bfloat16_conditions[MX_OP_COUNT] = {
    [MX_OP_less] = ORDER,      [MX_OP_less_equal] = ORDER,    [MX_OP_greater] = ORDER,
    [MX_OP_maximum] = EXTREME, [MX_OP_minimum] = EXTREME,     [MX_OP_fmax] = NUMBER,
    [MX_OP_fmin] = NUMBER,     [MX_OP_greater_equal] = ORDER,
};

static enum conditions conditions_of(const struct mx_instruction *in)
{
    int from = in->operands[0].dtype, to = in->operands[in->nin].dtype;
    bool is_real = mx_dtype_is_inexact(from);
    bool is_silent =
        from == MX_DTYPE_bfloat16 ? mx_dtype_is_float(to) : to == MX_DTYPE_bfloat16;
    if (in->op == MX_COPY) /* of a float as an integer or a smaller float */
        return is_real && from != to && mx_dtype_kind(to) != 'b' && !is_silent &&
                       in->kind == MX_MAP
                   ? ARITHMETIC
                   : NONE;
    if (in->op >= MX_OP_COUNT || in->kind == MX_SCATTER)
        return NONE;
    enum conditions found = (enum conditions)conditions[in->op];
    if (from == MX_DTYPE_bfloat16 && in->kind == MX_MAP && found == NONE)
        return (enum conditions)bfloat16_conditions[in->op];
    return is_real || found == DIVMOD ? found : NONE;
}

bool mx_steps_has_status(const struct mx_instruction *in)
{
    return in->kind == MX_BOUNDS_CHECK || (in->fpe_mask && conditions_of(in) != NONE);
}

/* -- Operands ---------------------------------------------------------------------- */

/* Whether the result is one of the operands as it is, also if that is a bool with another byte
 * than 0 and 1. */
static bool moves(const struct mx_instruction *in)
{
    bool is_moved = in->kind == MX_GATHER || in->op == MX_COPY || in->op == MX_SELECT ||
                    in->op == MX_OP_floor || in->op == MX_OP_ceil || in->op == MX_OP_trunc;
    return is_moved && in->operands[in->nin - 1].dtype == in->operands[in->nin].dtype;
}

const char *mx_steps_type(const struct mx_instruction *in, int k)
{
    bool is_condition = in->op == MX_SELECT && k == 0;
    int dtype = in->operands[k].dtype;
    return moves(in) && !is_condition ? mx_device_memory_type(dtype) : mx_device_type(dtype);
}

static void print_value(struct mx_kernel *kernel, const struct mx_operand *operand,
                        const char *bytes, const char *type)
{
    int64_t bits[2] = {0};
    size_t size = (size_t)operand->itemsize;
    memcpy(bits, bytes, size < sizeof bits ? size : sizeof bits);
    mx_text_print(&kernel->text, "mx_value<%s>(args[%d]", type, mx_kernel_arg(kernel, bits[0]));
    if (size > sizeof *bits)
        mx_text_print(&kernel->text, ", args[%d]", mx_kernel_arg(kernel, bits[1]));
    mx_text_print(&kernel->text, ")");
}

void mx_steps_print_operand(struct mx_kernel *kernel, int step, int k)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const struct mx_operand *operand = &in->operands[k];
    const char *type = mx_steps_type(in, k);
    int view = kernel->group->steps[step].views[k];
    if (view < 0)
        print_value(kernel, operand, operand->value, type);
    else if (kernel->group->views[view].dtype != operand->dtype)
        mx_text_print(&kernel->text, "mx_bits<%s>(v%d)", type, view);
    else if (type != mx_device_memory_type(operand->dtype))
        mx_text_print(&kernel->text, "%s(v%d)", type, view);
    else
        mx_text_print(&kernel->text, "v%d", view);
}

/* Assigns a result to the variable of its view. */
static void print_result(struct mx_kernel *kernel, int step, int k, const char *variable)
{
    const struct mx_operand *operand = &mx_kernel_instruction(kernel, step)->operands[k];
    int view = kernel->group->steps[step].views[k];
    if (kernel->group->views[view].dtype == operand->dtype)
        mx_text_print(&kernel->text, "        v%d = %s;\n", view, variable);
    else
        mx_text_print(&kernel->text, "        v%d = mx_bits<%s>(%s);\n", view,
                      mx_device_type(kernel->group->views[view].dtype), variable);
}

/* -- Indices ----------------------------------------------------------------------- */

/* Adds the offsets that the indices of a step stand for to `offset`.  `is_selected` is false if
 * one of them selects no element. */
static void print_indices(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    for (int j = 0; j < in->indexing.n; j++) {
        mx_text_print(&kernel->text, "        is_selected = mx_index<%d>(",
                      (int)in->indexing.bounds);
        mx_steps_print_operand(kernel, step, j);
        mx_text_print(&kernel->text, ", args[%d], %s(args[%d]), &offset) && is_selected;\n",
                      mx_kernel_arg(kernel, in->indexing.sizes[j]),
                      mx_kernel_offset_type(kernel),
                      mx_kernel_arg(kernel, in->indexing.strides[j]));
    }
}

void mx_steps_print_target(struct mx_kernel *kernel, int step, int k)
{
    const struct mx_group *group = kernel->group;
    int view = group->steps[step].views[k];
    const char *type = mx_kernel_offset_type(kernel);
    mx_text_print(&kernel->text, "        bool is_selected = true;\n        %s offset = 0;\n",
                  type);
    print_indices(kernel, step);
    mx_text_print(&kernel->text, "        %s target = offset + ", type);
    mx_kernel_print_offset(kernel, view);
    mx_text_print(&kernel->text, ";\n");
}

static void print_gather(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const char *type = mx_steps_type(in, in->nin);
    int view = kernel->group->steps[step].views[in->nin - 1];
    mx_steps_print_target(kernel, step, in->nin - 1);
    mx_text_print(&kernel->text,
                  "        %s r = mx_cast<%s>(0);\n        if (is_selected)\n"
                  "            r = mx_load<%s>(m%d + target);\n",
                  type, type, type, kernel->buffers[view]);
    print_result(kernel, step, in->nin, "r");
}

static void print_search(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    mx_text_print(&kernel->text, "        long r = mx_search<%s, %s>(",
                  mx_device_type(in->operands[0].dtype),
                  in->op == MX_SEARCH_RIGHT ? "true" : "false");
    mx_kernel_print_address(kernel, kernel->group->steps[step].views[1]);
    mx_text_print(&kernel->text, ", args[%d], args[%d], ",
                  mx_kernel_arg(kernel, in->indexing.sizes[0]),
                  mx_kernel_arg(kernel, in->indexing.strides[0]));
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(&kernel->text, ");\n");
    print_result(kernel, step, 2, "r");
}

static void print_check(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    mx_text_print(&kernel->text, "        if (mx_is_outside(long(");
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(&kernel->text, "), args[%d]))\n            report%d = MX_FAILED;\n",
                  mx_kernel_arg(kernel, in->indexing.sizes[0]), step);
}

/* -- Maps -------------------------------------------------------------------------- */

static void print_range(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const struct mx_operand *first = &in->operands[0];
    int itemsize = in->operands[1].itemsize;
    struct mx_operand one = {.itemsize = itemsize, .dtype = in->operands[1].dtype};
    /* In a reduction `r` may stand for i0. */
    const char *type = mx_device_type(one.dtype);
    mx_text_print(&kernel->text, "        %s value = mx_range(", type);
    print_value(kernel, &one, first->value, type);
    mx_text_print(&kernel->text, ", ");
    print_value(kernel, &one, first->value + itemsize, type);
    mx_text_print(&kernel->text, ", long(i0));\n");
    print_result(kernel, step, 1, "value");
}

static const char *expression_of(int op)
{
    switch (op) {
    case MX_SELECT:
        return "a ? b : d";
    case MX_CLIP:
        return "mx_minimum(mx_maximum(a, b), d)";
    default:
        return mx_op_get(op)->expression;
    }
}

static const char *underflow_of(const struct mx_instruction *in)
{
    int dtype = in->operands[0].dtype;
    bool is_wanted = in->op < MX_OP_COUNT && in->fpe_mask & UNDERFLOW &&
                     mx_dtype_is_float(dtype) && dtype != MX_DTYPE_bfloat16;
    return is_wanted ? underflows[in->op] : NULL;
}

static void print_conditions(struct mx_kernel *kernel, int step)
{
    static const char *const names[] = {
        [ARITHMETIC] = "arithmetic",
        [QUOTIENT] = "quotient",
        [RECIPROCAL] = "reciprocal",
        [POLE] = "pole",
        [POWER] = "power",
        [DIVMOD] = "divmod",
        [STEP] = "step",
        [ORDER] = "order",
        [EXTREME] = "extreme",
        [NUMBER] = "number",
        [LOGARITHMS] = "logarithms",
    };
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const char *name = names[conditions_of(in)], *underflow = underflow_of(in);
    mx_text_print(&kernel->text, "        report%d |= mx_met_%s(a%s, r);\n", step, name,
                  in->nin > 1 ? ", b" : "");
    if (in->nout > 1 && in->operands[in->nin + 1].dtype == in->operands[in->nin].dtype)
        mx_text_print(&kernel->text, "        report%d |= mx_met_%s(a%s, c);\n", step, name,
                      in->nin > 1 ? ", b" : "");
    if (underflow)
        mx_text_print(&kernel->text, "        report%d |= mx_underflow_%s;\n", step, underflow);
}

static void print_map(struct mx_kernel *kernel, int step)
{
    static const char *const names[] = {"a", "b", "d"};
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    struct mx_text *text = &kernel->text;
    const char *type = mx_steps_type(in, in->nin);
    for (int k = 0; k < in->nin; k++) {
        mx_text_print(text, "        %s %s = ", mx_steps_type(in, k), names[k]);
        mx_steps_print_operand(kernel, step, k);
        mx_text_print(text, ";\n");
    }
    if (in->nout > 1)
        mx_text_print(text, "        %s c;\n", mx_device_type(in->operands[in->nin + 1].dtype));
    if (in->op == MX_COPY)
        mx_text_print(text, "        %s r = mx_cast<%s>(a);\n", type, type);
    else
        mx_text_print(text, "        %s r = %s;\n", type, expression_of(in->op));
    if (mx_steps_has_status(in))
        print_conditions(kernel, step);
    print_result(kernel, step, in->nin, "r");
    if (in->nout > 1)
        print_result(kernel, step, in->nin + 1, "c");
}

void mx_steps_print_operation(struct mx_kernel *kernel, int op, const char *name,
                              const char *type, const char *second_type)
{
    mx_text_print(&kernel->text,
                  "struct %s {\n    static MX_INLINE %s apply(%s a, %s b) { return %s; }\n};\n",
                  name, type, type, second_type, expression_of(op));
}

/* -- The steps of a group ---------------------------------------------------------- */

void mx_steps_declare(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    const struct mx_group *group = kernel->group;
    for (int s = 0; s < group->n_steps; s++)
        if (words->of_steps[s])
            mx_text_print(&kernel->text, "    uint report%d = 0;\n", s);
}

static bool is_loaded(const struct mx_view *view)
{
    return view->is_read && !view->begins_empty;
}

void mx_steps_load(struct mx_kernel *kernel)
{
    const struct mx_group *group = kernel->group;
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        const char *type = mx_device_memory_type(view->dtype);
        if (view->is_indexed || view->is_reduced)
            continue;
        mx_text_print(&kernel->text, "    %s v%d", type, v);
        if (mx_kernel_is_packed(kernel, v)) {
            if (is_loaded(view))
                mx_text_print(&kernel->text, " = p%d.item[w]", v);
        } else if (is_loaded(view)) {
            mx_text_print(&kernel->text, " = mx_load<%s>(", type);
            mx_kernel_print_address(kernel, v);
            mx_text_print(&kernel->text, ")");
        }
        mx_text_print(&kernel->text, ";\n");
    }
}

static void store_views(struct mx_kernel *kernel)
{
    const struct mx_group *group = kernel->group;
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        if (!view->is_written || view->is_temporary || view->is_reduced || view->is_indexed)
            continue;
        if (mx_kernel_is_packed(kernel, v)) {
            mx_text_print(&kernel->text, "    p%d.item[w] = v%d;\n", v, v);
            continue;
        }
        mx_text_print(&kernel->text, "    mx_store(");
        mx_kernel_print_address(kernel, v);
        mx_text_print(&kernel->text, ", v%d);\n", v);
    }
}

static void print_step(struct mx_kernel *kernel, int step,
                       void (*print_reduction)(struct mx_kernel *kernel, int step))
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    mx_text_print(&kernel->text, "    { /* %s */\n", in->name);
    switch (in->kind) {
    case MX_BOUNDS_CHECK:
        print_check(kernel, step);
        break;
    case MX_ARANGE:
        print_range(kernel, step);
        break;
    case MX_GATHER:
        (in->op == MX_NO_OP ? print_gather : print_search)(kernel, step);
        break;
    case MX_MAP:
        print_map(kernel, step);
        break;
    default:
        print_reduction(kernel, step);
    }
    mx_text_print(&kernel->text, "    }\n");
}

void mx_steps_print(struct mx_kernel *kernel,
                    void (*print_reduction)(struct mx_kernel *kernel, int step))
{
    mx_steps_load(kernel);
    for (int s = 0; s < kernel->group->n_steps; s++)
        print_step(kernel, s, print_reduction);
    store_views(kernel);
}

static void load_packs(struct mx_kernel *kernel)
{
    for (int v = 0; v < kernel->group->n_views; v++) {
        const char *type = mx_device_memory_type(kernel->group->views[v].dtype);
        if (!mx_kernel_is_packed(kernel, v))
            continue;
        mx_text_print(&kernel->text, "    mx_pack<%s, %du> p%d", type, kernel->pack, v);
        if (is_loaded(&kernel->group->views[v])) {
            mx_text_print(&kernel->text, " = mx_load_pack<%s, %du>(", type, kernel->pack);
            mx_kernel_print_address(kernel, v);
            mx_text_print(&kernel->text, ", count)");
        }
        mx_text_print(&kernel->text, ";\n");
    }
}

static void store_packs(struct mx_kernel *kernel)
{
    for (int v = 0; v < kernel->group->n_views; v++) {
        if (!kernel->group->views[v].is_written || !mx_kernel_is_packed(kernel, v))
            continue;
        mx_text_print(&kernel->text, "    mx_store_pack(");
        mx_kernel_print_address(kernel, v);
        mx_text_print(&kernel->text, ", p%d, count);\n", v);
    }
}

void mx_steps_print_packs(struct mx_kernel *kernel, const char *end,
                          void (*print_reduction)(struct mx_kernel *kernel, int step))
{
    const char *type = mx_kernel_offset_type(kernel);
    int last = kernel->ndim - 1;
    mx_text_print(&kernel->text, "    const %s start = i%d;\n", type, last);
    if (end)
        mx_text_print(&kernel->text,
                      "    const uint count = uint(mx_lesser(%s - start, %s(%d)));\n", end,
                      type, kernel->pack);
    else
        mx_text_print(&kernel->text, "    const uint count = %du;\n", kernel->pack);
    load_packs(kernel);
    mx_text_print(&kernel->text,
                  "    MX_UNROLL\n    for (uint w = 0; w < %du; w++) {\n"
                  "    if (w >= count)\n        break;\n    const %s i%d = start + %s(w);\n",
                  kernel->pack, type, last, type);
    mx_steps_print(kernel, print_reduction);
    mx_text_print(&kernel->text, "    }\n");
    store_packs(kernel);
}

void mx_steps_report(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    for (int s = 0; s < kernel->group->n_steps; s++) {
        if (!words->of_steps[s])
            continue;
        mx_text_print(
            &kernel->text, "    mx_report(status, uint(args[%d]), uint(args[%d]), report%d);\n",
            mx_kernel_arg(kernel, words->of_steps[s]), mx_kernel_arg(kernel, words->group), s);
    }
}
