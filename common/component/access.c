/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/access.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/component/typed.h"
#include "common/contract.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/data/reference.h"

#define BLUEPRINT_TYPES "application/vnd.gardener.landscaper.blueprint."
#define BLUEPRINT_CONFIG BLUEPRINT_TYPES "config.v1"

static const char *const type_local_blob[] = {"localBlob", "LocalBlob", NULL};
static const char *const type_file_blob[] = {"localFilesystemBlob", "LocalFilesystemBlob", NULL};
static const char *const type_local_oci_blob[] = {"localOciBlob", "LocalOciBlob", NULL};
static const char *const type_artifact[] = {
    "ociArtifact", "OCIArtifact", "ociRegistry", "OCIRegistry", "ociImage", "OCIImage", NULL};
static const char *const type_relative[] = {"relativeOciReference", "RelativeOciReference", NULL};
static const char *const type_blob[] = {"ociBlob", "OCIBlob", NULL};
static const char *const type_helm[] = {"helm", "Helm", NULL};

/* The unpacker detects the compression, so that zstd is supported although Go does not know it. */
static const char *const blueprint_layers[] = {
    BLUEPRINT_TYPES "v1+tar",
    BLUEPRINT_TYPES "v1+tar+gzip",
    BLUEPRINT_TYPES "v1+tar+zstd",
    BLUEPRINT_TYPES "layer.v1.tar",
    BLUEPRINT_TYPES "layer.v1.tar+gzip",
    BLUEPRINT_TYPES "layer.v1.tar+zstd",
    NULL,
};
static const char *const blueprint_types[] = {LANDSCAPER_GROUP "/blueprint", "blueprint", NULL};
static const char *const chart_layers[] = {"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
                                           "application/tar+gzip", NULL};
static const char *const chart_types[] = {"helmChart", "helm", "helm.io/chart", NULL};
static const char *const tar_types[] = {"application/x-tar", "application/x-tgz",
                                        "application/x-tar+gzip", "application/x-tar+zstd", NULL};

/* How the two contents are recognised. */
static const struct {
    const char *name, *config; /* config: media type of the config of an artifact */
    const char *const *resource_types, *const *layer_types;
} contents[] = {
    [ACCESS_BLUEPRINT] = {"blueprint", BLUEPRINT_CONFIG, blueprint_types, blueprint_layers},
    [ACCESS_CHART] = {"chart", "application/vnd.cncf.helm.config.v1+json", chart_types,
                      chart_layers},
};

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list;
}

static const char *const artifact_set_types[] = {
    "application/vnd.oci.image.manifest.v1+tar",
    "application/vnd.oci.image.manifest.v1+tar+gzip",
    "application/vnd.docker.distribution.manifest.v2+tar",
    "application/vnd.docker.distribution.manifest.v2+tar+gzip",
};

void access_done(struct access *access)
{
    for (size_t i = 0; i < access->reference_count; i++)
        free(access->references[i]);
    free(access->references);
    free(access->media_type);
    free(access->host);
    free(access->repository);
    free(access->object);
    free(access->blob_digest);
    free(access->artifact_digest);
    json_decref(access->chart);
    *access = (struct access){0};
}

static void add_reference(struct access *access, const char *text, size_t length)
{
    access->references =
        xreallocarray(access->references, access->reference_count + 1, sizeof(char *));
    access->references[access->reference_count++] = xstrndup(text, length);
}

/* A reference, or a comma-separated list of them: the chunks of one blob. */
static int parse_references(const char *text, struct access *access, struct error *err)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        const char *next = text + length + (text[length] == ',' ? 1 : 0);

        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        while (length > 0 && text[length - 1] == ' ')
            length--;
        if (length == 0)
            return error_set(err, ERROR_INVALID,
                             "access: localReference: contains an empty reference");
        if (access->reference_count >= ACCESS_REFERENCES_MAX)
            return error_set(err, ERROR_TOO_LARGE, "access: localReference: more than %d chunks",
                             ACCESS_REFERENCES_MAX);
        add_reference(access, text, length);
        text = next;
    }
    return 0;
}

static int missing(const char *key, struct error *err)
{
    return error_set(err, ERROR_INVALID, "access: %s: missing", key);
}

/* [scheme://]host[:port]/repository[:tag][@digest], as the OCM grammar allows. */
static int parse_image(const char *text, struct access *access, struct error *err)
{
    cleanup_reference struct reference *reference = NULL;
    const char *scheme = strstr(text, "://");

    if (scheme) {
        access->is_plain_http = strncasecmp(text, "http://", 7) == 0;
        if (!access->is_plain_http && strncasecmp(text, "https://", 8) != 0 &&
            strncasecmp(text, "oci://", 6) != 0)
            return error_set(
                err, ERROR_INVALID,
                "access: unknown scheme in \"%.200s\"; expected \"https\", \"http\" or \"oci\"",
                text);
        text = scheme + 3;
    }
    if (reference_parse(text, &reference, err) < 0)
        return error_wrap(err, "access");
    access->host = xstrdup(reference_host(reference));
    access->repository = xstrdup(reference_repository(reference));
    access->object = xstrdup(reference_object(reference));
    return 0;
}

/* repository[:tag][@digest]: parsed with a placeholder for the host. */
static int parse_relative(const char *text, struct access *access, struct error *err)
{
    cleanup_free char *whole = xasprintf("registry.invalid/%s", text + strspn(text, "/"));

    if (parse_image(whole, access, err) < 0)
        return -1;
    free(access->host);
    access->host = NULL;
    return 0;
}

static int parse_blob(const json_t *spec, struct access *access, struct error *err)
{
    const char *reference = typed_text(spec, "ref");
    const char *digest = typed_text(spec, "digest");
    const json_t *size = typed_member(spec, "size");

    if (!reference)
        return missing("ref", err);
    if (!digest)
        return missing("digest", err);
    if (parse_image(reference, access, err) < 0)
        return -1;
    add_reference(access, digest, strlen(digest));
    if (json_is_integer(size) && json_integer_value(size) >= 0)
        access->size = json_integer_value(size);
    return 0;
}

/* In a registry the chart is an artifact, whose tag has no "+". The caller frees. */
static char *chart_reference(const char *repository, const char *name, const char *version)
{
    size_t length = strlen(repository);
    cleanup_free char *tag = xstrdup(version);
    char *plus = strchr(tag, '+');

    if (plus)
        *plus = '_';
    while (length > 0 && repository[length - 1] == '/')
        length--;
    return xasprintf("%.*s/%s:%s", (int)length, repository, name, tag);
}

/* {"helmRepository": URL, "helmChart": "name[:version]", "version"?}. */
static int parse_helm(const json_t *spec, struct access *access, struct error *err)
{
    const char *repository = typed_text(spec, "helmRepository");
    const char *chart = typed_text(spec, "helmChart");
    const char *version = typed_text(spec, "version");
    size_t length = chart ? strcspn(chart, ":") : 0;
    cleanup_free char *name = NULL;
    cleanup_free char *reference = NULL;

    if (!repository)
        return missing("helmRepository", err);
    if (length == 0)
        return missing("helmChart", err);
    if (!version)
        version = chart[length] == ':' ? chart + length + 1 : "";
    if (!*version)
        return missing("version", err);
    name = xstrndup(chart, length);
    if (strncasecmp(repository, "oci://", 6) == 0) {
        access->kind = ACCESS_ARTIFACT;
        reference = chart_reference(repository, name, version);
        return parse_image(reference, access, err);
    }
    if (strncasecmp(repository, "https://", 8) != 0 && strncasecmp(repository, "http://", 7) != 0)
        return error_set(err, ERROR_INVALID,
                         "access: helmRepository: \"%.200s\" must begin with https://, http:// or "
                         "oci://",
                         repository);
    access->kind = ACCESS_CHART_REPOSITORY;
    access->chart = json_pack("{s:s,s:s,s:s}", "url", repository, "name", name, "version", version);
    return 0;
}

static int parse_spec(const json_t *spec, struct access *access, struct error *err)
{
    const char *media_type = typed_text(spec, "mediaType");
    const char *text = NULL;

    access->media_type = xstrdup(media_type ? media_type : "");
    if (typed_is(spec, type_local_blob)) {
        access->kind = ACCESS_LOCAL_BLOB;
        text = typed_text(spec, "localReference");
        return text ? parse_references(text, access, err) : missing("localReference", err);
    }
    if (typed_is(spec, type_file_blob)) {
        access->kind = ACCESS_LOCAL_BLOB;
        text = typed_text(spec, "fileName");
        if (!text)
            return missing("fileName", err);
        add_reference(access, text, strlen(text));
        return 0;
    }
    if (typed_is(spec, type_local_oci_blob)) {
        access->kind = ACCESS_LOCAL_OCI_BLOB;
        text = typed_text(spec, "digest");
        if (!text)
            return missing("digest", err);
        add_reference(access, text, strlen(text));
        return 0;
    }
    if (typed_is(spec, type_artifact)) {
        access->kind = ACCESS_ARTIFACT;
        text = typed_text(spec, "imageReference");
        return text ? parse_image(text, access, err) : missing("imageReference", err);
    }
    if (typed_is(spec, type_relative)) {
        access->kind = ACCESS_RELATIVE;
        text = typed_text(spec, "reference");
        return text ? parse_relative(text, access, err) : missing("reference", err);
    }
    if (typed_is(spec, type_blob)) {
        access->kind = ACCESS_BLOB;
        return parse_blob(spec, access, err);
    }
    if (typed_is(spec, type_helm) && access->content == ACCESS_CHART)
        return parse_helm(spec, access, err);
    return error_set(err, ERROR_INVALID,
                     "access: type \"%.100s\" is not supported for %ss; use localBlob or "
                     "ociArtifact",
                     typed_text(spec, "type"), contents[access->content].name);
}

/* Other digests than these two are of normalised content, which can't be verified here. */
static void parse_digest(const json_t *digest, struct access *access)
{
    const char *value = doc_text(digest, "value");
    const char *hash = doc_text_or(digest, "hashAlgorithm", "");
    const char *form = doc_text_or(digest, "normalisationAlgorithm", "");
    const char *prefix = strcasecmp(hash, "SHA-256") == 0   ? "sha256"
                         : strcasecmp(hash, "SHA-512") == 0 ? "sha512"
                                                            : NULL;

    if (!value || !prefix)
        return;
    if (strncmp(form, "genericBlobDigest/", 18) == 0)
        access->blob_digest = xasprintf("%s:%s", prefix, value);
    else if (strncmp(form, "ociArtifactDigest/", 18) == 0)
        access->artifact_digest = xasprintf("%s:%s", prefix, value);
}

int access_parse(const json_t *resource, enum access_content content, struct access *ret_access,
                 struct error *err)
{
    cleanup_access struct access access = {.size = -1, .content = content};
    const char *type = doc_text_or(resource, "type", "");

    if (!is_one_of(type, contents[content].resource_types))
        return error_set(err, ERROR_INVALID,
                         "resource \"%.200s\" is not a %s, its type is \"%.200s\"",
                         doc_text_or(resource, "name", ""), contents[content].name, type);
    if (parse_spec(doc_member(resource, "access"), &access, err) < 0)
        return error_wrap(err, "resource \"%.200s\"", doc_text_or(resource, "name", ""));
    parse_digest(doc_member(resource, "digest"), &access);
    *ret_access = access;
    access = (struct access){0};
    return 0;
}

int access_of_chart(const char *reference, struct access *ret_access, struct error *err)
{
    cleanup_access struct access access = {
        .size = -1, .kind = ACCESS_ARTIFACT, .content = ACCESS_CHART, .media_type = xstrdup("")};

    if (parse_image(reference, &access, err) < 0)
        return -1;
    *ret_access = access;
    access = (struct access){0};
    return 0;
}

bool access_is_artifact_set(const char *media_type)
{
    return text_is_one_of(media_type, artifact_set_types, array_length(artifact_set_types));
}

int access_check_blob_type(enum access_content content, const char *media_type, struct error *err)
{
    if (is_one_of(media_type, contents[content].layer_types) || is_one_of(media_type, tar_types))
        return 0;
    return error_set(err, ERROR_INVALID, "media type \"%.150s\" is not that of a %s", media_type,
                     contents[content].name);
}

/* A chart may have a provenance file beside it, in any order; a blueprint is the first layer. */
static const struct content *find_layer(enum access_content content,
                                        const struct manifest *manifest)
{
    for (size_t i = 0; content == ACCESS_CHART && i < manifest->entry_count; i++) {
        if (is_one_of(manifest->entries[i].media_type, contents[content].layer_types))
            return &manifest->entries[i];
    }
    return &manifest->entries[0];
}

int access_pick_layer(enum access_content content, const struct manifest *manifest,
                      const struct content **ret_layer, struct error *err)
{
    const struct content *layer = NULL;

    if (manifest->is_index)
        return error_set(err, ERROR_INVALID, "an image index is not a %s", contents[content].name);
    if (manifest->entry_count == 0)
        return error_set(err, ERROR_INVALID, "artifact has no layers");
    layer = find_layer(content, manifest);
    if (strcmp(manifest->config.media_type, contents[content].config) != 0 &&
        !is_one_of(layer->media_type, contents[content].layer_types))
        return error_set(
            err, ERROR_INVALID, "artifact is not a %s (config \"%.120s\", first layer \"%.120s\")",
            contents[content].name, manifest->config.media_type, manifest->entries[0].media_type);
    *ret_layer = layer;
    return 0;
}
