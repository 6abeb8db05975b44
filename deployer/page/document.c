/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/document.h"

#include <stdlib.h>
#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"
#include "common/data/digest.h"

enum { PACKED_MAX = 1 << 20, LEVEL_BEST = 9 };

/* page_document[] to page_document_end[]: the file that the build has assembled. */
__asm__(".pushsection .rodata\n"
        ".global page_document, page_document_end\n"
        ".hidden page_document, page_document_end\n"
        "page_document:\n"
        ".incbin \"" PAGE_DOCUMENT "\"\n"
        "page_document_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char page_document[], page_document_end[];

/* The hash of what is between the tags, as in a Content-Security-Policy. Both tags occur once in
 * the document, which page/files/assemble.cmake and the test check. */
static char *hash_between(const char *begin, const char *end)
{
    const char *from = strstr(page_document, begin) + strlen(begin);

    return digest_sha256_base64(from, (size_t)(strstr(from, end) - from));
}

void document_init(struct document *document)
{
    cleanup_free char *style = hash_between("<style>", "</style>");
    cleanup_free char *script = hash_between("<script type=\"module\">", "</script>");
    struct error err = {0};

    *document = (struct document){.text = page_document,
                                  .size = (size_t)(page_document_end - page_document)};
    document->policy = xasprintf(
        "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        script, style);
    buffer_init(&document->packed, PACKED_MAX);
    if (gzip_pack(document->text, document->size, LEVEL_BEST, &document->packed, &err) < 0)
        buffer_done(&document->packed); /* then it is never sent */
}

void document_done(struct document *document)
{
    buffer_done(&document->packed);
    free(document->policy);
    document->policy = NULL;
}
