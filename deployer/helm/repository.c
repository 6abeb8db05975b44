/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/repository.h"

#include <string.h>
#include <strings.h>

#include "common/data/base64.h"
#include "common/data/doc.h"

/* The key of a Secret unless secretRef.key names another one. */
#define KEY_HEADER "authHeader"

json_t *helm_repository_of(const struct run_spec *run)
{
    return json_object_get(json_object_get(run->configuration, "chart"), "repository");
}

/* Scheme, host and port are equal, and the path of one begins with that of the other. */
static bool is_for(const char *given, const char *repository)
{
    size_t length = strlen(given);

    while (length > 0 && given[length - 1] == '/')
        length--;
    return length > 0 && strncasecmp(given, repository, length) == 0 &&
           (repository[length] == '\0' || repository[length] == '/');
}

/* The entry with the longest address that matches. The Go deployer takes the last entry, whatever
 * its address is, and so sends credentials to servers that they are not for. */
const json_t *helm_repository_entry(const struct run_spec *run, const json_t *context)
{
    const char *repository = doc_text_or(helm_repository_of(run), "url", "");
    const json_t *entries =
        doc_get(doc_get(context, "configurations.helmChartRepoCredentials"), "auths");
    const json_t *best = NULL;

    for (size_t i = 0; *repository && i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *url = doc_text_or(entry, "url", "");

        if (is_for(url, repository) &&
            (!best || strlen(url) > strlen(doc_text_or(best, "url", ""))))
            best = entry;
    }
    return best;
}

const char *helm_repository_secret(const json_t *entry)
{
    const char *name = doc_text_or(entry, "secretRef.name", "");

    return *name ? name : NULL;
}

int helm_repository_header(const json_t *entry, const json_t *secret, struct buffer *ret_header,
                           struct error *err)
{
    const char *given = doc_text_or(entry, "secretRef.key", "");
    const char *key = *given ? given : KEY_HEADER;
    const char *encoded = json_string_value(doc_member(doc_member(secret, "data"), key));

    if (encoded && base64_decode(encoded, strlen(encoded), ret_header, err) == 0)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "Secret \"%s\" with the credentials of the chart repository: it has no usable "
                     "key \"%s\"",
                     helm_repository_secret(entry), key);
}

void helm_repository_authorize(struct run_spec *run, const json_t *entry, const char *header)
{
    json_t *authorization = json_pack("{s:s,s:s}", "url", doc_text_or(entry, "url", ""), "ca",
                                      doc_text_or(entry, "customCAData", ""));

    if (header && *header)
        (void)json_object_set_new(authorization, "header", doc_new_text(header));
    (void)json_object_set_new(helm_repository_of(run), "authorization", authorization);
}

void helm_use_repository_context(struct run_spec *run, const json_t *context)
{
    json_t *reference =
        json_object_get(json_object_get(run->configuration, "componentDescriptor"), "ref");
    json_t *repository = json_object_get(context, "repositoryContext");

    if (reference && json_is_object(repository))
        (void)json_object_set(reference, "repositoryContext", repository);
}
