// One kernel for every size, from C++. deploy.sh beside this builds softmax.a and compiles this.

#include <cmath>
#include <cstdio>
#include <vector>

#include "softmax.h"

int main()
{
    for (int64_t rows : {0, 1, 7, 64}) {
        for (int64_t columns : {1, 5, 128, 1000}) {
            std::vector<float> x(rows * columns), y(rows * columns);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i));
            if (int status = softmax(rows, columns, x.data(), y.data())) {
                std::fprintf(stderr, "softmax: %s\n", loopwright_status_text(status));
                return 1;
            }
            for (int64_t i = 0; i < rows; ++i) {
                double sum = 0;
                for (int64_t j = 0; j < columns; ++j) sum += std::exp(double(x[i * columns + j]));
                for (int64_t j = 0; j < columns; ++j) {
                    double expected = std::exp(double(x[i * columns + j])) / sum;
                    if (std::fabs(y[i * columns + j] - expected) > 1e-5 * expected + 1e-7) return 1;
                }
            }
        }
    }
    // A size that the kernel was not built for is refused.
    float one = 1;
    return softmax(-1, 1, &one, &one) == LOOPWRIGHT_BAD_SIZE ? 0 : 1;
}
