/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/pull_error.h"

#include <ctype.h>
#include <string.h>

/* Whether a message contains one of the phrases, in any case, and not as the end of a longer word
 * or path: "reading manifest 1 in registry/denied: i/o timeout" does not match "denied: ". */
static bool has_phrase(const char *message, const char *const *phrases)
{
    for (; *phrases; phrases++) {
        for (const char *found = strcasestr(message, *phrases); found;
             found = strcasestr(found + 1, *phrases)) {
            if (found == message ||
                !(isalnum((unsigned char)found[-1]) || strchr("/._-", found[-1])))
                return true;
        }
    }
    return false;
}

bool pull_is_refused(const char *message)
{
    static const char *const rate_limited[] = {"toomanyrequests", "too many requests", NULL};
    static const char *const refused[] = {"not found",
                                          "manifest unknown",
                                          "name unknown",
                                          "401 Unauthorized",
                                          "401 (Unauthorized)",
                                          "403 Forbidden",
                                          "403 (Forbidden)",
                                          "unauthorized: ",
                                          "authentication required",
                                          "no basic auth credentials",
                                          "access denied",
                                          "denied: ",
                                          NULL};

    return !has_phrase(message, rate_limited) && has_phrase(message, refused);
}
