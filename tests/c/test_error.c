/* test_error.c -- each thread has the message of its last failure, which may be of any length.
 */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "check.h"

static void *fail_elsewhere(void *unused)
{
    CHECK(strcmp(mx_error_message(), "") == 0);
    CHECK(mx_fail(MX_ERROR_DEVICE, "elsewhere") == MX_ERROR_DEVICE);
    CHECK(strcmp(mx_error_message(), "elsewhere") == 0);
    return unused;
}

int main(void)
{
    char long_text[2000];
    pthread_t thread;

    CHECK(strcmp(mx_error_message(), "") == 0);
    CHECK(mx_fail(MX_ERROR_VALUE, "%d of %s", 3, "four") == MX_ERROR_VALUE);
    CHECK(strcmp(mx_error_message(), "3 of four") == 0);

    CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strcmp(mx_error_message(), "3 of four") == 0);

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    mx_fail(MX_ERROR_VALUE, "%s", long_text);
    CHECK(strlen(mx_error_message()) == 511);
    return 0;
}
