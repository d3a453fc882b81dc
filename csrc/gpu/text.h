#pragma once
/* text.h -- text that grows as it is printed to. */
#include "base/base.h"

struct mx_text {
    char *characters; /* ends with a zero; NULL before anything is printed */
    size_t length, capacity;
    bool is_broken; /* there was no memory for some of it */
};

void mx_text_print(struct mx_text *text, const char *format, ...) MX_PRINTF(2, 3);
void mx_text_clear(struct mx_text *text); /* begins anew, in the same memory */
void mx_text_free(struct mx_text *text);
