/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a self-signed certificate and its key in memory, so that none in the repository expires. */
#pragma once

struct certificate {
    char *cert_pem, *key_pem;
};

/* alt_name as OpenSSL writes it ("IP:127.0.0.1"), or NULL for none. */
void certificate_make(struct certificate *certificate, const char *common_name,
                      const char *alt_name);
void certificate_done(struct certificate *certificate);
