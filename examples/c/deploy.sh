#!/usr/bin/env bash
# From operators to programs in C and C++: static libraries that need nothing but the C library.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
loopwright build ops.matmul M=384 N=256 K=320 -o "$out/matmul.a"
loopwright build "$here/operators.py:softmax" -o "$out/softmax.a"
cd "$out"
gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I. "$here/matmul.c" matmul.a -lm -lpthread -o matmul
g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I. "$here/softmax.cpp" softmax.a -lm -lpthread -o softmax
./softmax
python - <<'P'
import subprocess, numpy as np
rng = np.random.default_rng(0)
a, b = rng.standard_normal((384, 320), dtype="f"), rng.standard_normal((320, 256), dtype="f")
a.tofile("a.bin"), b.tofile("b.bin")
subprocess.run(["./matmul", "a.bin", "b.bin", "c.bin"], check=True)
np.testing.assert_allclose(np.fromfile("c.bin", "f").reshape(384, 256), a @ b, rtol=1e-3, atol=1e-3)
P
echo ok
