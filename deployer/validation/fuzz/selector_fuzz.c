/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a selector with only invalid elements matches no target; adding an element never
 * makes a target match less. Input: a selector, then a target. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/tests/sample.h"
#include "deployer/validation/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *docs = NULL;
    cleanup_json json_t *more = NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_mistakes struct mistakes ignored = {0};
    cleanup_selector struct selector *selector = NULL;
    cleanup_selector struct selector *wider = NULL;
    json_t *list = NULL;
    const json_t *target = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml_stream((const char *)data, size, 1 << 20, &docs, &err) < 0)
        return 0;
    list = json_array_get(docs, 0);
    target = json_array_get(docs, 1);
    selector = selector_parse(list, "s", &mistakes);
    if (!selector_matches(selector, NULL))
        abort();
    if (!json_is_array(list) || json_array_size(list) == 0)
        return 0;
    more = json_deep_copy(list);
    (void)json_array_append_new(more, sample_doc("{targets: [{name: nobody}]}"));
    wider = selector_parse(more, "s", &ignored);
    if (selector_matches(selector, target) && !selector_matches(wider, target))
        abort();
    if (json_array_size(list) == 1 && mistakes.errors > 0 && target &&
        !json_is_object(json_array_get(list, 0)) && selector_matches(selector, target))
        abort();
    return 0;
}
