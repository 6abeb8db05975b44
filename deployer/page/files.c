/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/files.h"

#include <string.h>

#include "common/base/cleanup.h"

/* Defines symbol[] and symbol_end[] with the content of a file of files/. */
#define EMBED(symbol_, file_)                                                                      \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #symbol_ ", " #symbol_ "_end\n"                                             \
            ".hidden " #symbol_ ", " #symbol_ "_end\n" #symbol_ ":\n"                              \
            ".incbin \"" PAGE_FILES "/" file_ "\"\n" #symbol_ "_end:\n"                            \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const unsigned char symbol_[], symbol_##_end[]

EMBED(page_index_html, "index.html");
EMBED(page_css, "page.css");
EMBED(page_js, "page.js");
EMBED(page_view, "view.js");
EMBED(page_icon, "icon.svg");

const struct page_file *page_file_find(const char *name)
{
    static struct page_file files[] = {
        {"", "text/html; charset=utf-8", page_index_html, 0},
        {"page.css", "text/css; charset=utf-8", page_css, 0},
        {"page.js", "text/javascript; charset=utf-8", page_js, 0},
        {"view.js", "text/javascript; charset=utf-8", page_view, 0},
        {"icon.svg", "image/svg+xml", page_icon, 0},
    };
    static const unsigned char *const ends[] = {page_index_html_end, page_css_end, page_js_end,
                                                page_view_end, page_icon_end};

    for (size_t i = 0; i < array_length(files); i++) {
        if (strcmp(files[i].name, name) == 0) {
            files[i].size = (size_t)(ends[i] - files[i].data);
            return &files[i];
        }
    }
    return NULL;
}
