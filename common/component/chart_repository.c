/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/chart_repository.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/data/doc.h"

/* Scheme, host and port are equal, and the path of one begins with that of the other. */
static bool is_for(const char *given, const char *repository)
{
    size_t length = strlen(given);

    while (length > 0 && given[length - 1] == '/')
        length--;
    return length > 0 && strncasecmp(given, repository, length) == 0 &&
           (repository[length] == '\0' || repository[length] == '/');
}

/* The Go deployer takes the last entry, whatever its address is, and so sends credentials to
 * servers that they are not for. */
const json_t *chart_repository_entry(const json_t *entries, const char *repository)
{
    const json_t *best = NULL;

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *url = doc_text_or(entry, "url", "");

        if (is_for(url, repository) &&
            (!best || strlen(url) > strlen(doc_text_or(best, "url", ""))))
            best = entry;
    }
    return best;
}
