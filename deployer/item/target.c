/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/target.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/validation/text.h"

const char *target_secret_name(const json_t *target)
{
    const char *name = doc_text(target, "spec.secretRef.name");

    return name && *name ? name : NULL;
}

/* The bytes of one key of a Secret. */
static int secret_value(const json_t *secret, const char *key, struct buffer *ret_value,
                        struct error *err)
{
    const json_t *value = doc_member(doc_member(secret, "data"), key);
    const char *name = doc_text_or(secret, "metadata.name", "");

    if (!json_is_string(value))
        return error_set(err, ERROR_INVALID, "secret \"%s\" of the target has no key \"%s\"", name,
                         key);
    if (base64_decode(json_string_value(value), json_string_length(value), ret_value, err) < 0)
        return error_set(err, ERROR_INVALID,
                         "secret \"%s\" of the target: key \"%s\" is not valid base64", name, key);
    return 0;
}

/* {"key": <value parsed as YAML>} for all keys, sorted. */
static int whole_secret(const json_t *secret, struct buffer *ret_content, struct error *err)
{
    const char *name = doc_text_or(secret, "metadata.name", "");
    json_t *data = json_object_get(secret, "data");
    cleanup_json json_t *all = json_object();
    cleanup_wipe char *text = NULL;
    const char *key = NULL;
    json_t *encoded = NULL;

    json_object_foreach(data, key, encoded)
    {
        cleanup_buffer struct buffer value = {0};
        json_t *parsed = NULL;

        buffer_init(&value, SECRET_MAX_BYTES);
        if (secret_value(secret, key, &value, err) < 0)
            return -1;
        /* The message of the parser could quote the value. */
        if (doc_parse_yaml(value.data ? value.data : "", value.size, SECRET_MAX_BYTES, &parsed,
                           err) < 0)
            return error_set(err, ERROR_INVALID,
                             "secret \"%s\" of the target: the value of key \"%s\" is not valid "
                             "YAML; set spec.secretRef.key to pass the value on unchanged",
                             name, key);
        (void)json_object_set_new(all, key, parsed);
    }
    text = doc_dump_sorted(all);
    return buffer_append(ret_content, text, strlen(text), err);
}

int target_content(const json_t *target, const json_t *secret, struct buffer *ret_content,
                   struct error *err)
{
    const char *secret_name = target_secret_name(target);
    const char *key = doc_text(target, "spec.secretRef.key");
    const json_t *config = doc_get(target, "spec.config");
    cleanup_wipe char *text = NULL;

    if (secret_name && !secret)
        return error_set(err, ERROR_INVALID, "secret \"%s\" of the target is missing", secret_name);
    if (secret_name && key && *key)
        return secret_value(secret, key, ret_content, err);
    if (secret_name)
        return whole_secret(secret, ret_content, err);
    if (!config || json_is_null(config))
        return 0;
    text = doc_dump(config);
    return buffer_append(ret_content, text, strlen(text), err);
}

char *target_document(const json_t *target, const char *content, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *text = NULL;

    if (!target)
        return xstrdup("null");
    text = doc_new_string(content, size);
    doc = json_pack("{s:{s:s,s:s,s:O?,s:O?},s:O}", "target", "apiVersion", LANDSCAPER_API_VERSION,
                    "kind", KIND_TARGET, "metadata", json_object_get(target, "metadata"), "spec",
                    json_object_get(target, "spec"), "content", text);
    return doc_dump(doc);
}

static bool is_set(const json_t *object, const char *key)
{
    const json_t *value = doc_member(object, key);

    return value && !json_is_null(value) && !json_is_false(value) &&
           !(json_is_string(value) && json_string_length(value) == 0) &&
           !(json_is_array(value) && json_array_size(value) == 0);
}

static int check_user(const json_t *entry, struct error *err)
{
    static const struct {
        const char *key, *what;
    } forbidden[] = {
        {"client-certificate", "client certificate files are"},
        {"client-key", "client key files are"},
        {"tokenFile", "token files are"},
        {"as", "impersonation is"},
        {"as-uid", "impersonation is"},
        {"as-groups", "impersonation of groups is"},
        {"as-user-extra", "impersonation is"},
        {"exec", "exec plug-ins are"},
    };
    const json_t *user = doc_member(entry, "user");
    const json_t *provider = doc_member(user, "auth-provider");
    const char *name = doc_text_or(entry, "name", "");

    if (!json_is_object(entry) || (user && !json_is_object(user) && !json_is_null(user)))
        return error_set(err, ERROR_INVALID, "the target's kubeconfig: users must be objects");
    for (size_t i = 0; i < array_length(forbidden); i++) {
        if (is_set(user, forbidden[i].key))
            return error_set(err, ERROR_INVALID,
                             "%s not supported in a target kubeconfig: user \"%s\" has \"%s\"; use "
                             "inline data or a token",
                             forbidden[i].what, name, forbidden[i].key);
    }
    if (json_object_size(doc_member(provider, "config")) > 0)
        return error_set(err, ERROR_INVALID,
                         "auth providers are not supported in a target kubeconfig: user \"%s\" has "
                         "'auth-provider'; use inline data or a token",
                         name);
    return 0;
}

static int check_kubeconfig(const json_t *config, struct error *err)
{
    static const char *const lists[] = {"clusters", "contexts", "users"};
    const json_t *users = doc_member(config, "users");

    if (!json_is_object(config))
        return error_set(
            err, ERROR_INVALID,
            "the target's content is not a kubeconfig; deployers accept only content that "
            "is an object, such as {\"token\": \"...\"}");
    if (strcmp(doc_text_or(config, "kind", "Config"), "Config") != 0 ||
        strcmp(doc_text_or(config, "apiVersion", "v1"), "v1") != 0)
        return error_set(
            err, ERROR_INVALID,
            "the target's kubeconfig has kind \"%s\" and apiVersion \"%s\", expected Config and v1",
            doc_text_or(config, "kind", "Config"), doc_text_or(config, "apiVersion", "v1"));
    for (size_t i = 0; i < array_length(lists); i++) {
        const json_t *list = doc_member(config, lists[i]);

        if (list && !json_is_array(list) && !json_is_null(list))
            return error_set(err, ERROR_INVALID, "the target's kubeconfig: \"%s\" must be a list",
                             lists[i]);
    }
    for (size_t i = 0; i < json_array_size(users); i++) {
        if (check_user(json_array_get(users, i), err) < 0)
            return -1;
    }
    return 0;
}

int target_validate(const char *content, size_t size, struct error *err)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *kubeconfig = NULL;
    const json_t *inner = NULL;

    if (size == 0)
        return 0;
    if (doc_parse_yaml(content, size, SECRET_MAX_BYTES, &doc, err) < 0)
        return error_set(err, ERROR_INVALID, "the target's content is not a YAML document");
    inner = doc_member(doc, "kubeconfig");
    if (!inner && !doc_member(doc, "oidcConfig") && !doc_member(doc, "selfConfig") &&
        !doc_member(doc, TARGET_HOST_CONFIG))
        return json_is_null(doc) ? 0 : check_kubeconfig(doc, err);
    if (!inner || json_is_null(inner))
        return 0;
    if (!json_is_string(inner))
        return check_kubeconfig(inner, err);
    if (json_string_length(inner) == 0)
        return 0;
    if (doc_parse_yaml(json_string_value(inner), json_string_length(inner), SECRET_MAX_BYTES,
                       &kubeconfig, err) < 0)
        return error_set(err, ERROR_INVALID, "the target's kubeconfig is not a YAML document");
    return check_kubeconfig(kubeconfig, err);
}
