/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/leading_file.h"

#include <string.h>

#include "common/archive/tar_writer.h"

int leading_file_pack(const char *name, const char *text, pack_write_fn *write, void *data,
                      struct error *err)
{
    cleanup_tar_writer struct tar_writer *writer = tar_writer_new(write, data);
    const struct tar_header header = {
        .name = name, .type = '0', .mode = 0644, .size = strlen(text)};

    if (tar_writer_header(writer, &header, err) < 0 ||
        tar_writer_data(writer, text, header.size, err) < 0 ||
        tar_writer_pad(writer, header.size, err) < 0)
        return -1;
    return tar_writer_finish_open(writer, err);
}
