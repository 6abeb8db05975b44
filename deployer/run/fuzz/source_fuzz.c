/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: prefix, path and tag joined are the input again, the path exists, and an image is
 * local if and only if its kind is not SOURCE_REGISTRY. Input: a byte that selects the form, then
 * text, which is a path in a test directory for local forms. */
#include "common/archive/fuzz/place.h"
#include "common/base/memory.h"
#include "deployer/run/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *prefix;
    enum source_kind kind;
} forms[] = {{"oci:", SOURCE_OCI},
             {"oci-archive:", SOURCE_OCI_ARCHIVE},
             {"docker-archive:", SOURCE_DOCKER_ARCHIVE},
             {"rootfs:", SOURCE_ROOTFS},
             {"", SOURCE_REGISTRY}};

static void set_up(void)
{
    static bool is_done;
    struct error err = {0};

    for (size_t i = 0; !is_done && i < 3; i++) {
        const char *const names[] = {"a", "a:b", "d/oci-layout"};

        require(beneath_write_file(place(), names[i], "x", 1, 0600, &err) == 0);
    }
    is_done = true;
}

static void check(const char *text, const char *prefix, const struct source *source)
{
    cleanup_free char *joined = xasprintf("%s%s%s%s", prefix, source->path, source->tag ? ":" : "",
                                          source->tag ? source->tag : "");

    require(strcmp(joined, text) == 0);
    require((source->kind != SOURCE_REGISTRY) == source_is_local(text));
    require(source->kind == SOURCE_REGISTRY || access(source->path, R_OK) == 0);
    require(!source->tag || source->kind != SOURCE_ROOTFS);
}

/* There are no archives in the test directory, so an accepted path is a directory. */
static void check_path(const char *path)
{
    struct source source = {0};
    struct error err = {0};

    if (source_parse(path, &source, &err) < 0) {
        require(err.text[0] && !source.path);
        return;
    }
    require(source.kind == SOURCE_ROOTFS || source.kind == SOURCE_OCI);
    check(path, "", &source);
    source_done(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t form = size ? data[0] % array_length(forms) : 0;
    cleanup_free char *rest = size ? xstrndup((const char *)data + 1, size - 1) : xstrdup("");
    bool is_local = forms[form].kind != SOURCE_REGISTRY;
    cleanup_free char *path = NULL;
    cleanup_free char *text = NULL;
    struct source source = {0};
    struct error err = {0};

    set_up();
    path = xasprintf("%s/%s", place_path, rest);
    text = is_local ? xasprintf("%s%s", forms[form].prefix, path) : xstrdup(rest);
    /* Stay in the test directory. */
    if (strstr(rest, "..") || source_is_local(text) != is_local)
        return 0;
    if (source_parse(text, &source, &err) < 0) {
        require(is_local && err.text[0] && !source.path);
    } else {
        require(source.kind == forms[form].kind);
        check(text, forms[form].prefix, &source);
        source_done(&source);
    }
    check_path(path);
    return 0;
}
