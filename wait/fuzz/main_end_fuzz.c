/* SPDX-License-Identifier: Apache-2.0 */
/* Property: only an explicit exit code of 0 counts as success, and every exit code is in the range
 * of a process. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/doc.h"
#include "wait/main_end.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct main_end *end)
{
    if (end->exit_code < 0 || end->exit_code > 255 ||
        strnlen(end->reason, sizeof(end->reason)) == sizeof(end->reason))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    cleanup_json json_t *pod = NULL;
    struct main_end end = {0};
    struct error err = {0};

    if (main_end_from_line(text, size, &end, &err) == 0) {
        check(&end);
        if (end.kind != MAIN_ENDED || (end.exit_code == 0 && !memchr(text, '0', size)))
            abort();
    }
    if (doc_parse_json(text, size, 1 << 20, &pod, &err) < 0)
        return 0;
    end = main_end_from_pod(pod, NULL);
    check(&end);
    if (end.kind == MAIN_ENDED && end.exit_code == 0 && !memchr(text, '0', size))
        abort();
    (void)main_end_pod_facts(pod);
    return 0;
}
