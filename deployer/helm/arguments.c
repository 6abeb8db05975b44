/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of helm. No shell is involved, and values are passed as a file. */
#include <inttypes.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/helm/configuration.h"

/* The limit of Linux for all arguments together is 2 MiB, that of an object in etcd 1.5 MiB. A
 * cluster with thousands of kinds gets as many as fit. */
enum { API_VERSIONS_BYTES_MAX = 128 * 1024 };

enum {
    UNLIMITED_MS = 24 * 3600 * 1000, /* instead of helm's own default of five minutes */
    ROLLBACK_SHARE = 4,              /* a quarter of the time that is left */
};

static void add(json_t *arguments, const char *text)
{
    (void)json_array_append_new(arguments, json_string(text));
}

static void add_pair(json_t *arguments, const char *option, const char *value)
{
    add(arguments, option);
    add(arguments, value);
}

static void add_if(json_t *arguments, bool is_set, const char *option)
{
    if (is_set)
        add(arguments, option);
}

/* helm's limit counts from its start, which comes seconds after left_ms was computed, and it counts
 * again for a rollback. Without this reserve the job would be over before helm has rolled back. */
static int64_t rollback_reserve_ms(const struct helm_flags *flags, int64_t left_ms)
{
    return flags->is_atomic ? left_ms / ROLLBACK_SHARE : 0;
}

/* The smaller of the given limit and of what is left of the job, at least a second. */
static void add_timeout(json_t *arguments, const struct helm_flags *flags, int64_t left_ms)
{
    int64_t ms = flags->timeout_ms > 0 ? flags->timeout_ms : UNLIMITED_MS;
    cleanup_free char *text = NULL;

    if (left_ms >= 0) {
        left_ms -= rollback_reserve_ms(flags, left_ms);
        ms = left_ms < ms ? left_ms : ms;
    }
    text = xasprintf("%" PRId64 "s", ms < 1000 ? 1 : ms / 1000);
    add_pair(arguments, "--timeout", text);
}

static void add_common(json_t *arguments, const struct helm_config *config)
{
    add(arguments, config->release);
    add(arguments, PATH_CHART);
    add_pair(arguments, "--namespace", config->namespace_name);
    add_pair(arguments, "--values", PATH_HELM_VALUES);
}

static void add_capabilities(json_t *arguments, const struct helm_situation *situation)
{
    size_t bytes = 0;

    if (situation->kube_version)
        add_pair(arguments, "--kube-version", situation->kube_version);
    for (size_t i = 0; i < json_array_size(situation->api_versions); i++) {
        const json_t *version = json_array_get(situation->api_versions, i);

        bytes += json_string_length(version);
        if (bytes > API_VERSIONS_BYTES_MAX)
            break;
        add_pair(arguments, "--api-versions", json_string_value(version));
    }
}

/* Hooks and tests are rendered as plain objects, and values are not checked by the schema: as in
 * the Go deployer. The files become the state of the run, which has no limit of 1 MiB. */
static json_t *template_arguments(const struct helm_config *config,
                                  const struct helm_situation *situation)
{
    json_t *arguments = json_pack("[s]", "template");

    add_common(arguments, config);
    add(arguments, "--include-crds");
    add(arguments, "--skip-schema-validation");
    add_pair(arguments, "--output-dir", PATH_HELM_RENDERED);
    add_capabilities(arguments, situation);
    return arguments;
}

static json_t *upgrade_arguments(const struct helm_config *config,
                                 const struct helm_situation *situation)
{
    const struct helm_flags *flags = situation->is_upgrade ? &config->upgrade : &config->install;
    json_t *arguments = json_pack("[s]", "upgrade");

    add_common(arguments, config);
    add(arguments, "--install");
    add_pair(arguments, "--history-max", "10");
    add_if(arguments, config->is_namespace_created && !situation->is_upgrade, "--create-namespace");
    add_if(arguments, flags->is_atomic,
           situation->version >= 4 ? "--rollback-on-failure" : "--atomic");
    add_if(arguments, flags->is_forced, situation->version >= 4 ? "--force-replace" : "--force");
    add_if(arguments, flags->is_schema_skipped, "--skip-schema-validation");
    add_if(arguments, flags->is_ownership_taken, "--take-ownership");
    add_if(arguments, flags->is_waiting, "--wait");
    /* The Go deployer uses client-side apply with the library of helm 4, too. */
    add_if(arguments, situation->version >= 4, "--server-side=false");
    add_timeout(arguments, flags, situation->left_ms);
    return arguments;
}

static json_t *uninstall_arguments(const struct helm_config *config,
                                   const struct helm_situation *situation)
{
    json_t *arguments = json_pack("[s,s]", "uninstall", config->release);

    add_pair(arguments, "--namespace", config->namespace_name);
    add(arguments, "--ignore-not-found");
    add_if(arguments, config->uninstall.is_waiting, "--wait");
    add_timeout(arguments, &config->uninstall, situation->left_ms);
    return arguments;
}

json_t *helm_arguments(const struct helm_config *config, const struct helm_situation *situation)
{
    if (!config->is_release)
        return template_arguments(config, situation);
    return situation->is_delete ? uninstall_arguments(config, situation)
                                : upgrade_arguments(config, situation);
}
