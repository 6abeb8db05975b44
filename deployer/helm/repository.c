/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/repository.h"

#include <string.h>

#include "common/component/chart_repository.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

/* The key of a Secret unless secretRef.key names another one. */
#define KEY_HEADER "authHeader"

static json_t *chart_of(const struct run_spec *run)
{
    return json_object_get(run->configuration, "chart");
}

bool helm_repository_is_found_by_init(const struct run_spec *run)
{
    return json_object_get(chart_of(run), "resource") != NULL;
}

json_t *helm_repository_entries(const struct run_spec *run, const json_t *context)
{
    json_t *given = json_object_get(
        doc_writable(doc_get(context, "configurations.helmChartRepoCredentials")), "auths");
    const char *url = doc_text(chart_of(run), "repository.url");
    const json_t *entry = url ? chart_repository_entry(given, url) : NULL;

    if (helm_repository_is_found_by_init(run) && json_is_array(given))
        return json_copy(given);
    return entry ? json_pack("[O]", entry) : json_array();
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
                     "Secret \"%s\" with the credentials of the chart repository has no usable key "
                     "\"%s\"; store the header there, or name another key in secretRef.key of the "
                     "Context",
                     helm_repository_secret(entry), key);
}

static void add_authorization(struct run_spec *run, const json_t *entry, const char *member,
                              const char *text)
{
    json_t *authorization = json_pack("{s:s,s:s}", "url", doc_text_or(entry, "url", ""), "ca",
                                      doc_text_or(entry, "customCAData", ""));
    json_t *chart = chart_of(run);

    if (text && *text)
        (void)json_object_set_new(authorization, member, doc_new_text(text));
    if (!json_object_get(chart, CHART_AUTHORIZATIONS))
        (void)json_object_set_new(chart, CHART_AUTHORIZATIONS, json_array());
    (void)json_array_append_new(json_object_get(chart, CHART_AUTHORIZATIONS), authorization);
}

void helm_repository_authorize(struct run_spec *run, const json_t *entry, const char *header)
{
    add_authorization(run, entry, "header", header);
}

void helm_repository_refuse(struct run_spec *run, const json_t *entry, const char *problem)
{
    add_authorization(run, entry, "problem", problem);
}

void helm_use_repository_context(struct run_spec *run, const json_t *context)
{
    json_t *reference =
        json_object_get(json_object_get(run->configuration, "componentDescriptor"), "ref");
    json_t *repository = json_object_get(context, "repositoryContext");

    if (reference && json_is_object(repository))
        (void)json_object_set(reference, "repositoryContext", repository);
}
