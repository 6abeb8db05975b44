/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a rendered file into documents. Properties: an error names the file; otherwise every
 * document is an object, and each has the label of the item if it has metadata. The same bytes are
 * also read as what templates see: that is an object, or an error. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/helm/rendered.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_label(const json_t *object)
{
    const json_t *metadata = doc_member(object, "metadata");
    const char *label =
        json_string_value(doc_member(doc_member(metadata, "labels"), LABEL_HELM_ITEM));

    must(!json_is_object(metadata) || (label && strcmp(label, "item") == 0));
}

static void check(const struct plan_input *input)
{
    const json_t *items = doc_member(input->manifest, "items");
    const char *kind = doc_text_or(input->manifest, "kind", "");
    bool is_list = json_is_array(items) && (!*kind || strstr(kind, "List"));

    must(json_is_object(input->manifest));
    must(strstr(input->source, "a.yaml") != NULL);
    if (!is_list)
        check_label(input->manifest);
}

static void check_seen(const char *text, size_t size)
{
    cleanup_rendered struct rendered rendered = {0};
    cleanup_json json_t *seen = NULL;
    struct error err = {0};

    rendered_add(&rendered, "rendered/app/" FILE_HELM_SEEN, text, size);
    must(rendered.count == 0);
    must(rendered_values(&rendered, &seen, &err) < 0 ||
         json_is_object(json_object_get(seen, "Chart")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = NULL;
    cleanup_json json_t *document = NULL;
    cleanup_manifest_config struct manifest_config *config = NULL;
    cleanup_rendered struct rendered rendered = {0};
    json_t *exports = NULL;
    struct error err = {0};

    doc_setup();
    if (size == 0 || memchr(data, '\0', size))
        return 0; /* not a text: see unpack_texts.h */
    text = xstrndup((const char *)data, size);
    check_seen(text, size);
    rendered_add(&rendered, "rendered/app/a.yaml", text, size);
    document = json_pack("{s:s,s:s,s:{s:s},s:b}", "name", "app", "namespace", "apps", "chart",
                         "ref", "r.example/a:1", "helmDeployment", 0);
    if (rendered_config(&rendered, document, "item", &config, &exports, &err) < 0) {
        must(strstr(err.text, "app/a.yaml") != NULL);
        return 0;
    }
    must(exports == NULL);
    for (size_t i = 0; i < config->input_count; i++)
        check(&config->inputs[i]);
    return 0;
}
