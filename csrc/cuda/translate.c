/* translate.c -- makes CUDA C++ of kernels in the Metal Shading Language.
 *
 * Both are C++, so most of the text stays as it is.  These tokens change:
 *
 * - The address spaces `device` and `thread` are dropped, and `constant` is const.
 * - `threadgroup` is __shared__ in the declaration of a variable, and dropped elsewhere.
 * - The qualifiers metal::, precise:: and fast:: are dropped, as are attributes.
 * - The head of a kernel is written anew.  Its positions become variables.
 *
 * The text between BEGIN_DOUBLE and END_DOUBLE is repeated with double in place of float.
 */
#include "cuda/translate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_DOUBLE   "/* -- also for double, where there is one -- */"
#define END_DOUBLE     "/* -- end of the functions for double -- */"
#define MAX_PARAMETERS 48

struct token {
    const char *at;
    size_t length;
};

struct translation {
    struct mx_text *out;
    const char *at, *end;
    const char *copied;            /* text before it is in `out` */
    struct token last;             /* token before the current one, without comments */
    struct token before_directive; /* token before the line of the preprocessor; or empty */
    int depth;                     /* of braces */
    bool is_double;
    int n_args; /* of all kernels */
};

/* -- Tokens ------------------------------------------------------------------------ */

static bool is_word(int c) { return isalnum(c) || c == '_'; }

static bool is(struct token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.at, text, token.length) == 0;
}

static bool starts(const char *at, const char *end, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* Returns the end of the comment that begins here, or `at` if there is none. */
static const char *skip_comment(const char *at, const char *end)
{
    const char *closing = starts(at, end, "/*") ? "*/" : starts(at, end, "//") ? "\n" : NULL;
    if (!closing)
        return at;
    for (at += 2; at < end && !starts(at, end, closing); at++)
        ;
    return closing[0] == '*' && at < end ? at + 2 : at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    for (;;) {
        const char *before = at;
        while (at < end && isspace((unsigned char)*at))
            at++;
        at = skip_comment(at, end);
        if (at == before)
            return at;
    }
}

static const char *skip_string(const char *at, const char *end)
{
    char quote = *at++;
    for (; at < end && *at != quote && *at != '\n'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : at;
}

/* Returns the token that begins here: a word, a number, a string or one character. */
static struct token token_at(const char *at, const char *end)
{
    const char *stop = at + 1;
    if (*at == '"' || *at == '\'')
        stop = skip_string(at, end);
    else if (isdigit((unsigned char)*at))
        while (stop < end && (is_word((unsigned char)*stop) || *stop == '.' ||
                              ((*stop == '+' || *stop == '-') && tolower(stop[-1]) == 'e' &&
                               !starts(at, end, "0x"))))
            stop++;
    else if (is_word((unsigned char)*at))
        while (stop < end && is_word((unsigned char)*stop))
            stop++;
    return (struct token){at, (size_t)(stop - at)};
}

static struct token next_token(const char *at, const char *end)
{
    at = skip_blanks(at, end);
    return at < end ? token_at(at, end) : (struct token){end, 0};
}

/* -- Printing ---------------------------------------------------------------------- */

static void copy_until(struct translation *t, const char *at)
{
    if (at > t->copied)
        mx_text_print(t->out, "%.*s", (int)(at - t->copied), t->copied);
    t->copied = at;
}

/* Prints a replacement for the text from `at` until `end`, where the translation goes on. */
static void translate_replace(struct translation *t, const char *at, const char *end,
                              const char *by)
{
    copy_until(t, at);
    mx_text_print(t->out, "%s", by);
    t->copied = t->at = end;
}

/* -- Address spaces ---------------------------------------------------------------- */

static bool is_const(struct token token)
{
    return is(token, "const") || is(token, "constexpr");
}

/* Whether `threadgroup` here begins the declaration of a variable, not of a pointer. */
static bool declares_variable(const struct translation *t, const char *after)
{
    bool begins = t->last.length == 1 && strchr(";{}", *t->last.at);
    for (; begins && after < t->end && !strchr("*&=[;,(", *after); after++)
        ;
    return begins && after < t->end && (*after == '[' || *after == ';' || *after == ',');
}

/* Returns what replaces a word, or NULL if it stays. */
static const char *replacement(const struct translation *t, struct token word)
{
    const char *after = word.at + word.length;
    if (is(word, "device") || is(word, "thread"))
        return "";
    if (is(word, "constant"))
        return is_const(t->last) || is_const(next_token(after, t->end)) ? "" : "const";
    if (is(word, "threadgroup"))
        return declares_variable(t, after) ? "__shared__" : "";
    if (!t->is_double)
        return NULL;
    return is(word, "float")      ? "double"
           : is(word, "float2")   ? "double2"
           : is(word, "INFINITY") ? "MX_INFINITY64"
           : is(word, "MX_NAN")   ? "MX_NAN64"
                                  : NULL;
}

static bool is_namespace(const struct translation *t, struct token word)
{
    return (is(word, "metal") || is(word, "precise") || is(word, "fast")) &&
           starts(word.at + word.length, t->end, "::");
}

/* -- Kernels ----------------------------------------------------------------------- */

struct parameter {
    struct token type, name, attribute; /* the type includes its `*` or `&` */
    int index;                          /* of a buffer */
};

/* The head of a kernel, up to the brace of its body. */
struct head {
    struct token name;
    const char *brace;
    struct parameter parameters[MAX_PARAMETERS];
    int n, numbers; /* numbers: the parameter with the greatest index; -1: none */
    bool is_in_order;
};

static const struct {
    const char *attribute, *value;
} positions[] = {
    {"thread_position_in_grid", "mx_grid_position(mx_dispatched)"},
    {"thread_position_in_threadgroup", "uint3(threadIdx.x, threadIdx.y, threadIdx.z)"},
    {"threadgroup_position_in_grid", "mx_group_position(mx_dispatched)"},
    {"threads_per_threadgroup", "uint3(blockDim.x, blockDim.y, blockDim.z)"},
    {"threads_per_grid", "uint3(mx_dispatched.threads[0], mx_dispatched.threads[1], "
                         "mx_dispatched.threads[2])"},
    {"threadgroups_per_grid", "uint3(mx_dispatched.groups[0], mx_dispatched.groups[1], "
                              "mx_dispatched.groups[2])"},
    {"thread_index_in_threadgroup", "uint3(mx_thread_index(), 0, 0)"},
    {"thread_index_in_simdgroup", "uint3(mx_thread_index() % 32, 0, 0)"},
    {"simdgroup_index_in_threadgroup", "uint3(mx_thread_index() / 32, 0, 0)"},
    {"threads_per_simdgroup", "uint3(32, 0, 0)"},
    {"simdgroups_per_threadgroup",
     "uint3((blockDim.x * blockDim.y * blockDim.z + 31) / 32, 0, 0)"},
};

static const char *position_of(struct token attribute)
{
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        if (is(attribute, positions[i].attribute))
            return positions[i].value;
    return NULL;
}

/* Reads `TYPE NAME [[ATTRIBUTE(INDEX)]]` and returns whether it has this form. */
static bool read_parameter(struct parameter *out, const char *at, const char *end)
{
    *out = (struct parameter){.index = -1};
    at = skip_blanks(at, end);
    out->type.at = at;
    while (at < end && *at != '[') {
        struct token token = token_at(at, end);
        if (is_word((unsigned char)*at))
            out->name = token;
        at = skip_blanks(at + token.length, end);
    }
    if (!out->name.at || !starts(at, end, "[["))
        return false;
    out->type.length = (size_t)(out->name.at - out->type.at);
    out->attribute = next_token(at + 2, end);
    at = skip_blanks(out->attribute.at + out->attribute.length, end);
    if (is(out->attribute, "buffer") && at < end && *at == '(')
        out->index = atoi(at + 1);
    return out->index >= 0 || position_of(out->attribute);
}

/* Returns how many numbers the text uses of an array that it calls `name`. */
static int count_numbers(struct token name, const char *at, const char *end)
{
    int most = 1;
    while ((at = skip_blanks(at, end)) < end) {
        struct token token = token_at(at, end);
        at += token.length;
        if (token.length != name.length || memcmp(token.at, name.at, name.length) != 0)
            continue;
        char *after = NULL;
        long index = at < end && *at == '[' ? strtol(at + 1, &after, 10) : -1;
        if (!after || after == at + 1 || *after != ']' || index >= MX_TRANSLATE_ARGS)
            return MX_TRANSLATE_ARGS;
        most = index >= most ? (int)index + 1 : most;
    }
    return (most + 7) & ~7;
}

/* Prints a type without its address space. */
static void print_type(struct translation *t, struct token type)
{
    struct translation inner = {
        .out = t->out, .at = type.at, .end = type.at + type.length, .copied = type.at};
    while ((inner.at = skip_blanks(inner.at, inner.end)) < inner.end) {
        struct token token = token_at(inner.at, inner.end);
        const char *by = replacement(&inner, token);
        inner.at += token.length;
        if (by)
            translate_replace(&inner, token.at, inner.at, by);
        inner.last = token;
    }
    copy_until(&inner, inner.end);
}

static void print_parameters(struct translation *t, const struct head *head)
{
    for (int i = 0; i < head->n; i++) {
        const struct parameter *each = &head->parameters[i];
        struct token type = each->type;
        if (each->index < 0 || i == head->numbers)
            continue;
        while (type.length && isspace((unsigned char)type.at[type.length - 1]))
            type.length--;
        bool is_reference = type.length && type.at[type.length - 1] == '&';
        type.length -= is_reference;
        print_type(t, type);
        mx_text_print(t->out, "%s__restrict__ %s%.*s, ", is_reference ? "*" : " ",
                      is_reference ? "mx_" : "", (int)each->name.length, each->name.at);
    }
    mx_text_print(t->out,
                  "const __grid_constant__ mx_arguments<%d> mx_numbers, "
                  "const __grid_constant__ mx_places mx_dispatched)",
                  t->n_args);
}

/* Prints the variables that stand for parameters. */
static void print_variables(struct translation *t, const struct head *head)
{
    mx_text_print(t->out, "{ if (mx_is_beyond(mx_dispatched)) return;");
    for (int i = 0; i < head->n; i++) {
        const struct parameter *each = &head->parameters[i];
        int length = (int)each->name.length;
        bool is_reference = memchr(each->type.at, '&', each->type.length) != NULL;
        if (each->index >= 0 && i != head->numbers && !is_reference)
            continue;
        mx_text_print(t->out, " ");
        print_type(t, each->type);
        mx_text_print(t->out, "%.*s = ", length, each->name.at);
        if (i == head->numbers)
            mx_text_print(t->out, "%smx_numbers.values;", is_reference ? "*" : "");
        else if (is_reference)
            mx_text_print(t->out, "*mx_%.*s;", length, each->name.at);
        else
            mx_text_print(t->out, "mx_position<%.*s>::of(%s);", (int)each->type.length,
                          each->type.at, position_of(each->attribute));
    }
}

static void translate_fail(struct translation *t, struct token name, const char *why)
{
    mx_text_print(t->out, "\n#error kernel %.*s: %s\n", (int)name.length, name.at, why);
}

/* Reads the parameters in [at, end).  Returns their number, or -1 if one is of another form. */
static int read_parameters(struct parameter *out, const char *at, const char *end)
{
    int n = 0;
    while ((at = skip_blanks(at, end)) < end) {
        const char *begin = at;
        for (int depth = 0; at < end && (depth > 0 || *at != ','); at++)
            depth += strchr("([<", *at) ? 1 : strchr(")]>", *at) ? -1 : 0;
        if (n == MAX_PARAMETERS || !read_parameter(&out[n++], begin, at))
            return -1;
        at += at < end;
    }
    return n;
}

static const char *find_closing(const char *at, const char *end, char open, char close)
{
    for (int depth = 0; at < end; at += token_at(at, end).length, at = skip_blanks(at, end)) {
        depth += *at == open ? 1 : *at == close ? -1 : 0;
        if (depth == 0)
            break;
    }
    return at;
}

/* Reads what follows the word `kernel` and returns whether it is the head of a kernel. */
static bool read_head(struct head *out, const char *at, const char *end)
{
    struct token result = next_token(at, end);
    out->name = next_token(result.at + result.length, end);
    const char *open = skip_blanks(out->name.at + out->name.length, end);
    if (!is(result, "void") || open == end || *open != '(')
        return false;
    const char *close = find_closing(open, end, '(', ')');
    out->brace = close < end ? skip_blanks(close + 1, end) : end;
    out->n = read_parameters(out->parameters, open + 1, close);
    out->numbers = -1;
    out->is_in_order = true;
    int index = -1;
    for (int i = 0; i < out->n; i++)
        if (out->parameters[i].index >= 0) {
            out->is_in_order &= out->parameters[i].index == ++index;
            out->numbers = i;
        }
    return out->brace < end && *out->brace == '{';
}

/* Translates a kernel from the word `kernel` to the brace of its body. */
static void translate_head(struct translation *t, struct token kernel)
{
    struct head head;
    if (!read_head(&head, kernel.at + kernel.length, t->end))
        return; /* another use of the word */
    if (head.numbers < 0)
        translate_fail(t, head.name, "a parameter is neither a buffer nor a position");
    if (!head.is_in_order)
        translate_fail(t, head.name, "buffers must be declared in the order of their numbers");
    if (head.numbers < 0 || !head.is_in_order)
        return;
    copy_until(t, kernel.at);
    mx_text_print(t->out, "extern \"C\" __global__ void %.*s(", (int)head.name.length,
                  head.name.at);
    print_parameters(t, &head);
    print_variables(t, &head);
    for (const char *c = kernel.at; c < head.brace; c++) /* the lines keep their numbers */
        if (*c == '\n')
            mx_text_print(t->out, "\n");
    t->copied = t->at = head.brace + 1;
    t->depth++;
    t->last = (struct token){head.brace, 1};
}

/* Returns how many numbers the kernels of a source take. */
static int count_args(const char *at, const char *end)
{
    int most = 8;
    while ((at = skip_blanks(at, end)) < end) {
        struct token token = token_at(at, end);
        struct head head;
        at += token.length;
        if (!is(token, "kernel") || !read_head(&head, at, end) || head.numbers < 0)
            continue;
        at = find_closing(head.brace, end, '{', '}');
        int count = count_numbers(head.parameters[head.numbers].name, head.brace, at);
        most = count > most ? count : most;
    }
    return most;
}

/* -- The text ---------------------------------------------------------------------- */

static void translate(struct translation *t);

/* Repeats the text from BEGIN_DOUBLE to here. */
static void repeat_for_double(struct translation *t, const char *begin)
{
    struct translation inner = *t;
    copy_until(t, t->at);
    inner.at = inner.copied = begin;
    inner.end = t->at;
    inner.is_double = true;
    mx_text_print(t->out, "\n");
    translate(&inner);
}

static bool is_float(struct token token)
{
    return token.length > 1 && token.at[token.length - 1] == 'f' &&
           !starts(token.at, token.at + token.length, "0x");
}

/* A line of the preprocessor, such as #line, is not part of what comes after it. */
static void skip_space(struct translation *t)
{
    if (t->before_directive.length && *t->at == '\n' && t->at[-1] != '\\') {
        t->last = t->before_directive;
        t->before_directive.length = 0;
    }
    t->at++;
}

static void translate(struct translation *t)
{
    const char *section = NULL;
    while (t->at < t->end) {
        const char *comment = skip_comment(t->at, t->end);
        if (comment > t->at) {
            bool begins = starts(t->at, t->end, BEGIN_DOUBLE);
            bool ends = section && starts(t->at, t->end, END_DOUBLE);
            t->at = comment;
            if (ends)
                repeat_for_double(t, section);
            section = begins && !t->is_double ? comment : ends ? NULL : section;
            continue;
        }
        if (isspace((unsigned char)*t->at)) {
            skip_space(t);
            continue;
        }
        if (*t->at == '#' && !t->before_directive.length)
            t->before_directive = t->last;
        struct token token = token_at(t->at, t->end);
        const char *after = token.at + token.length;
        const char *by = is_word((unsigned char)*token.at) ? replacement(t, token) : NULL;
        t->at = after;
        if (is(token, "kernel") && t->depth == 0) {
            t->last = token;
            translate_head(t, token);
            continue;
        }
        if (is_namespace(t, token))
            translate_replace(t, token.at, after + 2, "");
        else if (starts(token.at, t->end, "[[") && strstr(token.at, "]]"))
            translate_replace(t, token.at, strstr(token.at, "]]") + 2, "");
        else if (t->is_double && is_float(token) && isdigit((unsigned char)*token.at))
            translate_replace(t, after - 1, after, "");
        else if (by)
            translate_replace(t, token.at, after, by);
        t->depth += *token.at == '{' ? 1 : *token.at == '}' ? -1 : 0;
        t->last = token;
    }
    copy_until(t, t->end);
}

int mx_translate_source(struct mx_text *out, const char *source)
{
    const char *end = source + strlen(source);
    struct translation t = {.out = out,
                            .at = source,
                            .end = end,
                            .copied = source,
                            .last = {";", 1},
                            .n_args = count_args(source, end)};
    translate(&t);
    return t.n_args;
}
