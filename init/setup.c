/* SPDX-License-Identifier: Apache-2.0 */
#include "init/setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/component/component_name.h"
#include "common/component/file_repository.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/sandbox/sandbox.h"
#include "init/secrets.h"

/* The names of the two pull secrets as mounted by the Go controller. */
#define SECRET_COMPONENTS "cd-pull-secret"
#define SECRET_BLUEPRINT "blueprint-pull-secret"
#define USER_AGENT "longshore-init/" LONGSHORE_VERSION

enum { NESTED_DESCRIPTORS_MAX = 500 };

void setup_init(struct setup *setup)
{
    *setup = (struct setup){.volume = {.root_fd = -1, .work_fd = -1}};
}

void setup_done(struct setup *setup)
{
    restore_source_free(setup->state);
    registry_free(setup->component_registry);
    registry_free(setup->artifact_registry);
    http_client_free(setup->http);
    free((char *)(uintptr_t)setup->chart_tls.ca_pem);
    loop_free(setup->loop);
    for (size_t i = 0; setup->resolvers && i < setup->ocm.resolver_count; i++)
        repository_free(setup->resolvers[i]);
    free(setup->resolvers);
    repository_free(setup->context);
    repository_free(setup->inline_descriptors);
    keyring_free(setup->component_keyring);
    keyring_free(setup->artifact_keyring);
    ocmconfig_done(&setup->ocm);
    volume_done(&setup->volume);
    free(setup->component_name);
    free(setup->component_version);
    configuration_done(&setup->configuration);
    setup_init(setup);
}

/* ---- configuration ---- */

static int load_ocm_config(const char *path, struct keyring *keyring, struct ocmconfig *ret_config,
                           struct error *err)
{
    struct buffer text = {0};
    int result = 0;

    buffer_init(&text, OCMCONFIG_MAX_BYTES);
    result = doc_read_file(path, OCMCONFIG_MAX_BYTES, &text, err);
    if (result < 0 && err->kind == ERROR_NOT_FOUND)
        result = 0;
    else if (result == 0 && text.size > 0)
        result = ocmconfig_parse(text.data, text.size, keyring, ret_config, err);
    if (text.data)
        explicit_bzero(text.data, text.capacity);
    buffer_done(&text);
    return result < 0 ? error_wrap(err, "OCM configuration \"%s\"", path) : 0;
}

/* The first of several entries for the same address wins: those of the OCM configuration, then the
 * preferred pull secret, then the others. */
static int load_keyring(const struct options *options, const char *first, struct keyring *keyring,
                        struct ocmconfig *ret_config, struct error *err)
{
    struct secrets_counts counts = {0};

    if (options->ocm_configuration_path &&
        load_ocm_config(options->ocm_configuration_path, keyring, ret_config, err) < 0)
        return -1;
    for (size_t i = 0; i < ret_config->docker_config_file_count; i++) {
        if (secrets_load_file(ret_config->docker_config_files[i], keyring, &counts, err) < 0)
            return error_wrap(err, "OCM configuration \"%s\"", options->ocm_configuration_path);
    }
    if (options->registry_secrets_dir &&
        secrets_load(options->registry_secrets_dir, first, keyring, &counts, err) < 0)
        return -1;
    log_debug("read credentials", log_text("first", first), log_number("files", counts.files),
              log_number("entries", counts.entries));
    if (counts.helpers > 0)
        log_info("ignored credential helpers of Docker configurations",
                 log_number("helpers", counts.helpers));
    return 0;
}

static int load_keyrings(struct setup *setup, const struct options *options, struct error *err)
{
    cleanup_ocmconfig struct ocmconfig again = {0};

    setup->component_keyring = keyring_new();
    setup->artifact_keyring = keyring_new();
    if (load_keyring(options, SECRET_COMPONENTS, setup->component_keyring, &setup->ocm, err) < 0)
        return -1;
    return load_keyring(options, SECRET_BLUEPRINT, setup->artifact_keyring, &again, err);
}

/* Labels of references may hold descriptors, see the Landscaper documentation of inline component
 * descriptors. */
static int take_nested(struct setup *setup, const json_t *descriptor, struct error *err)
{
    const json_t *references = doc_get(descriptor, "component.componentReferences");

    for (size_t i = 0; i < json_array_size(references); i++) {
        const json_t *labels = doc_member(json_array_get(references, i), "labels");

        for (size_t k = 0; k < json_array_size(labels); k++) {
            const json_t *label = json_array_get(labels, k);
            const json_t *value = doc_member(label, "value");
            struct descriptor *nested = NULL;

            if (strcmp(doc_text_or(label, "name", ""), LABEL_NESTED_DESCRIPTOR) != 0)
                continue;
            if (setup->inline_descriptors->descriptor_count >= NESTED_DESCRIPTORS_MAX)
                return error_set(err, ERROR_TOO_LARGE, "more than %d nested component descriptors",
                                 NESTED_DESCRIPTORS_MAX);
            if (descriptor_from_doc(value, &nested, err) < 0)
                return error_wrap(err, "componentReferences[%zu]: nested component descriptor", i);
            repository_take_descriptor(setup->inline_descriptors, nested);
            if (take_nested(setup, value, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* Without repository contexts references can't be resolved. As in Go, there is no component
 * descriptor list then; that is an error only if a blueprint has to be found. */
static int use_inline_descriptor(struct setup *setup, struct error *err)
{
    const json_t *doc = setup->configuration.inline_descriptor;
    const json_t *contexts = doc_get(doc, "component.repositoryContexts");
    struct descriptor *descriptor = NULL;

    if (json_array_size(contexts) == 0) {
        if (setup->configuration.resource_name)
            return error_set(
                err, ERROR_INVALID,
                "inline: component.repositoryContexts: at least one is required to find "
                "the blueprint");
        return 0;
    }
    if (descriptor_from_doc(doc, &descriptor, err) < 0)
        return error_wrap(err, "inline");
    setup->inline_descriptors = repository_new_descriptors();
    repository_take_descriptor(setup->inline_descriptors, descriptor);
    setup->component_name = xstrdup(descriptor_name(descriptor));
    setup->component_version = xstrdup(descriptor_version(descriptor));
    if (take_nested(setup, doc, err) < 0)
        return error_wrap(err, "inline");
    return repository_parse(descriptor_context(descriptor), &setup->context, err);
}

static int use_reference(struct setup *setup, struct error *err)
{
    const struct configuration *configuration = &setup->configuration;

    /* No list, as above. */
    if (!configuration->repository_context && setup->ocm.resolver_count == 0) {
        if (configuration->resource_name)
            return error_set(err, ERROR_INVALID,
                             "ref: neither a repositoryContext nor an OCM resolver is configured");
        return 0;
    }
    if (!component_name_is_valid(configuration->component_name))
        return error_set(err, ERROR_INVALID,
                         "ref: componentName: invalid component name \"%.300s\"",
                         configuration->component_name);
    if (!version_is_valid(configuration->component_version))
        return error_set(err, ERROR_INVALID, "ref: version: invalid version \"%.300s\"",
                         configuration->component_version);
    if (configuration->repository_context &&
        repository_parse(configuration->repository_context, &setup->context, err) < 0)
        return error_wrap(err, "ref");
    setup->component_name = xstrdup(configuration->component_name);
    setup->component_version = xstrdup(configuration->component_version);
    return 0;
}

int setup_configure(struct setup *setup, const struct options *options, struct error *err)
{
    if (configuration_read(options->configuration_path, &setup->configuration, err) < 0)
        return -1;
    if (!setup->configuration.has_descriptor && !setup->configuration.chart)
        return 0;
    if (load_keyrings(setup, options, err) < 0)
        return -1;
    if (!setup->configuration.has_descriptor)
        return 0;
    setup->resolvers = xcalloc(setup->ocm.resolver_count + 1, sizeof(struct repository *));
    for (size_t i = 0; i < setup->ocm.resolver_count; i++) {
        if (repository_parse(setup->ocm.resolvers[i].repository, &setup->resolvers[i], err) < 0)
            return error_wrap(err, "OCM configuration \"%s\": resolver %zu",
                              options->ocm_configuration_path, setup->ocm.resolvers[i].place);
    }
    if (setup->configuration.inline_descriptor ? use_inline_descriptor(setup, err) < 0
                                               : use_reference(setup, err) < 0)
        return error_wrap(err, "componentDescriptor");
    return 0;
}

/* ---- opening ---- */

static void on_retry(void *data, const struct error *err, uint32_t delay_ms)
{
    progress_clear(data);
    log_info(LOG_RETRYING_REGISTRY, log_text("error", err->text), log_number("delayMs", delay_ms));
}

static int open_registries(struct setup *setup, const struct options *options,
                           struct progress *progress, struct error *err)
{
    struct registry_options registry = {
        .keyring = setup->component_keyring,
        .is_plain_http_allowed = options->is_plain_http_allowed,
        .is_insecure = options->is_insecure,
        .deadline_ms = options->deadline_ms,
        .extra_ca_pem = setup->ocm.ca_pem.size > 0 ? setup->ocm.ca_pem.data : NULL,
        .on_retry = on_retry,
        .on_retry_data = progress,
    };

    if (registry_new(setup->loop, setup->http, &registry, &setup->component_registry, err) < 0)
        return -1;
    registry.keyring = setup->artifact_keyring;
    return registry_new(setup->loop, setup->http, &registry, &setup->artifact_registry, err);
}

static int open_repository(struct setup *setup, struct repository *repository, const char *name,
                           struct error *err)
{
    if (!repository || !repository->path)
        return 0;
    return file_repository_open(repository, setup->volume.work_fd, name, err);
}

int setup_open(struct setup *setup, const struct options *options, struct progress *progress,
               struct error *err)
{
    if (volume_open(options, &setup->volume, err) < 0 ||
        loop_new(clock_system(), &setup->loop, err) < 0 ||
        http_client_new(setup->loop, USER_AGENT, &setup->http, err) < 0 ||
        open_registries(setup, options, progress, err) < 0 ||
        open_repository(setup, setup->context, "context", err) < 0)
        return -1;
    for (size_t i = 0; i < setup->ocm.resolver_count; i++) {
        cleanup_free char *name = xasprintf("resolver-%zu", i);

        if (open_repository(setup, setup->resolvers[i], name, err) < 0)
            return -1;
    }
    return restore_source_open(options, setup->loop, setup->http, &setup->state, err);
}

/* ---- the sandbox ---- */

struct paths {
    struct sandbox_path *items;
    size_t count;
};

static void allow(struct paths *paths, const char *path, bool is_writable)
{
    if (!path || access(path, F_OK) < 0)
        return;
    paths->items = xreallocarray(paths->items, paths->count + 1, sizeof(*paths->items));
    paths->items[paths->count++] = (struct sandbox_path){.path = path, .is_writable = is_writable};
}

/* A list of directories with colons between, as SSL_CERT_DIR has it. list is changed and must
 * outlive paths. */
static void allow_each(struct paths *paths, char *list)
{
    char *rest = NULL;

    for (char *path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest))
        allow(paths, path, false);
}

static void allow_repository(struct paths *paths, const struct repository *repository)
{
    if (repository && repository->path)
        allow(paths, repository->path, false);
}

int setup_enter_sandbox(struct setup *setup, const struct options *options, struct error *err)
{
    const char *certificate_dir_list = getenv("SSL_CERT_DIR");
    cleanup_free char *certificate_dirs = xstrdup(certificate_dir_list ? certificate_dir_list : "");
    struct paths paths = {0};
    struct sandbox_options sandbox = {.is_network_allowed = true};
    struct sandbox_result result = {0};
    int entered = 0;

    allow(&paths, setup->volume.root, true);
    allow(&paths, options->target_source, false);
    allow(&paths, options->state_source_dir, false);
    allow(&paths, PATH_SERVICE_ACCOUNT, false);
    allow(&paths, getenv("SSL_CERT_FILE"), false);
    allow_each(&paths, certificate_dirs);
    allow_repository(&paths, setup->context);
    for (size_t i = 0; i < setup->ocm.resolver_count; i++)
        allow_repository(&paths, setup->resolvers[i]);
    sandbox.paths = paths.items;
    sandbox.path_count = paths.count;
    entered = sandbox_enter(&sandbox, &result, err);
    free(paths.items);
    setup->has_landlock = result.has_landlock;
    return entered;
}
