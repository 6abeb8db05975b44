/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/images.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/reference.h"

void image_name_done(struct image_name *name)
{
    free(name->location);
    free(name->key);
    free(name->digest);
    *name = (struct image_name){0};
}

int image_name_parse(const char *text, struct image_name *ret_name, struct error *err)
{
    cleanup_reference struct reference *reference = NULL;
    const char *digest = strchr(text, '@');
    cleanup_free char *name = xstrndup(text, digest ? (size_t)(digest - text) : strlen(text));
    const char *slash = strrchr(name, '/'), *repository, *last;

    /* Everything but the tag, which is dropped there if there is a digest. */
    if (reference_parse(text, &reference, err))
        return -1;
    repository = reference_repository(reference);
    last = strrchr(repository, '/');
    *ret_name = (struct image_name){
        .location = last ? xasprintf("%s/%.*s", reference_host(reference), (int)(last - repository),
                                     repository)
                         : xstrdup(reference_host(reference)),
        .key = xstrdup(slash ? slash + 1 : name),
        .digest = xstrdup(digest ? digest + 1 : ""),
    };
    return 0;
}

/* The replacement for an image, borrowed from images; NULL: none. */
static const char *find_replacement(const char *image, const json_t *images, struct error *err)
{
    cleanup_image_name struct image_name wanted = {0};
    size_t i;
    json_t *candidate;

    if (image_name_parse(image, &wanted, err))
        return NULL;
    json_array_foreach(doc_writable(images), i, candidate)
    {
        cleanup_image_name struct image_name name = {0};
        struct error ignored = {0};

        if (json_is_string(candidate) &&
            image_name_parse(json_string_value(candidate), &name, &ignored) == 0 &&
            strcmp(name.key, wanted.key) == 0)
            return json_string_value(candidate);
    }
    return NULL;
}

static int localize_container(json_t *container, const json_t *images, struct error *err)
{
    const char *image = doc_text(container, "image");
    struct error problem = {0};
    size_t i;
    json_t *variable;

    if (image) {
        const char *replacement = find_replacement(image, images, &problem);

        if (problem.kind) {
            *err = problem;
            return error_wrap(err, "container %s: image \"%.200s\"",
                              doc_text_or(container, "name", "without a name"), image);
        }
        if (replacement)
            doc_set_text(container, "image", replacement);
    }
    json_array_foreach(json_object_get(container, "env"), i, variable)
    {
        const char *value = doc_text(variable, "value");
        struct error ignored = {0}; /* most values are not images */
        const char *replacement = value ? find_replacement(value, images, &ignored) : NULL;

        if (replacement)
            doc_set_text(variable, "value", replacement);
    }
    return 0;
}

int images_localize(json_t *object, const json_t *images, struct error *err)
{
    static const char *const lists[] = {"spec.template.spec.initContainers",
                                        "spec.template.spec.containers"};
    const char *kind = doc_text_or(object, "kind", "");

    if (json_array_size(images) == 0 ||
        strncmp(doc_text_or(object, "apiVersion", ""), "apps/", strlen("apps/")) != 0 ||
        (strcmp(kind, "Deployment") != 0 && strcmp(kind, "StatefulSet") != 0))
        return 0;
    for (size_t list = 0; list < array_length(lists); list++) {
        size_t i;
        json_t *container;

        json_array_foreach(
            doc_writable(doc_get(object, lists[list])), i,
            container) if (localize_container(container, images,
                                              err)) return error_wrap(err, "%s %s", kind,
                                                                      doc_text_or(object,
                                                                                  "metadata.name",
                                                                                  ""));
    }
    return 0;
}
