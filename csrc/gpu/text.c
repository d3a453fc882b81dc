/* text.c -- text that grows as it is printed to. */
#include "gpu/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

static bool text_reserve(struct mx_text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 4096;
    while (capacity < text->length + more + 1)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    char *grown = mx_realloc(text->characters, capacity);
    if (!grown)
        return false;
    text->characters = grown;
    text->capacity = capacity;
    return true;
}

void mx_text_print(struct mx_text *text, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    size_t left = text->capacity - text->length;
    int length = vsnprintf(left ? text->characters + text->length : NULL, left, format, list);
    if (length < 0 || text->is_broken || !text_reserve(text, (size_t)length))
        text->is_broken = true;
    else if ((size_t)length >= left)
        vsnprintf(text->characters + text->length, (size_t)length + 1, format, again);
    text->length += text->is_broken ? 0 : (size_t)length;
    va_end(again);
    va_end(list);
}

void mx_text_clear(struct mx_text *text)
{
    text->length = 0;
    text->is_broken = false;
}

void mx_text_free(struct mx_text *text)
{
    mx_free(text->characters);
    *text = (struct mx_text){0};
}
