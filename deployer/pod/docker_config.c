/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/docker_config.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "common/oci/keyring.h"

static void report_helper(const char *file, const char *registry, docker_config_report_fn *report,
                          void *data)
{
    const struct docker_config_problem problem = {
        file, registry, "credential helpers are not supported: add the credential itself", true};

    report(data, &problem);
}

static void report_entry(const char *file, const char *entry, const char *why,
                         docker_config_report_fn *report, void *data)
{
    const struct docker_config_problem problem = {file, entry, why, false};

    report(data, &problem);
}

/* The number of credentials in one entry; -1 if it is unusable. */
static int try_entry(const char *address, json_t *entry)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_json json_t *alone = json_pack("{s:{s:O}}", "auths", address, entry);
    struct error err = {0};
    size_t helpers = 0;

    return keyring_add_docker_config(keyring, "", alone, &helpers, &err);
}

static size_t clean_entries(json_t *entries, const char *file, docker_config_report_fn *report,
                            void *data)
{
    const char *address = NULL;
    json_t *entry = NULL;
    void *next = NULL;
    size_t count = 0;

    json_object_foreach_safe(entries, next, address, entry)
    {
        int added = try_entry(address, entry);

        if (added < 0) {
            /* Not the keyring's message, which would repeat the registry. */
            report_entry(file, address,
                         "address without a host, or 'auth' is not base64 of user:password", report,
                         data);
            (void)json_object_del(entries, address);
            continue;
        }
        count += (size_t)added;
    }
    return count;
}

size_t docker_config_clean(json_t *config, const char *file, docker_config_report_fn *report,
                           void *data)
{
    json_t *auths = json_object_get(config, "auths");
    json_t *helpers = json_object_get(config, "credHelpers");
    bool has_store = json_is_string(json_object_get(config, "credsStore"));
    const char *registry = NULL;
    json_t *program = NULL;

    json_object_foreach(helpers, registry, program) report_helper(file, registry, report, data);
    if (has_store)
        report_helper(file, "credsStore", report, data);
    if (json_is_object(auths))
        return clean_entries(auths, file, report, data);
    if (auths) {
        if (!json_is_null(auths))
            report_entry(file, "auths", "not an object", report, data);
        (void)json_object_del(config, "auths");
        return 0;
    }
    /* .dockercfg is the map itself: every member is an entry. */
    return json_object_size(helpers) || has_store ? 0 : clean_entries(config, file, report, data);
}

static bool is_for_an_image(const char *address, json_t *entry, const char *const *images)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_json json_t *alone = json_pack("{s:{s:O}}", "auths", address, entry);
    struct error err = {0};
    size_t helpers = 0;

    if (keyring_add_docker_config(keyring, "", alone, &helpers, &err) <= 0)
        return false;
    for (; *images; images++) {
        cleanup_reference struct reference *image = NULL;

        if (reference_parse(*images, &image, &err) == 0 &&
            keyring_find(keyring, reference_host(image), reference_repository(image)))
            return true;
    }
    return false;
}

json_t *docker_config_for_images(const json_t *config, const char *const *images)
{
    const json_t *auths = doc_member(config, "auths");
    const json_t *entries = auths ? auths : config;
    json_t *kept = json_object();
    const char *address = NULL;
    json_t *entry = NULL;

    doc_foreach(entries, address, entry)
    {
        if (is_for_an_image(address, entry, images))
            (void)json_object_set(kept, address, entry);
    }
    return json_pack("{s:o}", "auths", kept);
}
