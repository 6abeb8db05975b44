/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `longshore validate` on texts. */
#pragma once

#include "deployer/commands/commands.h"
#include "deployer/commands/tests/output.h"

/* Runs validate on a text and returns its output, in which the file is called F. The caller frees.
 */
static inline char *validate_text(const char *text, const char *option, int *ret_code)
{
    char path[] = "/tmp/longshore-validate.XXXXXX";
    const char *const arguments[] = {"validate", path, option, NULL};
    cleanup_free char *output = NULL;
    cleanup_free char *result = NULL;
    int fd = mkstemp(path);
    size_t size = 0;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    output = output_of(validate_main, arguments, ret_code);
    (void)unlink(path);
    result = xcalloc(strlen(output) + 1, 1);
    for (const char *at = output; *at;) {
        bool is_path = strncmp(at, path, strlen(path)) == 0;

        result[size++] = is_path ? 'F' : *at;
        at += is_path ? strlen(path) : 1;
    }
    return steal(&result);
}

struct validate_case {
    const char *text;
    int code;
    const char *output;
};

static inline void assert_cases(const struct validate_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int code = 0;
        cleanup_free char *output = validate_text(cases[i].text, NULL, &code);

        if (strcmp(output, cases[i].output) != 0 || code != cases[i].code)
            fail_msg("case %zu: code %d\n--- got\n%s--- expected\n%s", i, code, output,
                     cases[i].output);
    }
}
