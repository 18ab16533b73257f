/* A tuned matrix product in a program without Python. deploy.sh beside this builds matmul.a and compiles this. */

#include <stdio.h>
#include <stdlib.h>

#include "matmul.h"

enum { M = 384, N = 256, K = 320 };

static float *read_matrix(const char *path, size_t count)
{
    float *matrix = malloc(count * sizeof *matrix);
    FILE *file = fopen(path, "rb");
    if (!matrix || !file || fread(matrix, sizeof *matrix, count, file) != count) {
        fprintf(stderr, "cannot read %zu numbers from %s\n", count, path);
        exit(1);
    }
    fclose(file);
    return matrix;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s A.bin B.bin C.bin\n", argv[0]), 2;
    float *a = read_matrix(argv[1], M * K), *b = read_matrix(argv[2], K * N);
    float *c = malloc(M * N * sizeof *c);

    int status = matmul(a, b, c);
    if (status) return fprintf(stderr, "matmul: %s\n", loopwright_status_text(status)), 1;

    /* An output that overlaps an input is refused. */
    if (matmul(a, b, a) != LOOPWRIGHT_BAD_ARRAY) return 1;

    FILE *file = fopen(argv[3], "wb");
    if (!file || fwrite(c, sizeof *c, M * N, file) != M * N || fclose(file)) return 1;
    free(a), free(b), free(c);
    return 0;
}
