/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any kubeconfig gives either a configuration that follows the rules (https or no
 * credentials, certificate and key both or neither, no file read) or an error with a text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/config_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_kube_config struct kube_config *config = NULL;
    struct error err = {0};

    doc_setup();
    if (kube_config_from_text(text, &config, &err) < 0) {
        must(err.kind != ERROR_NONE && err.text[0] && !config);
        return 0;
    }
    must(strncmp(config->server, "https://", 8) == 0 ||
         (strncmp(config->server, "http://", 7) == 0 && !config->token && !config->user &&
          !config->cert_pem));
    must(!config->cert_pem == !config->key_pem);
    must(!config->token_file);
    must(!strpbrk(config->server, "?#@ \t\r\n"));
    must(!config->ca_pem || strstr(config->ca_pem, "-----BEGIN "));
    must(kube_config_check(config, &err) == 0);
    return 0;
}
