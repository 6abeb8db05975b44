/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/resolve.h"

#include <errno.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

#define LIST_NAME "component descriptor list"

enum { COPY_BYTES = 16 * 1024 };

/* A component version. */
struct node {
    struct resolution *resolution;
    char *name, *version, *label;
    struct fetch *fetch;
    size_t *references; /* indexes of nodes */
    size_t reference_count;
    int64_t offset, size; /* of its JSON in the spool */
};

struct resolution {
    const struct lookup *lookup;
    struct node **nodes; /* 0 is the root */
    size_t node_count, started, done;
    struct resolve_options options;
    int64_t spool_size;
    uint64_t bytes;
    const struct repository *root_repository;
    struct manifest root_manifest;
    json_t *resource;
    struct error err;
    size_t *order; /* nodes in the order of the list */
    size_t order_count;
    size_t cycle_from, cycle_to;
    bool has_cycle;
};

static void node_free(struct node *node)
{
    fetch_cancel(node->fetch);
    free(node->name);
    free(node->version);
    free(node->label);
    free(node->references);
    free(node);
}

void resolution_free(struct resolution *resolution)
{
    if (!resolution)
        return;
    for (size_t i = 0; i < resolution->node_count; i++)
        node_free(resolution->nodes[i]);
    free(resolution->nodes);
    free(resolution->order);
    manifest_done(&resolution->root_manifest);
    json_decref(resolution->resource);
    free(resolution);
}

/* ---- the graph ---- */

static int find_or_add_node(struct resolution *resolution, const char *name, const char *version,
                            size_t *ret_index, struct error *err)
{
    struct node *node = NULL;

    for (size_t i = 0; i < resolution->node_count; i++) {
        if (strcmp(resolution->nodes[i]->name, name) == 0 &&
            strcmp(resolution->nodes[i]->version, version) == 0) {
            *ret_index = i;
            return 0;
        }
    }
    if (resolution->node_count >= RESOLVE_COMPONENTS_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "more than %d components: \"%s:%s\" exceeds the limit",
                         RESOLVE_COMPONENTS_MAX, name, version);
    node = xcalloc(1, sizeof(*node));
    node->resolution = resolution;
    node->name = xstrdup(name);
    node->version = xstrdup(version);
    node->label = xasprintf("%s:%s", name, version);
    resolution->nodes =
        xreallocarray(resolution->nodes, resolution->node_count + 1, sizeof(struct node *));
    resolution->nodes[resolution->node_count] = node;
    *ret_index = resolution->node_count++;
    return 0;
}

static int add_references(struct node *node, const struct descriptor *descriptor, struct error *err)
{
    size_t count = descriptor_reference_count(descriptor);

    node->references = xcalloc(count + 1, sizeof(size_t));
    for (size_t i = 0; i < count; i++) {
        cleanup_json json_t *reference = descriptor_reference(descriptor, i);

        if (find_or_add_node(node->resolution, doc_text(reference, "componentName"),
                             doc_text(reference, "version"), &node->references[i], err) < 0)
            return -1;
    }
    node->reference_count = count;
    return 0;
}

/* ---- the spool ---- */

/* descriptor_write() delivers a few bytes at a time; the buffer saves system calls. */
struct spooling {
    struct resolution *resolution;
    char block[COPY_BYTES];
    size_t used;
    struct error *err;
};

static int flush_spool(struct spooling *spooling)
{
    if (file_write_all(spooling->resolution->options.spool_fd, "component descriptors",
                       spooling->block, spooling->used, spooling->err) < 0)
        return -1;
    spooling->resolution->spool_size += (int64_t)spooling->used;
    spooling->used = 0;
    return 0;
}

static int spool_bytes(const char *bytes, size_t size, void *data)
{
    struct spooling *spooling = data;

    while (size > 0) {
        size_t room = sizeof(spooling->block) - spooling->used;
        size_t part = size < room ? size : room;

        memcpy(spooling->block + spooling->used, bytes, part);
        spooling->used += part;
        bytes += part;
        size -= part;
        if (spooling->used == sizeof(spooling->block) && flush_spool(spooling) < 0)
            return -1;
    }
    return 0;
}

static int spool_descriptor(struct node *node, const struct descriptor *descriptor,
                            struct error *err)
{
    struct resolution *resolution = node->resolution;
    cleanup_free struct spooling *spooling = xmalloc(sizeof(*spooling));

    spooling->resolution = resolution;
    spooling->used = 0;
    spooling->err = err;
    node->offset = resolution->spool_size;
    if (descriptor_write(descriptor, spool_bytes, spooling) < 0 || flush_spool(spooling) < 0)
        return error_wrap(err, "component \"%s\"", node->label);
    node->size = resolution->spool_size - node->offset;
    return 0;
}

/* ---- fetching ---- */

/* Keeps only what the blueprint needs: the descriptor of the root can be large. */
static int keep_root(struct resolution *resolution, struct found *found, struct error *err)
{
    if (resolution->options.resource_name &&
        descriptor_resource(found->descriptor, resolution->options.resource_name,
                            resolution->options.resource_identity, &resolution->resource, err) < 0)
        return -1;
    resolution->root_repository = found->repository;
    resolution->root_manifest = found->manifest;
    found->manifest = (struct manifest){0};
    return 0;
}

static int take_found(struct node *node, struct found *found, struct error *err)
{
    struct resolution *resolution = node->resolution;

    resolution->bytes += found->bytes;
    if (node == resolution->nodes[0] && keep_root(resolution, found, err) < 0)
        return -1;
    if (spool_descriptor(node, found->descriptor, err) < 0)
        return -1;
    return add_references(node, found->descriptor, err);
}

static void on_fetched(void *data, struct found *found, const struct error *err)
{
    struct node *node = data;
    struct resolution *resolution = node->resolution;
    struct resolve_progress progress = {0};
    int result = 0;

    node->fetch = NULL;
    resolution->done++;
    if (err->kind != ERROR_NONE) {
        resolution->err = *err;
        return;
    }
    result = take_found(node, found, &resolution->err);
    found_done(found);
    if (result < 0 || !resolution->options.on_progress)
        return;
    progress = (struct resolve_progress){
        .done = resolution->done, .known = resolution->node_count, .bytes = resolution->bytes};
    resolution->options.on_progress(resolution->options.data, &progress);
}

static int run(struct resolution *resolution, struct error *err)
{
    while (resolution->done < resolution->node_count) {
        while (resolution->started < resolution->node_count &&
               resolution->started - resolution->done < RESOLVE_PARALLEL_MAX) {
            struct node *node = resolution->nodes[resolution->started++];

            node->fetch =
                fetch_start(resolution->lookup, node->name, node->version, on_fetched, node);
        }
        if (loop_run_once(resolution->lookup->loop, -1, err) < 0)
            return -1;
        if (resolution->err.kind != ERROR_NONE) {
            *err = resolution->err;
            return -1;
        }
    }
    return 0;
}

/* ---- the order of the list ---- */

/* Not recursive: its depth would be chosen by the author of the descriptors. */
static void arrange(struct resolution *resolution)
{
    size_t count = resolution->node_count;
    cleanup_free size_t *stack = xcalloc(count, sizeof(size_t));
    cleanup_free size_t *next = xcalloc(count, sizeof(size_t)); /* of the references of a node */
    cleanup_free bool *is_seen = xcalloc(count, sizeof(bool));
    cleanup_free bool *is_open = xcalloc(count, sizeof(bool));
    size_t depth = 1;

    resolution->order = xcalloc(count, sizeof(size_t));
    resolution->order[resolution->order_count++] = 0;
    is_seen[0] = is_open[0] = true;
    while (depth > 0) {
        size_t at = stack[depth - 1];
        const struct node *node = resolution->nodes[at];
        size_t to = 0;

        if (next[at] == node->reference_count) {
            is_open[at] = false;
            depth--;
            continue;
        }
        to = node->references[next[at]++];
        if (is_open[to] && !resolution->has_cycle) {
            resolution->has_cycle = true;
            resolution->cycle_from = at;
            resolution->cycle_to = to;
        }
        if (is_seen[to])
            continue;
        is_seen[to] = is_open[to] = true;
        resolution->order[resolution->order_count++] = to;
        stack[depth++] = to;
    }
}

int resolve_components(const struct lookup *lookup, const char *component_name, const char *version,
                       const struct resolve_options *options, struct resolution **ret_resolution,
                       struct error *err)
{
    cleanup_resolution struct resolution *resolution = xcalloc(1, sizeof(*resolution));
    size_t root = 0;

    resolution->lookup = lookup;
    resolution->options = *options;
    if (find_or_add_node(resolution, component_name, version, &root, err) < 0 ||
        run(resolution, err) < 0)
        return -1;
    arrange(resolution);
    *ret_resolution = steal(&resolution);
    return 0;
}

struct resolved_root resolution_root(const struct resolution *resolution)
{
    return (struct resolved_root){.component_name = resolution->nodes[0]->name,
                                  .repository = resolution->root_repository,
                                  .manifest = &resolution->root_manifest,
                                  .resource = resolution->resource};
}

size_t resolution_count(const struct resolution *resolution)
{
    return resolution->node_count;
}

uint64_t resolution_bytes(const struct resolution *resolution)
{
    return resolution->bytes;
}

bool resolution_cycle(const struct resolution *resolution, const char **ret_from,
                      const char **ret_to)
{
    if (!resolution->has_cycle)
        return false;
    *ret_from = resolution->nodes[resolution->cycle_from]->label;
    *ret_to = resolution->nodes[resolution->cycle_to]->label;
    return true;
}

static int copy_node(const struct resolution *resolution, const struct node *node, int fd,
                     struct error *err)
{
    char block[COPY_BYTES];
    int64_t done = 0;

    while (done < node->size) {
        int64_t left = node->size - done;
        size_t wanted = left < (int64_t)sizeof(block) ? (size_t)left : sizeof(block);
        ssize_t count = pread(resolution->options.spool_fd, block, wanted, node->offset + done);

        if (count <= 0)
            return error_set_errno(err, count == 0 ? EIO : errno, "read component descriptors");
        if (file_write_all(fd, LIST_NAME, block, (size_t)count, err) < 0)
            return -1;
        done += count;
    }
    return 0;
}

int resolution_write(const struct resolution *resolution, int fd, struct error *err)
{
    static const char head[] = "{\"meta\":{\"schemaVersion\":\"v2\"},\"components\":[";
    static const char tail[] = "]}";

    if (file_write_all(fd, LIST_NAME, head, strlen(head), err) < 0)
        return -1;
    for (size_t i = 0; i < resolution->order_count; i++) {
        if ((i > 0 && file_write_all(fd, LIST_NAME, ",", 1, err) < 0) ||
            copy_node(resolution, resolution->nodes[resolution->order[i]], fd, err) < 0)
            return -1;
    }
    return file_write_all(fd, LIST_NAME, tail, strlen(tail), err);
}
