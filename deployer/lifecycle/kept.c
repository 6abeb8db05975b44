/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/kept.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

enum {
    KEPT_BYTES_MAX = 16 << 20,
    /* Parameters of deflateInit2(): 32 KB of working memory, since most objects have 2 to 8 KB. */
    LEVEL = 3,
    WINDOW_BITS = 12,
    MEMORY_LEVEL = 4,
    SCRATCH_SIZE = 48 * 1024,
    PACKED_MAX = 16 * 1024, /* larger objects are rare */
};

/* What Kymas and Manifests have in common: the more likely, the later. An object then takes about
 * two thirds of what it would take without. Texts are never stored, so this may be changed. */
static const char DICTIONARY[] =
    "\"type\":\"ModuleCR\",\"message\":\"module CR was created\",\"reason\":\"ModuleCRCreated\","
    "\"deletionTimestamp\":\"\"deletionGracePeriodSeconds\":0,\"customResourcePolicy\":"
    "\"CreateAndDelete\",\"skipMaintenanceWindows\":false,\"state\":\"Processing\"\"Warning\""
    "\"message\":\"waiting for all modules to become ready\"\"Deployment has no available "
    "replicas\""
    "\"apiVersion\":\"operator.kyma-project.io/v1beta2\",\"kind\":\"Kyma\",\"finalizers\":["
    "\"operator.kyma-project.io/"
    "Kyma\"],\"spec\":{\"channel\":\"regular\",\"modules\":[{\"managed\":true,"
    "\"name\":\"\"}]\"status\":{\"activeChannel\":\"regular\",\"conditions\":[{"
    "\"lastTransitionTime\":"
    "\"202\",\"message\":\"CRDs are synchronized to the SKR\",\"observedGeneration\":1,\"reason\":"
    "\"Ready\",\"status\":\"True\",\"type\":\"CRDsSync\"\"message\":\"all modules are in ready "
    "state\","
    "\"type\":\"Modules\"\"message\":\"module templates are "
    "synchronized\",\"type\":\"ModuleCatalog\""
    "\"lastOperation\":{\"lastUpdateTime\":\"202\",\"operation\":\"kyma is ready\"},\"modules\":[{"
    "\"channel\":\"regular\",\"fqdn\":\"kyma-project.io/module/\",\"manifest\":{\"apiVersion\":"
    "\"operator.kyma-project.io/"
    "v1beta2\",\"kind\":\"Manifest\",\"metadata\":{\"generation\":1,\"name\":"
    "\"\",\"namespace\":\"kcp-system\"}},\"maintenance\":false,\"message\":\"\","
    "\"ocmComponentName\":"
    "\"kyma-project.io/module/"
    "\",\"state\":\"Ready\",\"template\":{\"kind\":\"ModuleTemplate\",\"version\":"
    "\"1.0.0\"}],\"metadata\":{\"annotations\":{\"operator.kyma-project.io/fqdn\":"
    "\"kyma-project.io/module/\",\"operator.kyma-project.io/"
    "ocm-component-name\":\"\",\"sync-oci-ref\":"
    "\"sha256:\"},\"creationTimestamp\":\"202\",\"finalizers\":[\"declarative.kyma-project.io/"
    "finalizer\","
    "\"label-removal-finalizer\",\"resource.kyma-project.io/"
    "finalizer\"],\"generation\":1,\"labels\":{"
    "\"operator.kyma-project.io/channel\":\"regular\",\"operator.kyma-project.io/kyma-name\":\"\","
    "\"operator.kyma-project.io/managed-by\":\"lifecycle-manager\",\"operator.kyma-project.io/"
    "module-name\":\"\"},\"name\":\"\",\"namespace\":\"kcp-system\",\"ownerReferences\":[{"
    "\"apiVersion\":"
    "\"operator.kyma-project.io/v1beta2\",\"blockOwnerDeletion\":true,\"controller\":true,\"kind\":"
    "\"Kyma\",\"name\":\"\",\"uid\":\"\"}],\"resourceVersion\":\"\",\"uid\":\"\"},\"spec\":{"
    "\"install\":{\"name\":"
    "\"raw-manifest\",\"source\":{\"name\":\"kyma-project.io/module/"
    "\",\"ref\":\"sha256:\",\"repo\":\"\","
    "\"type\":\"oci-ref\"}},\"localizedImages\":[],\"remote\":true,\"version\":\"1.0.0\"},"
    "\"status\":{"
    "\"conditions\":[{\"lastTransitionTime\":\"202\",\"message\":\"resources are parsed and ready "
    "for "
    "use\",\"observedGeneration\":1,\"reason\":\"ResourcesAvailable\",\"status\":\"True\",\"type\":"
    "\"Resources\"},{\"lastTransitionTime\":\"202\",\"message\":\"installation is ready and "
    "resources can "
    "be "
    "used\",\"reason\":\"Ready\",\"status\":\"True\",\"type\":\"Installation\"}],\"lastOperation\":"
    "{"
    "\"lastUpdateTime\":\"202\",\"operation\":\"\"},\"state\":\"Ready\",\"synced\":[{\"group\":"
    "\"\",\"kind\":"
    "\"CustomResourceDefinition\",\"kind\":\"PriorityClass\",\"name\":\"\",\"namespace\":\"\","
    "\"version\":"
    "\"v1\"},{\"group\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRoleBinding\",\"name\":"
    "\"\","
    "\"namespace\":\"\",\"version\":\"v1\"},{\"group\":\"apps\",\"kind\":\"Deployment\",\"name\":"
    "\"\","
    "\"namespace\":\"kyma-system\",\"version\":\"v1\"},{\"group\":\"\",\"kind\":\"Service\""
    "\"ServiceAccount\"\"ConfigMap\",\"name\":\"\",\"namespace\":\"kyma-system\",\"version\":"
    "\"v1\"},{\"group\":\"";

static void use_dictionary(z_stream *stream, int (*set)(z_streamp, const Bytef *, uInt))
{
    if (set(stream, (const Bytef *)DICTIONARY, sizeof(DICTIONARY) - 1) != Z_OK)
        out_of_memory();
}

/* Memory of zlib. Objects are packed and unpacked all the time, and what is allocated meanwhile
 * stays for long: taking this from the heap would leave holes everywhere. */
struct scratch {
    size_t used;
    alignas(max_align_t) char bytes[SCRATCH_SIZE];
};

static void *scratch_take(void *data, unsigned count, unsigned size)
{
    struct scratch *scratch = data;
    size_t start = scratch->used;
    size_t end = start + (size_t)count * size;

    if (end > sizeof(scratch->bytes))
        return NULL;
    scratch->used = (end + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    return scratch->bytes + start;
}

static void scratch_give(void *data, void *block)
{
    (void)data;
    (void)block;
}

/* Returns the size of the compressed text, or 0 if that is not smaller than size. */
static size_t deflate_text(const char *text, size_t length, char *packed, size_t size)
{
    /* Release builds initialize all automatic variables; this one is too large for that. */
    __attribute__((uninitialized)) struct scratch scratch;
    z_stream stream = {
        .zalloc = scratch_take,
        .zfree = scratch_give,
        .opaque = &scratch,
        .next_out = (unsigned char *)packed,
        .avail_out = (uInt)size,
    };
    bool is_smaller = false;

    scratch.used = 0;
    memcpy(&stream.next_in, &text, sizeof(text)); /* zlib only reads, but its field is not const */
    stream.avail_in = (uInt)length;
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return 0;
    use_dictionary(&stream, deflateSetDictionary);
    is_smaller = deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out < length;
    (void)deflateEnd(&stream);
    return is_smaller ? stream.total_out : 0;
}

/* Stores the text, compressed if that makes it smaller. Whatever is not kept is freed before the
 * rest is allocated, so that it does not stay behind a hole. */
static void pack(struct kept *kept, char *text)
{
    __attribute__((uninitialized)) char packed[PACKED_MAX];
    size_t length = strlen(text);
    cleanup_free char *large = length > sizeof(packed) ? xmalloc(length) : NULL;
    size_t size = large ? deflate_text(text, length, large, length)
                        : deflate_text(text, length, packed, sizeof(packed));

    *kept = (struct kept){.bytes = text, .size = (uint32_t)length, .length = (uint32_t)length};
    if (!size)
        return;
    free(text);
    kept->size = (uint32_t)size;
    kept->bytes = xmemdup(large ? large : packed, size);
}

static void inflate_text(const struct kept *kept, char *text)
{
    __attribute__((uninitialized)) struct scratch scratch;
    z_stream stream = {
        .zalloc = scratch_take,
        .zfree = scratch_give,
        .opaque = &scratch,
        .next_in = (unsigned char *)kept->bytes,
        .avail_in = kept->size,
        .next_out = (unsigned char *)text,
        .avail_out = kept->length,
    };
    int result = Z_OK;

    scratch.used = 0;
    result = inflateInit2(&stream, 0); /* with the window of deflateInit2() */
    if (result == Z_OK)
        result = inflate(&stream, Z_FINISH);
    if (result == Z_NEED_DICT) {
        use_dictionary(&stream, inflateSetDictionary);
        result = inflate(&stream, Z_FINISH);
    }
    (void)inflateEnd(&stream);
    if (result != Z_STREAM_END)
        out_of_memory(); /* nothing else can fail; without its object a cluster would be left */
}

static json_t *unpack(const struct kept *kept)
{
    cleanup_free char *text = xmalloc(kept->length + 1);
    json_t *object = NULL;
    struct error ignored = {0};

    if (kept->size == kept->length)
        memcpy(text, kept->bytes, kept->length);
    else
        inflate_text(kept, text);
    /* It was written by kept_set(), so it can be parsed. */
    (void)!doc_parse_json(text, kept->length, KEPT_BYTES_MAX, &object, &ignored);
    return object;
}

static uint64_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX, &version);
    return version;
}

/* FNV-1a with 64 bits, which is enough: it tells two objects of the same name apart. */
static uint64_t uid_of(const json_t *object)
{
    uint64_t hash = 14695981039346656037u;

    for (const char *uid = doc_text_or(object, "metadata.uid", ""); *uid; uid++)
        hash = (hash ^ (unsigned char)*uid) * 1099511628211u;
    return hash;
}

void kept_done(struct kept *kept)
{
    free(kept->bytes);
    json_decref(kept->parsed);
    *kept = (struct kept){0};
}

void kept_set(struct kept *kept, const json_t *object)
{
    struct kept fresh = {0};

    if (object) {
        pack(&fresh, doc_dump(object));
        fresh.uid = uid_of(object);
        fresh.version = version_of(object);
    }
    fresh.is_held = kept->is_held;
    kept_done(kept);
    *kept = fresh;
}

bool kept_is_there(const struct kept *kept)
{
    return kept->bytes != NULL;
}

json_t *kept_get(struct kept *kept)
{
    json_t *object = json_incref(kept->parsed);

    if (!object && kept->bytes)
        object = unpack(kept);
    if (kept->is_held && !kept->parsed)
        kept->parsed = json_incref(object);
    return object;
}

void kept_hold(struct kept *kept)
{
    kept->is_held = true;
}

void kept_release(struct kept *kept)
{
    json_decref(kept->parsed);
    kept->parsed = NULL;
    kept->is_held = false;
}

static bool is_same_object(const struct kept *kept, const json_t *object)
{
    return kept->bytes && kept->uid == uid_of(object);
}

bool kept_has(const struct kept *kept, const json_t *object)
{
    return is_same_object(kept, object) && kept->version > 0 && version_of(object) == kept->version;
}

bool kept_is_newer_than(const struct kept *kept, const json_t *object)
{
    return is_same_object(kept, object) && version_of(object) < kept->version;
}

void kept_take_answer(struct kept *kept, const json_t *object)
{
    if (is_same_object(kept, object) && !kept_is_newer_than(kept, object))
        kept_set(kept, object);
}
