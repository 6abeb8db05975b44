/* SPDX-License-Identifier: Apache-2.0 */
/* Import values of an accepted configuration are themselves one document, and a piece of the
 * configuration's own text where that was JSON. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "init/configuration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_configuration struct configuration configuration = {0};
    cleanup_json json_t *imports = NULL;
    cleanup_json json_t *strict = NULL;
    bool is_mended = false;
    struct error err = {0};

    if (configuration_parse((const char *)data, size, &configuration, &err) < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(json_is_object(configuration.doc));
    if (configuration.import_values) {
        must(doc_parse_json_lenient(configuration.import_values,
                                    strlen(configuration.import_values), CONFIGURATION_MAX_BYTES,
                                    &imports, &is_mended, &err) == 0);
        if (doc_parse_json((const char *)data, size, CONFIGURATION_MAX_BYTES, &strict, &err) == 0)
            must(json_equal(imports, doc_member(strict, "importValues")) == 1 || is_mended);
    }
    must(!configuration.resource_name || configuration.has_descriptor);
    return 0;
}
