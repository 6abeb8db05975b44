/* SPDX-License-Identifier: Apache-2.0 */
#include "common/oci/registry.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/reference.h"
#include "common/oci/registry_internal.h"

/* ---- Client and hosts ---- */

int registry_new(struct loop *loop, struct http_client *http,
                 const struct registry_options *options, struct registry **ret_registry,
                 struct error *err)
{
    struct registry *registry = NULL;

    if (!loop || !http)
        return error_set(err, ERROR_INTERNAL, "a registry client needs a loop and an HTTP client");
    registry = xcalloc(1, sizeof(*registry));
    registry->loop = loop;
    registry->http = http;
    registry->keyring = options->keyring;
    registry->is_plain_http_allowed = options->is_plain_http_allowed;
    registry->is_insecure = options->is_insecure;
    registry->deadline_ms =
        options->deadline_ms ? options->deadline_ms : REGISTRY_DEADLINE_DEFAULT_MS;
    registry->extra_ca_pem = xstrdup_or_null(options->extra_ca_pem);
    registry->on_retry = options->on_retry;
    registry->on_retry_data = options->on_retry_data;
    registry->tls = (struct http_tls){.ca_pem = registry->extra_ca_pem,
                                      .is_system_trusted = true,
                                      .is_insecure = registry->is_insecure};
    *ret_registry = registry;
    return 0;
}

static void host_free(struct registry_host *host)
{
    registry_tokens_free(host);
    free(host->name);
    free(host->contact);
    free(host->realm);
    free(host->service);
    free(host->ca_pem);
    free(host);
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    while (registry->calls)
        registry_cancel(registry->calls);
    while (registry->hosts) {
        struct registry_host *host = registry->hosts;

        registry->hosts = host->next;
        host_free(host);
    }
    free(registry->extra_ca_pem);
    free(registry);
}

static struct registry_host *find_host(struct registry *registry,
                                       const struct registry_place *place)
{
    struct registry_host *host = NULL;
    const struct credential *credential = NULL;

    for (host = registry->hosts; host; host = host->next) {
        if (strcmp(host->name, place->host) == 0 && host->is_plain_asked == place->is_plain_http)
            return host;
    }
    host = xcalloc(1, sizeof(*host));
    host->name = xstrdup(place->host);
    host->contact =
        xstrdup(strcmp(place->host, "docker.io") == 0 ? "registry-1.docker.io" : place->host);
    host->is_plain = host->is_plain_asked = place->is_plain_http;
    host->is_scheme_settled = place->is_plain_http || !registry->is_plain_http_allowed;
    credential = registry_credential(registry, host, place->repository);
    if (credential && credential->ca_pem)
        host->ca_pem = xasprintf("%s\n%s", credential->ca_pem,
                                 registry->extra_ca_pem ? registry->extra_ca_pem : "");
    host->tls = (struct http_tls){.ca_pem = host->ca_pem ? host->ca_pem : registry->extra_ca_pem,
                                  .is_system_trusted = true,
                                  .is_insecure = registry->is_insecure};
    host->next = registry->hosts;
    registry->hosts = host;
    return host;
}

/* ---- Calls; names are checked before they become part of a URL ---- */

static int check_place(const struct registry_place *place, struct error *err)
{
    size_t length = strspn(place->host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789.-:[]_");

    if (!*place->host || place->host[length] != '\0')
        return error_set(err, ERROR_INVALID, "invalid registry host \"%.200s\"", place->host);
    if (!reference_is_repository(place->repository))
        return error_set(err, ERROR_INVALID, "invalid repository name \"%.300s\"",
                         place->repository);
    return 0;
}

static struct registry_call *call_new(struct registry *registry, const struct registry_place *place,
                                      const char *object)
{
    struct registry_call *call = xcalloc(1, sizeof(*call));

    call->registry = registry;
    call->host = find_host(registry, place);
    call->repository = xstrdup(place->repository);
    call->object = xstrdup(object);
    call->next = registry->calls;
    if (call->next)
        call->next->link = &call->next;
    call->link = &registry->calls;
    registry->calls = call;
    retry_init(&call->retry, REGISTRY_RETRY_FIRST_MS, REGISTRY_RETRY_MAX_MS);
    call->give_up_at_ms = loop_now_ms(registry->loop) + registry->deadline_ms;
    loop_timer_init(&call->timer, registry->loop, registry_call_attempt, call);
    loop_timer_start(&call->timer, 0);
    return call;
}

int registry_get_manifest(struct registry *registry, const struct registry_place *place,
                          const char *object, registry_manifest_fn *on_done, void *data,
                          struct registry_call **ret_call, struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct registry_call *call = NULL;

    if (check_place(place, err) < 0)
        return -1;
    if (strchr(object, ':') ? digest_parse(object, &algorithm, &hex, err) < 0
                            : !reference_is_tag(object))
        return error_set(err, ERROR_INVALID, "\"%.200s\" is neither a tag nor a digest", object);
    call = call_new(registry, place, object);
    call->is_manifest = true;
    call->on_manifest = on_done;
    call->manifest_data = data;
    if (ret_call)
        *ret_call = call;
    return 0;
}

int registry_get_blob(struct registry *registry, const struct registry_place *place,
                      const struct registry_blob *blob, struct registry_call **ret_call,
                      struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct registry_call *call = NULL;

    if (check_place(place, err) < 0 || digest_parse(blob->digest, &algorithm, &hex, err) < 0)
        return -1;
    if (blob->size >= 0 && (uint64_t)blob->size > blob->max_bytes)
        return error_set(err, ERROR_TOO_LARGE,
                         "blob \"%s\" has %" PRId64 " bytes, the limit is %" PRIu64, blob->digest,
                         blob->size, blob->max_bytes);
    call = call_new(registry, place, blob->digest);
    call->blob = *blob;
    call->blob.digest = NULL;
    call->digest = digest_new(algorithm);
    if (ret_call)
        *ret_call = call;
    return 0;
}
