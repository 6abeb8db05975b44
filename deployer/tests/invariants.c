/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/tests/invariants.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/contract.h"
#include "common/data/doc.h"

static json_t *find_named(json_t *list, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);

        if (strcmp(doc_text_or(entry, "name", ""), name) == 0) {
            *ret_index = i;
            return entry;
        }
    }
    return NULL;
}

static json_t *container_of(json_t *pod, const char *name)
{
    size_t index = 0;

    return find_named(json_object_get(json_object_get(pod, "spec"), "containers"), name, &index);
}

static json_t *main_of(json_t *pod)
{
    return container_of(pod, CONTAINER_MAIN);
}

/* An item can set the grace period of main, which is passed to wait. */
static void strip_grace(json_t *pod)
{
    json_t *env = json_object_get(container_of(pod, CONTAINER_WAIT), "env");
    size_t index = 0;

    (void)json_object_del(json_object_get(pod, "spec"), "terminationGracePeriodSeconds");
    if (find_named(env, ENV_MAIN_GRACE_SECONDS, &index))
        (void)json_array_remove(env, index);
}

/* The item's own variables follow those of the contract and override none of them. */
static const char *strip_env(json_t *main_container, size_t contract_count)
{
    json_t *env = json_object_get(main_container, "env");

    for (size_t i = contract_count; i < json_array_size(env); i++) {
        const json_t *own = json_array_get(env, i);

        if (doc_member(own, "valueFrom") || json_object_size(own) > 2)
            return "a variable of the item is more than name and value";
        for (size_t j = 0; j < i; j++) {
            if (strcmp(doc_text_or(json_array_get(env, j), "name", ""),
                       doc_text_or(own, "name", "")) == 0)
                return "a variable is set twice";
        }
    }
    while (json_array_size(env) > contract_count)
        (void)json_array_remove(env, json_array_size(env) - 1);
    return NULL;
}

/* A script's files: some keys of the input Secret that are files, read-only, into main only. */
static const char *strip_script(json_t *pod)
{
    json_t *volumes = json_object_get(json_object_get(pod, "spec"), "volumes");
    json_t *mounts = json_object_get(main_of(pod), "volumeMounts");
    size_t volume_index = 0;
    size_t mount_index = 0;
    const json_t *volume = find_named(volumes, VOLUME_SCRIPT, &volume_index);
    const json_t *mount = find_named(mounts, VOLUME_SCRIPT, &mount_index);
    const json_t *items = doc_get(volume, "secret.items");

    if (!volume && !mount)
        return NULL;
    if (!volume || !mount || !doc_bool_or(mount, "readOnly", false) ||
        strcmp(doc_text_or(mount, "mountPath", ""), PATH_SCRIPT_DIR) != 0 ||
        doc_member(mount, "subPath") || doc_integer_or(volume, "secret.defaultMode", 0) != 0555)
        return "the script is mounted in another way";
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);

        if (strncmp(doc_text_or(item, "key", ""), "file-", 5) != 0 ||
            strchr(doc_text_or(item, "path", "/"), '/') ||
            strncmp(doc_text_or(item, "path", ".."), "..", 2) == 0)
            return "main would see an input that is not a file of the script";
    }
    (void)json_array_remove(volumes, volume_index);
    (void)json_array_remove(mounts, mount_index);
    return NULL;
}

const char *invariants_broken(const json_t *pod, const json_t *plain)
{
    static const char *const of_main[] = {"image", "command", "args", "imagePullPolicy",
                                          "resources"};
    static const char *const of_pod[] = {"nodeSelector", "tolerations", "runtimeClassName"};
    cleanup_json json_t *copy = json_deep_copy(pod);
    cleanup_json json_t *expected = json_deep_copy(plain);
    json_t *both[] = {copy, expected};
    const char *broken =
        strip_env(main_of(copy), json_array_size(json_object_get(main_of(expected), "env")));

    if (!broken)
        broken = strip_script(copy);
    for (size_t i = 0; i < array_length(both); i++) {
        for (size_t j = 0; j < array_length(of_main); j++)
            (void)json_object_del(main_of(both[i]), of_main[j]);
        strip_grace(both[i]);
        for (size_t j = 0; j < array_length(of_pod); j++)
            (void)json_object_del(json_object_get(both[i], "spec"), of_pod[j]);
    }
    if (broken)
        return broken;
    return json_equal(copy, expected) ? NULL : "something else of the pod has changed";
}
