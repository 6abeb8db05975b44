/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a cron expression is accepted only if a regular expression with the bounds of each
 * field matches, and always if that matches and there is no range (ranges must not run backwards).
 * Extra blanks and upper case in names change nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/pattern.h"
#include "deployer/validation/cron.h"

#define NUMBER_59 "0*([0-9]|[1-5][0-9])"
#define NUMBER_23 "0*([0-9]|1[0-9]|2[0-3])"
#define NUMBER_31 "0*([1-9]|[12][0-9]|3[01])"
#define NUMBER_12 "(0*([1-9]|1[0-2])|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
#define NUMBER_6 "(0*[0-6]|sun|mon|tue|wed|thu|fri|sat)"
#define STEP "(/0*([1-9][0-9]{0,5}|1000000))?"
#define PART(number_) "([*?]|" number_ "(-" number_ ")?)" STEP
#define FIELD(number_) PART(number_) "(," PART(number_) ")*"
#define BLANKS "[ \t]+"
#define EXPRESSION                                                                                 \
    "^[ \t]*" FIELD(NUMBER_59) BLANKS FIELD(NUMBER_23)                                             \
    BLANKS FIELD(NUMBER_31)                                                                        \
    BLANKS FIELD(NUMBER_12)                                                                        \
    BLANKS FIELD(NUMBER_6) "[ \t]*$"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pattern grammar = {.expression = EXPRESSION, .flags = REG_ICASE};

/* Two numbers separated by a dash. */
static bool has_backward_range(const char *text)
{
    for (const char *dash = strchr(text, '-'); dash; dash = strchr(dash + 1, '-')) {
        const char *low = dash;

        while (low > text && strchr("0123456789", low[-1]))
            low--;
        if (low < dash && strspn(dash + 1, "0123456789") > 0 &&
            strtoul(low, NULL, 10) > strtoul(dash + 1, NULL, 10))
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < 200 ? size : 200);
    cleanup_free char *other = xasprintf("\t %s", text);
    bool is_taken = false;

    /* Forms that the expression does not cover: empty, with a time zone, or a name such as @daily.
     */
    if (!*text || text[strspn(text, "0123456789,-/*?abcdefghijklmnopqrstuvwxyz \t")])
        return 0;
    is_taken = cron_is_valid(text);
    must(!is_taken || (pattern_matches(&grammar, text) && !has_backward_range(text)));
    must(is_taken || !pattern_matches(&grammar, text) || strchr(text, '-'));
    for (char *letter = other; *letter; letter++)
        *letter = *letter >= 'a' && *letter <= 'z' ? (char)(*letter - 'a' + 'A') : *letter;
    must(cron_is_valid(other) == is_taken);
    return 0;
}
