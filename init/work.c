/* SPDX-License-Identifier: Apache-2.0 */
#include "init/work.h"

#include <string.h>

#include "common/base/log.h"
#include "common/component/access.h"
#include "common/component/blob.h"
#include "common/component/resolve.h"
#include "common/component/scratch_file.h"
#include "common/contract.h"
#include "init/chart.h"
#include "init/content.h"
#include "init/inputs.h"

struct work {
    struct setup *setup;
    const struct options *options;
    struct progress *progress;
    struct resolution *resolution; /* NULL: there is no component */
    uint64_t step_began_ms;
};

static uint64_t step_ms(const struct work *work)
{
    return loop_now_ms(work->setup->loop) - work->step_began_ms;
}

/* ---- components ---- */

static void on_components(void *data, const struct resolve_progress *progress)
{
    progress_components(data, progress->done, progress->known, progress->bytes);
}

static int write_descriptors(struct work *work, struct error *err)
{
    const char *path = work->options->component_descriptor_path;
    cleanup_volume_file struct volume_file file = {.fd = -1, .parent_fd = -1};

    if (volume_file_begin(&work->setup->volume, path, &file, err) < 0)
        return -1;
    if (resolution_write(work->resolution, file.fd, err) < 0)
        return error_wrap(err, "write \"%s\"", path);
    return volume_file_publish(&file, err);
}

static void log_components(const struct work *work)
{
    const char *from = NULL;
    const char *to = NULL;
    uint64_t connections = 0;
    uint64_t requests = 0;

    if (resolution_cycle(work->resolution, &from, &to))
        log_info("component references form a cycle", log_text("component", from),
                 log_text("refersTo", to));
    http_client_counts(work->setup->http, &connections, &requests);
    log_info(
        "wrote component descriptors", log_text("path", work->options->component_descriptor_path),
        log_number("components", resolution_count(work->resolution)),
        log_number("bytes", resolution_bytes(work->resolution)), log_number("requests", requests),
        log_number("connections", connections), log_number("ms", step_ms(work)));
}

static int resolve(struct work *work, struct error *err)
{
    struct setup *setup = work->setup;
    const struct lookup lookup = {.loop = setup->loop,
                                  .registry = setup->component_registry,
                                  .inline_descriptors = setup->inline_descriptors,
                                  .context = setup->context,
                                  .resolvers = setup->resolvers,
                                  .config = &setup->ocm};
    cleanup_close int spool = -1;
    struct resolve_options options = {.resource_name = setup->configuration.inline_blueprint
                                                           ? NULL
                                                           : setup->configuration.resource_name,
                                      .resource_identity = setup->configuration.resource_identity,
                                      .on_progress = on_components,
                                      .data = work->progress};

    if (!setup->component_name) {
        if (setup->configuration.has_descriptor)
            log_info("wrote no component descriptors: there is no repository context");
        return 0;
    }
    spool = scratch_file_open(setup->volume.work_fd, err);
    if (spool < 0)
        return -1;
    options.spool_fd = spool;
    if (resolve_components(&lookup, setup->component_name, setup->component_version, &options,
                           &work->resolution, err) < 0)
        return -1;
    progress_clear(work->progress);
    if (write_descriptors(work, err) < 0)
        return -1;
    log_components(work);
    return 0;
}

/* ---- blueprint ---- */

static void on_blob_bytes(void *data, uint64_t bytes, uint64_t total)
{
    progress_bytes(data, "blueprint", bytes, total);
}

static int fetch_content(struct work *work, int parent_fd, struct content_counts *ret_counts,
                         uint64_t *ret_packed, struct error *err)
{
    struct setup *setup = work->setup;
    const struct resolved_root root = resolution_root(work->resolution);
    const struct blob_env env = {.loop = setup->loop,
                                 .components = setup->component_registry,
                                 .artifacts = setup->artifact_registry,
                                 .workspace_fd = setup->volume.work_fd,
                                 .on_progress = on_blob_bytes,
                                 .data = work->progress};
    cleanup_access struct access access = {0};
    cleanup_blob struct blob blob = {.fd = -1};

    if (access_parse(root.resource, ACCESS_BLUEPRINT, &access, err) < 0)
        return -1;
    if (blob_fetch(&env, &access, &root, &blob, err) < 0)
        return error_wrap(err, "resource \"%s\"", setup->configuration.resource_name);
    progress_clear(work->progress);
    *ret_packed = blob.bytes;
    if (content_from_blob(&blob, parent_fd, ret_counts, err) < 0)
        return error_wrap(err, "resource \"%s\"", setup->configuration.resource_name);
    return 0;
}

static int publish_content(struct work *work, int parent_fd, const char *name, struct error *err)
{
    const struct configuration *configuration = &work->setup->configuration;
    struct content_counts counts = {0};
    uint64_t packed = 0;

    if (configuration->inline_blueprint
            ? content_from_tree(configuration->inline_blueprint, parent_fd, &counts, err) < 0
            : fetch_content(work, parent_fd, &counts, &packed, err) < 0)
        return -1;
    if (counts.lists > 0)
        log_info("skipped entries of the inline blueprint that are lists",
                 log_number("entries", counts.lists));
    if (content_publish(parent_fd, name, err) < 0)
        return -1;
    log_info("wrote blueprint content", log_text("path", work->options->content_path),
             log_number("files", counts.files), log_number("bytes", counts.bytes),
             log_number("packedBytes", packed), log_number("ms", step_ms(work)));
    return 0;
}

static int write_content(struct work *work, struct error *err)
{
    const char *name = NULL;
    cleanup_close int parent_fd = -1;
    int result = 0;

    if (!work->setup->configuration.has_blueprint)
        return 0;
    parent_fd = volume_open_parent(&work->setup->volume, work->options->content_path, &name, err);
    if (parent_fd < 0)
        return -1;
    result = publish_content(work, parent_fd, name, err);
    if (result < 0)
        content_discard(parent_fd);
    return result;
}

/* ---- chart ---- */

static void on_chart_bytes(void *data, uint64_t bytes, uint64_t total)
{
    progress_bytes(data, "chart", bytes, total);
}

static void on_chart_retry(void *data, const struct error *err, uint32_t delay_ms)
{
    progress_clear(data);
    log_info(LOG_RETRYING_REGISTRY, log_text("error", err->text), log_number("delayMs", delay_ms));
}

static int write_chart(struct work *work, struct error *err)
{
    const struct chart_env env = {.setup = work->setup,
                                  .options = work->options,
                                  .resolution = work->resolution,
                                  .on_progress = on_chart_bytes,
                                  .on_retry = on_chart_retry,
                                  .data = work->progress};
    struct chart_counts counts = {0};

    if (!work->setup->configuration.chart)
        return 0;
    if (chart_fetch(&env, &counts, err) < 0)
        return -1;
    log_info("wrote chart", log_number("files", counts.files), log_number("bytes", counts.bytes),
             log_number("packedBytes", counts.packed), log_number("ms", step_ms(work)));
    return 0;
}

/* ---- imports, target, state ---- */

static int write_imports(struct work *work, struct error *err)
{
    const char *values = work->setup->configuration.import_values;

    if (inputs_write_imports(&work->setup->volume, work->options->imports_path, values, err) < 0)
        return -1;
    if (values)
        log_info("wrote import values", log_text("path", work->options->imports_path),
                 log_number("bytes", strlen(values)), log_number("ms", step_ms(work)));
    return 0;
}

static int write_target(struct work *work, struct error *err)
{
    size_t size = 0;

    if (inputs_write_target(&work->setup->volume, work->options->target_path,
                            work->options->target_source, &size, err) < 0)
        return -1;
    log_info("wrote target", log_text("path", work->options->target_path),
             log_number("bytes", size), log_number("ms", step_ms(work)));
    return 0;
}

static int restore(struct work *work, struct error *err)
{
    struct restore_counts counts = {0};

    if (restore_state(work->setup->state, work->options, &work->setup->volume, &counts, err) < 0)
        return -1;
    if (counts.uuid)
        log_info("restored state", log_text("path", work->options->state_path),
                 log_text("source", counts.source), log_text("uuid", counts.uuid),
                 log_number("sequence", counts.sequence), log_number("entries", counts.entries),
                 log_number("bytes", counts.bytes), log_number("skipped", counts.skipped),
                 log_number("removedSecrets", counts.removed), log_number("ms", step_ms(work)));
    else
        log_info("no state to restore", log_text("source", counts.source),
                 log_number("ms", step_ms(work)));
    restore_counts_done(&counts);
    return 0;
}

/* ---- the steps ---- */

int work_run(struct setup *setup, const struct options *options, struct progress *progress,
             enum step *ret_step, struct error *err)
{
    static const struct {
        enum step step;
        int (*run)(struct work *work, struct error *err);
    } steps[] = {
        {STEP_COMPONENTS, resolve},  {STEP_BLUEPRINT, write_content}, {STEP_IMPORTS, write_imports},
        {STEP_TARGET, write_target}, {STEP_STATE, restore},           {STEP_CHART, write_chart},
    };
    struct work work = {.setup = setup, .options = options, .progress = progress};
    int result = 0;

    for (size_t i = 0; result == 0 && i < array_length(steps); i++) {
        *ret_step = steps[i].step;
        work.step_began_ms = loop_now_ms(setup->loop);
        result = steps[i].run(&work, err);
    }
    progress_clear(progress);
    resolution_free(work.resolution);
    return result;
}
