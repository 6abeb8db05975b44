/* SPDX-License-Identifier: Apache-2.0 */
/* The input is any object. A verdict says what is missing unless the object is ready, its reason is
 * printable and has nothing of the messages in the object, and only the strict rules fail. */
#include <stdint.h>
#include <string.h>

#include "common/apply/readiness.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

enum { SIZE_LIMIT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const json_t *object, enum readiness_rules rules)
{
    struct readiness_verdict verdict = readiness_judge(object, rules);
    struct readiness_verdict again = readiness_judge(object, rules);

    must(memchr(verdict.reason, '\0', sizeof(verdict.reason)) != NULL);
    must((verdict.readiness == READINESS_READY) == (verdict.reason[0] == '\0'));
    must(rules == READINESS_STRICT || verdict.readiness != READINESS_FAILED);
    must(!strstr(verdict.reason, "canary"));
    must(verdict.readiness == again.readiness && strcmp(verdict.reason, again.reason) == 0);
    for (const char *letter = verdict.reason; *letter; letter++)
        must(*letter >= ' ' && *letter <= '~');
}

/* No condition has a status or reason that looks like a word and is a message in truth. */
static bool has_canary_reason(const json_t *object)
{
    const json_t *conditions = doc_get(object, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strstr(doc_text_or(condition, "reason", ""), "canary") ||
            strstr(doc_text_or(condition, "status", ""), "canary"))
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *object = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_json((const char *)data, size, SIZE_LIMIT, &object, &err) < 0 ||
        has_canary_reason(object))
        return 0;
    check(object, READINESS_DEFAULT);
    check(object, READINESS_STRICT);
    return 0;
}
