/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a provider configuration. Property: import values of an accepted one are a document, and
 * part of the text of the configuration if that is JSON. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/data/lexer.h"
#include "common/fuzz/must.h"
#include "init/configuration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_configuration struct configuration configuration = {0};
    cleanup_json json_t *imports = NULL;
    cleanup_json json_t *strict = NULL;
    struct error err = {0};

    if (configuration_parse((const char *)data, size, &configuration, &err) < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(json_is_object(configuration.doc));
    if (configuration.import_values) {
        size_t imports_size = strlen(configuration.import_values);

        must(lexer_check(configuration.import_values, imports_size) == NULL);
        if (doc_parse_json((const char *)data, size, CONFIGURATION_MAX_BYTES, &strict, &err) == 0) {
            must(doc_parse_json(configuration.import_values, imports_size, CONFIGURATION_MAX_BYTES,
                                &imports, &err) == 0);
            must(json_equal(imports, doc_member(strict, "importValues")));
        }
    }
    must(!configuration.resource_name || configuration.has_descriptor);
    return 0;
}
