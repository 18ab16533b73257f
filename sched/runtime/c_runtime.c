/* What the kernels of a static library ask of their surroundings, from the C library alone: memory, threads for parallel
   loops, and what this CPU can do. c_library.py compiles it into every static library; a program that links several takes
   it from the first. With LOOPWRIGHT_SERIAL parallel loops run in the thread that calls. */

#define _GNU_SOURCE
#ifndef __linux__
#define LOOPWRIGHT_SERIAL /* the pool sleeps by a system call of Linux */
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INTERNAL __attribute__((visibility("hidden")))

typedef struct { void *sync_handle; int num_task; } Env;
typedef int (*Lambda)(int task, Env *env, void *data);

/* Memory: kernels ask for what does not fit the stack. */

enum { ALIGNMENT = 64 };

static void *allocate(int device, int number, uint64_t bytes, int code, int bits)
{
    (void)device, (void)number, (void)code, (void)bits;
    if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
    size_t whole = ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, whole ? whole : ALIGNMENT);
}

static int release(int device, int number, void *memory)
{
    (void)device, (void)number;
    free(memory);
    return 0;
}

/* Parallel loops. */

#ifdef LOOPWRIGHT_SERIAL

static int launch(Lambda lambda, void *data, int tasks)
{
    Env env = { NULL, tasks > 0 ? tasks : 1 };
    int failed = 0;
    for (int task = 0; task < env.num_task; ++task) failed |= lambda(task, &env, data) != 0;
    return -failed;
}

void loopwright_set_threads(int count) { (void)count; }

#else

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The pool of workers (pool.c), which gives the address of each of its functions by number. */
typedef struct { int type; int padding; long value; } Any;
int __tvm_ffi_pool(void *self, const Any *args, int count, Any *result);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*pool_launch)(Lambda lambda, void *data, int tasks);
static void (*pool_configure)(int limit, long futex);
static void (*pool_forget)(void);

static void *function_of_pool(long number)
{
    Any argument = { 1, 0, number }, result;
    __tvm_ffi_pool(NULL, &argument, 1, &result);
    return (void *)result.value;
}

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void start(void)
{
    pool_launch = (int (*)(Lambda, void *, int))function_of_pool(0);
    pool_configure = (void (*)(int, long))function_of_pool(1);
    pool_forget = (void (*)(void))function_of_pool(3);
    pool_configure(cores(), SYS_futex);
    pthread_atfork(NULL, NULL, pool_forget); /* no worker comes along into a child */
}

static int launch(Lambda lambda, void *data, int tasks)
{
    pthread_once(&once, start);
    return pool_launch(lambda, data, tasks);
}

void loopwright_set_threads(int count)
{
    pthread_once(&once, start);
    pool_configure(count, SYS_futex);
}

#endif

/* Compiled kernels call through these pointers, of which each brings a weak copy that is null. */
INTERNAL void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = allocate;
INTERNAL int (*__TVMBackendFreeWorkspace)(int, int, void *) = release;
INTERNAL int (*__TVMBackendParallelLaunch)(Lambda, void *, int) = launch;

/* What this CPU, and the system on it, can do; the names are LLVM's. */

#if defined(__x86_64__)

#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { EAX, EBX, ECX, EDX };
enum { SSE = 0, AVX = 0x6, AVX512 = 0xe6, AMX = 0x60000 }; /* the registers that the system must save, as in XCR0 */

static const struct { const char *name; unsigned leaf, subleaf, reg, bit, saved; } known_features[] = {
    { "sse3", 1, 0, ECX, 0, SSE },           { "ssse3", 1, 0, ECX, 9, SSE },
    { "fma", 1, 0, ECX, 12, AVX },           { "sse4.1", 1, 0, ECX, 19, SSE },
    { "sse4.2", 1, 0, ECX, 20, SSE },        { "movbe", 1, 0, ECX, 22, SSE },
    { "popcnt", 1, 0, ECX, 23, SSE },        { "avx", 1, 0, ECX, 28, AVX },
    { "f16c", 1, 0, ECX, 29, AVX },          { "lzcnt", 0x80000001, 0, ECX, 5, SSE },
    { "bmi", 7, 0, EBX, 3, SSE },            { "avx2", 7, 0, EBX, 5, AVX },
    { "bmi2", 7, 0, EBX, 8, SSE },           { "avx512f", 7, 0, EBX, 16, AVX512 },
    { "avx512dq", 7, 0, EBX, 17, AVX512 },   { "avx512ifma", 7, 0, EBX, 21, AVX512 },
    { "avx512cd", 7, 0, EBX, 28, AVX512 },   { "avx512bw", 7, 0, EBX, 30, AVX512 },
    { "avx512vl", 7, 0, EBX, 31, AVX512 },   { "avx512vbmi", 7, 0, ECX, 1, AVX512 },
    { "avx512vbmi2", 7, 0, ECX, 6, AVX512 }, { "avx512vnni", 7, 0, ECX, 11, AVX512 },
    { "avx512bitalg", 7, 0, ECX, 12, AVX512 }, { "avx512vpopcntdq", 7, 0, ECX, 14, AVX512 },
    { "amx-bf16", 7, 0, EDX, 22, AMX },      { "avx512fp16", 7, 0, EDX, 23, AVX512 },
    { "amx-tile", 7, 0, EDX, 24, AMX },      { "amx-int8", 7, 0, EDX, 25, AMX },
    { "avxvnni", 7, 1, EAX, 4, AVX },        { "avx512bf16", 7, 1, EAX, 5, AVX512 },
};

static uint64_t saved_registers(void)
{
    unsigned reg[4], low, high;
    if (!__get_cpuid(1, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) || !(reg[ECX] >> 27 & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Linux has to be asked for tiles (ARCH_REQ_XCOMP_PERM), once in a process, or kills it when it uses them. */
static int granted(unsigned saved)
{
    if (saved != AMX) return 1;
#ifdef __linux__
    enum { REQUEST_STATE = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
#else
    return 0;
#endif
}

static int has(const char *name)
{
    for (size_t i = 0; i < sizeof known_features / sizeof *known_features; ++i) {
        unsigned reg[4], saved = known_features[i].saved;
        if (strcmp(name, known_features[i].name)) continue;
        return granted(saved) && __get_cpuid_count(known_features[i].leaf, known_features[i].subleaf, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX])
            && (reg[known_features[i].reg] >> known_features[i].bit & 1) && (saved_registers() & saved) == saved;
    }
    return 0;
}

#elif defined(__APPLE__)

#include <sys/sysctl.h>

static const struct { const char *name, *question; } known_features[] = {
    { "dotprod", "hw.optional.arm.FEAT_DotProd" }, { "fullfp16", "hw.optional.arm.FEAT_FP16" },
    { "bf16", "hw.optional.arm.FEAT_BF16" },       { "i8mm", "hw.optional.arm.FEAT_I8MM" },
};

static int has(const char *name)
{
    for (size_t i = 0; i < sizeof known_features / sizeof *known_features; ++i) {
        int answer = 0;
        size_t size = sizeof answer;
        if (!strcmp(name, known_features[i].name))
            return sysctlbyname(known_features[i].question, &answer, &size, NULL, 0) == 0 && answer;
    }
    return !strcmp(name, "neon");
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

static const struct { const char *name; unsigned long word; unsigned bit; } known_features[] = {
    { "neon", AT_HWCAP, 1 },  { "fullfp16", AT_HWCAP, 10 }, { "dotprod", AT_HWCAP, 20 }, { "sve", AT_HWCAP, 22 },
    { "sve2", AT_HWCAP2, 1 }, { "i8mm", AT_HWCAP2, 13 },    { "bf16", AT_HWCAP2, 14 },
};

static int has(const char *name)
{
    for (size_t i = 0; i < sizeof known_features / sizeof *known_features; ++i)
        if (!strcmp(name, known_features[i].name)) return getauxval(known_features[i].word) >> known_features[i].bit & 1;
    return 0;
}

#elif defined(__riscv)

#include <stdio.h>
#include <sys/auxv.h>

/* The first line of /proc/cpuinfo that names extensions: isa : rv64imafdcv_zba_zbb */
static int in_cpuinfo(const char *name)
{
    char line[1024], *word, *rest = NULL;
    int found = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !rest && fgets(line, sizeof line, file))
        if (!strncmp(line, "isa", 3)) strtok_r(line, "_\n", &rest);
    while (rest && !found && (word = strtok_r(NULL, "_\n", &rest))) found = !strcmp(word, name);
    if (file) fclose(file);
    return found;
}

static int has(const char *name)
{
    unsigned long letters = getauxval(AT_HWCAP), bytes;
    if (!name[1]) return letters >> (name[0] - 'a') & 1;
    if (strcmp(name, "zvl256b")) return in_cpuinfo(name);
    if (!has("v")) return 0;
    __asm__ volatile(".insn i 0x73, 2, %0, x0, -990" : "=r"(bytes)); /* csrr bytes, vlenb */
    return bytes >= 32;
}

#else

/* No other kind of CPU has features that a kernel can ask for. */
static int has(const char *name) { return (void)name, 0; }

#endif

/* Whether this CPU has all the features of a list that ends with NULL. `known` keeps the answer: 1 yes, -1 no, 0 not asked. */
INTERNAL int loopwright_cpu_fits(const char *const *names, int *known)
{
    int answer = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (answer) return answer > 0;
    for (answer = 1; *names; ++names)
        if (!has(*names)) answer = -1;
    __atomic_store_n(known, answer, __ATOMIC_RELAXED);
    return answer > 0;
}

const char *loopwright_status_text(int status)
{
    static const char *const texts[] = {
        "done",
        "a size is out of its bounds; nothing was computed",
        "a null or misaligned pointer, or an output that overlaps another array; nothing was computed",
        "this CPU lacks an instruction set that the kernel was built for; nothing was computed",
        "out of memory; what the outputs hold is undefined",
        "a C function that computes a stage reported a failure; what the outputs hold is undefined",
    };
    return status >= 0 && status < (int)(sizeof texts / sizeof *texts) ? texts[status] : "no status of Loopwright's";
}
