/* SPDX-License-Identifier: Apache-2.0 */
/* Two generations of ours and one of Go's are stored, then the input changes chunks and metadata.
 * Properties: the restored state is one that was saved or, if the sha256 was forged, at least stays
 * within its directory. After a failure, or if there is no state, the previous content is still
 * there and nothing else.
 *
 * The input is a list of changes: what to do, to which chunk, a choice, how many bytes follow. */
#include <stdint.h>
#include <string.h>

#include "common/archive/fuzz/place.h"
#include "common/archive/pack.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/state/restore.h"
#include "common/state/tests/chunks.h"

enum {
    CHUNKS_EACH = 3,
    SAVED = 3, /* "a", "b", and Go's "g" */
    CHUNKS_MAX = 32,
    CHANGES_MAX = 64,
    BYTES_MAX = 1 << 16, /* of a chunk */
    TEXT_SIZE = 80,
    TEXTS = 4 /* uuid, number, count and sequence */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct saved {
    struct buffer packed;
    char sha256[DIGEST_HEX_MAX];
};

struct chunk {
    char object[8], created[24];
    char texts[TEXTS][TEXT_SIZE];
    char sha256[DIGEST_HEX_MAX];
    struct buffer bytes;
    enum error_kind injected_error; /* returned instead of the bytes */
    bool is_gone;
};

struct store {
    struct chunk *chunks;
    size_t count;
    bool is_sha256_forged;
};

static int keep(void *data, const void *bytes, size_t size, struct error *err)
{
    return buffer_append(data, bytes, size, err);
}

static void pack(int tree_fd, struct saved *saved)
{
    const struct pack_options options = {
        .limits = &ARCHIVE_LIMITS_STATE, .write = keep, .data = &saved->packed};
    struct pack_counts counts = {0};
    struct error err = {0};

    buffer_init(&saved->packed, SIZE_MAX);
    require(pack_tree(tree_fd, &options, &counts, &err) == 0);
    digest_sha256_hex(saved->packed.data, saved->packed.size, saved->sha256);
}

static void make_tree(int parent_fd, const char *name, const char *which)
{
    struct error err = {0};
    cleanup_close int fd = beneath_make_directories(parent_fd, name, &err);

    require(fd >= 0 && fchmod(fd, 0755) == 0);
    require(beneath_write_file(fd, "which", which, strlen(which), 0644, &err) == 0);
    require(beneath_write_file(fd, "sub/file", "more", 4, 0600, &err) == 0);
    require(symlinkat("sub/file", fd, "link") == 0);
}

static const struct saved *saved_once(void)
{
    static struct saved all[SAVED];
    static const char *const names[SAVED] = {"a", "b", "g"};

    for (size_t i = 0; i < SAVED && !all[i].packed.size; i++) {
        cleanup_close int fd = -1;
        struct error err = {0};

        make_tree(place(), "state", names[i]);
        fd = beneath_open_directory(place(), "state", &err);
        pack(fd, &all[i]);
        require(beneath_remove_tree(place(), "state", &err) == 0);
    }
    return all;
}

static void put_bytes(struct chunk *chunk, const void *bytes, size_t size)
{
    struct error err = {0};

    buffer_clear(&chunk->bytes);
    require(buffer_append(&chunk->bytes, bytes, size, &err) == 0);
}

static struct chunk *new_chunk(struct store *store)
{
    struct chunk *chunk = &store->chunks[store->count++];

    *chunk = (struct chunk){.injected_error = ERROR_NONE};
    (void)snprintf(chunk->object, sizeof(chunk->object), "s%02zu", store->count % 100);
    buffer_init(&chunk->bytes, BYTES_MAX);
    return chunk;
}

static void fill(struct store *store, const struct saved *all)
{
    for (int i = 0; i < SAVED * CHUNKS_EACH; i++) {
        struct chunk *chunk = new_chunk(store);
        int which = i / CHUNKS_EACH;
        int number = i % CHUNKS_EACH;
        size_t size = all[which].packed.size;
        size_t from = size * (size_t)number / CHUNKS_EACH;

        (void)snprintf(chunk->texts[0], TEXT_SIZE, "%c", "abg"[which]);
        (void)snprintf(chunk->texts[1], TEXT_SIZE, "%d", number);
        (void)snprintf(chunk->created, sizeof(chunk->created), "2026-01-01T00:00:0%dZ", 3 - which);
        if (which < 2) {
            (void)snprintf(chunk->texts[2], TEXT_SIZE, "%d", CHUNKS_EACH);
            (void)snprintf(chunk->texts[3], TEXT_SIZE, "%d", 2 - which);
            memcpy(chunk->sha256, all[which].sha256, sizeof(chunk->sha256));
        }
        put_bytes(chunk, all[which].packed.data + from,
                  size * ((size_t)number + 1) / CHUNKS_EACH - from);
    }
}

/* Forges the sha256 of the chunks of one uuid, in the order of their objects. */
static void forge(struct store *store, const char *uuid)
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    char hex[DIGEST_HEX_MAX];

    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(store->chunks[i].texts[0], uuid) == 0)
            digest_update(digest, store->chunks[i].bytes.data, store->chunks[i].bytes.size);
    }
    digest_hex(digest, hex);
    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(store->chunks[i].texts[0], uuid) == 0)
            memcpy(store->chunks[i].sha256, hex, sizeof(hex));
    }
    store->is_sha256_forged = true;
}

static void copy_chunk(struct store *store, const struct chunk *chunk)
{
    struct chunk *copy = new_chunk(store);

    memcpy(copy->created, chunk->created, sizeof(copy->created));
    memcpy(copy->texts, chunk->texts, sizeof(copy->texts));
    memcpy(copy->sha256, chunk->sha256, sizeof(copy->sha256));
    put_bytes(copy, chunk->bytes.data, chunk->bytes.size);
}

static void set_text(char *text, const uint8_t *bytes, size_t size)
{
    size = size < TEXT_SIZE - 1 ? size : TEXT_SIZE - 1;
    memcpy(text, bytes, size);
    text[size] = '\0';
}

struct change {
    uint8_t what, chunk, choice, size;
};

static void apply(struct store *store, const struct change *change, const uint8_t *bytes)
{
    static const enum error_kind error_kinds[] = {ERROR_NOT_FOUND, ERROR_TEMPORARY, ERROR_DENIED,
                                                  ERROR_TOO_LARGE};
    struct chunk *chunk = &store->chunks[change->chunk % store->count];
    struct chunk *other = &store->chunks[change->choice % store->count];

    switch (change->what % 9) {
    case 0: /* changed bytes */
        for (size_t i = 0; i < change->size && chunk->bytes.size; i++)
            chunk->bytes.data[(change->choice + i) % chunk->bytes.size] ^= (char)bytes[i];
        break;
    case 1:
        put_bytes(chunk, bytes, change->size);
        break;
    case 2: /* truncated */
        if (chunk->bytes.size > change->choice)
            chunk->bytes.size = change->choice;
        break;
    case 3: {
        struct buffer swapped = chunk->bytes;

        chunk->bytes = other->bytes;
        other->bytes = swapped;
        break;
    }
    case 4:
        chunk->is_gone = true;
        break;
    case 5:
        set_text(chunk->texts[change->choice % TEXTS], bytes, change->size);
        break;
    case 6:
        if (store->count < CHUNKS_MAX)
            copy_chunk(store, chunk);
        break;
    case 7:
        if (change->choice % 2)
            forge(store, chunk->texts[0]);
        else
            memcpy(chunk->sha256, other->sha256, sizeof(chunk->sha256));
        break;
    default:
        chunk->injected_error = error_kinds[change->choice % array_length(error_kinds)];
        break;
    }
}

static void change_all(struct store *store, const uint8_t *data, size_t size)
{
    struct change change = {0};

    for (int i = 0; i < CHANGES_MAX && size >= sizeof(change); i++) {
        memcpy(&change, data, sizeof(change));
        data += sizeof(change);
        size -= sizeof(change);
        if (change.size > size)
            change.size = (uint8_t)size;
        apply(store, &change, data);
        data += change.size;
        size -= change.size;
    }
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static void arrange(const struct store *store, struct state_set *set)
{
    for (size_t i = 0; i < store->count; i++) {
        const struct chunk *chunk = &store->chunks[i];

        if (chunk->is_gone)
            continue;
        chunk_add(set, &(struct chunk_spec){.object = chunk->object,
                                            .uuid = text_or_null(chunk->texts[0]),
                                            .number = text_or_null(chunk->texts[1]),
                                            .created = chunk->created,
                                            .count = text_or_null(chunk->texts[2]),
                                            .sha256 = text_or_null(chunk->sha256),
                                            .sequence = text_or_null(chunk->texts[3])});
    }
    state_set_arrange(set);
}

static int read_chunk(void *data, const struct state_chunk *wanted, struct buffer *ret_bytes,
                      struct error *err)
{
    const struct store *store = data;

    for (size_t i = 0; i < store->count; i++) {
        const struct chunk *chunk = &store->chunks[i];

        if (strcmp(chunk->object, wanted->object) != 0)
            continue;
        if (chunk->injected_error != ERROR_NONE)
            return error_set(err, chunk->injected_error, "injected");
        return buffer_append(ret_bytes, chunk->bytes.data, chunk->bytes.size, err);
    }
    abort();
}

static void check_restored(const struct store *store, const struct state_restored *restored,
                           int state_fd, const struct saved *all)
{
    struct saved found = {0};

    if (!restored->generation->is_ours)
        return; /* Go's has only the checksum of gzip */
    for (size_t i = 0; i < SAVED; i++) {
        if (strcmp(restored->generation->sha256, all[i].sha256) != 0)
            continue;
        pack(state_fd, &found);
        require(strcmp(found.sha256, all[i].sha256) == 0);
        buffer_done(&found.packed);
        return;
    }
    require(store->is_sha256_forged);
}

static void check_untouched(int state_fd)
{
    struct error err = {0};
    struct stat stat = {0};
    cleanup_close int fd = beneath_open_file(state_fd, "which", &stat, &err);
    char text[8] = {0};

    require(fd >= 0 && read(fd, text, sizeof(text)) == 3 && memcmp(text, "old", 3) == 0);
    require(place_count_entries(state_fd) == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct saved *all = saved_once();
    struct store store = {.chunks = xcalloc(CHUNKS_MAX, sizeof(struct chunk))};
    struct state_source source = {.read_chunk = read_chunk, .data = &store};
    struct state_restored restored = {0};
    struct state_set set = {0};
    struct error err = {0};
    cleanup_close int state_fd = -1;
    int result = 0;

    fill(&store, all);
    change_all(&store, data, size);
    arrange(&store, &set);
    require(beneath_remove_tree(place(), "state", &err) == 0);
    make_tree(place(), "state", "old");
    result = state_restore(&set, &source, place(), "state", NULL, NULL, &restored, &err);
    require(result == 0 || (err.kind != ERROR_NONE && err.text[0]));
    state_fd = beneath_open_directory(place(), "state", &err);
    require(state_fd >= 0);
    if (result == 0 && restored.generation)
        check_restored(&store, &restored, state_fd, all);
    else
        check_untouched(state_fd);
    place_check();
    state_set_done(&set);
    for (size_t i = 0; i < store.count; i++)
        buffer_done(&store.chunks[i].bytes);
    free(store.chunks);
    return 0;
}
