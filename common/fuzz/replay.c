/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzzer over every file of its corpus without libFuzzer, so that ctest replays what fuzzing
 * has found. A missing or empty corpus is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    cleanup_file FILE *file = fopen(path, "rbe");
    cleanup_free uint8_t *data = NULL;
    long size = 0;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        perror(path);
        return -1;
    }
    rewind(file);
    data = xmalloc((size_t)size + 1);
    if (fread(data, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        return -1;
    }
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    return 0;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        const struct dirent *entry = NULL;

        if (!directory) {
            perror(argv[i]);
            return EXIT_FAILURE;
        }
        while ((entry = readdir(directory))) {
            cleanup_free char *path = NULL;

            if (entry->d_name[0] == '.')
                continue;
            path = xasprintf("%s/%s", argv[i], entry->d_name);
            if (replay_file(path) < 0)
                return EXIT_FAILURE;
            count++;
        }
        (void)closedir(directory);
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
