/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a text is accepted if and only if it consists of digits and its value by strtoull is
 * within the bound; the number prints as the same digits, and a higher bound accepts it too. Input:
 * which bound, then text. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_whole(const char *text, uint64_t max)
{
    uint64_t number = 0, expected = 0, again = 0;
    bool is_number = number_parse(text, max, &number);
    char written[32] = "";

    errno = 0;
    expected = strtoull(text, NULL, 10);
    must(is_number ==
         (*text && text[strspn(text, "0123456789")] == '\0' && errno == 0 && expected <= max));
    if (!is_number)
        return;
    must(number == expected && number_parse(text, UINT64_MAX, &again) && again == number);
    (void)snprintf(written, sizeof(written), "%" PRIu64, number);
    text += strspn(text, "0");
    must(strcmp(written, *text ? text : "0") == 0);
}

/* Scanning gives the same number as parsing its digits alone. */
static void check_start(const char *text, uint64_t max)
{
    uint64_t number = 0, alone = 0, line = 0;
    size_t length = number_scan(text, max, &number);
    cleanup_free char *start = xstrndup(text, length);

    must(number_parse(start, max, &alone) == (length > 0));
    must(alone == number);
    must(length == 0 || length == strspn(text, "0123456789"));
    must(number_parse_line(text, max, &line) ==
         (length > 0 && (!text[length] || strcmp(text + length, "\n") == 0)));
}

static void check_signed(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int64_t number = 0;
    long long expected = 0;
    bool is_number = number_parse_signed(text, &number);

    errno = 0;
    expected = strtoll(text, NULL, 10);
    must(is_number == (*digits && digits[strspn(digits, "0123456789")] == '\0' && errno == 0));
    must(number == (is_number ? expected : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t bounds[] = {0, 9, UINT16_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    cleanup_free char *text = size ? xstrndup((const char *)data + 1, size - 1) : xstrdup("");
    uint64_t max = bounds[size ? data[0] % array_length(bounds) : 0];

    check_whole(text, max);
    check_start(text, max);
    check_signed(text);
    return 0;
}
