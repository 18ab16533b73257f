/* A CUDA device that is this CPU, for tests: what TVM's runtime asks of NVIDIA's libraries, and no more.

   Memory is memory. A module is a shared library that nvcc.py made of CUDA source; the threads of a block take turns on one
   stack each, from barrier to barrier. A block of which some threads wait for others that have ended fails its launch. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, NO_MEMORY = 2, NO_DEVICE = 100, LAUNCH_FAILED = 719, MOST_ARGUMENTS = 16, STACK = 64 << 10 };

typedef struct { unsigned x, y, z; } Index;
typedef struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } Config;
typedef struct { void *library; } Module;
typedef struct { void *code; Index *thread, *block; void (**wait)(void); int arguments; } Kernel;
typedef struct Launch { Kernel kernel; Config config; void *arguments[MOST_ARGUMENTS]; struct Launch *next; } Launch;
typedef struct { Launch *first, **last; } Graph;

static Graph *captured;
static int failed;

/* What a test calls to have the device fail for good, as a kernel that reaches beyond all memory does. */
void emulated_failure(void) { failed = LAUNCH_FAILED; }

/* The device. */

int cudaGetDeviceCount(int *count) {
  *count = getenv("EMULATED_CUDA_NONE") ? 0 : 1;
  return *count ? 0 : NO_DEVICE;
}
int cudaGetDevice(int *device) { *device = 0; return 0; }
int cudaSetDevice(int device) { return device ? NO_DEVICE : 0; }
int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  static const int known[][2] = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {8, 49152}, {10, 32}, {16, 4},
                                 {38, 1 << 20}, {75, 9}, {76, 0}, {97, 232448}};
  (void)device;
  *value = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i][0] == attribute) *value = known[i][1];
  return 0;
}
int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  snprintf(name, length, "Emulated GPU");
  return 0;
}
int cudaDriverGetVersion(int *version) { *version = 13000; return 0; }

/* Memory. */

int cudaMalloc(void **memory, size_t bytes) { return posix_memalign(memory, 256, bytes ? bytes : 1) ? NO_MEMORY : 0; }
int cudaFree(void *memory) { free(memory); return 0; }
int cudaMemGetInfo(size_t *unused, size_t *all) { *unused = *all = (size_t)1 << 30; return 0; }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  (void)kind, (void)stream;
  memmove(to, from, bytes);
  return failed;
}
int cudaMemsetAsync(void *memory, int value, size_t bytes, void *stream) {
  (void)stream;
  memset(memory, value, bytes);
  return failed;
}

/* Modules: a library's bytes, of which its own head says how many there are. */

int cuModuleLoadData(Module **module, const void *image) {
  const Elf64_Ehdr *head = image;
  size_t bytes = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
  int file = memfd_create("kernels", 0);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (file < 0 || write(file, image, bytes) != (ssize_t)bytes) return LAUNCH_FAILED;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), LAUNCH_FAILED;
  *module = malloc(sizeof **module);
  (*module)->library = library;
  return 0;
}
int cuModuleUnload(Module *module) { (void)module; return 0; }
int cuModuleGetFunction(Kernel **kernel, Module *module, const char *name) {
  char arguments[512];
  snprintf(arguments, sizeof arguments, "%s_arguments", name);
  int *count = dlsym(module->library, arguments);
  Kernel found = {dlsym(module->library, name), dlsym(module->library, "threadIdx"),
                  dlsym(module->library, "blockIdx"), dlsym(module->library, "emulated_wait"), count ? *count : 0};
  if (!found.code || !count) return LAUNCH_FAILED;
  *kernel = malloc(sizeof **kernel);
  **kernel = found;
  return 0;
}
int cuFuncSetAttribute(void) { return 0; }

/* Launches: a thread runs until it waits or ends, and then the next one does. */

static ucontext_t turns, *threads;
static unsigned char *ended;
static size_t running;
static Launch *launched;

static void wait_here(void) { swapcontext(&threads[running], &turns); }

static void thread_body(void) {
  void **a = launched->arguments;
  ((void (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
             void *, void *))launched->kernel.code)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                                                    a[12], a[13], a[14], a[15]);
  ended[running] = 1;
  swapcontext(&threads[running], &turns);
}

static int run_block(size_t count, char *stacks) {
  Index *index = launched->kernel.thread;
  unsigned *block = launched->config.block;
  for (size_t t = 0; t < count; t++) {
    getcontext(&threads[t]);
    threads[t].uc_stack.ss_sp = stacks + t * STACK;
    threads[t].uc_stack.ss_size = STACK;
    makecontext(&threads[t], thread_body, 0);
  }
  memset(ended, 0, count);
  for (size_t left = count; left;) {
    for (running = 0; running < count; running++) {
      *index = (Index){running % block[0], running / block[0] % block[1], running / block[0] / block[1]};
      swapcontext(&turns, &threads[running]);
      left -= ended[running];
    }
    if (left && left < count) return LAUNCH_FAILED;
  }
  return 0;
}

static int run(Launch *launch) {
  unsigned *grid = launch->config.grid, *block = launch->config.block;
  size_t count = (size_t)block[0] * block[1] * block[2];
  char *stacks = malloc(count * STACK);
  threads = malloc(count * sizeof *threads), ended = malloc(count), launched = launch;
  *launch->kernel.wait = wait_here;
  int wrong = 0;
  for (unsigned z = 0; z < grid[2] && !wrong; z++)
    for (unsigned y = 0; y < grid[1] && !wrong; y++)
      for (unsigned x = 0; x < grid[0] && !wrong; x++) {
        *launch->kernel.block = (Index){x, y, z};
        wrong = run_block(count, stacks);
      }
  free(stacks), free(threads), free(ended);
  return wrong;
}

int cuLaunchKernelEx(const Config *config, Kernel *kernel, void **arguments, void **more) {
  (void)more;
  const unsigned *g = config->grid, *b = config->block;
  if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2] || b[0] * b[1] * b[2] > 1024 || b[2] > 64) return INVALID_VALUE;
  Launch *launch = calloc(1, sizeof *launch);
  launch->kernel = *kernel, launch->config = *config;
  for (int n = 0; n < kernel->arguments; n++) launch->arguments[n] = *(void **)arguments[n];
  if (captured) {
    *captured->last = launch, captured->last = &launch->next;
    return 0;
  }
  failed = run(launch); /* said by whoever waits for it, as a device does */
  free(launch);
  return 0;
}

/* Streams, graphs, events. */

int cudaStreamCreate(void **stream) { *stream = malloc(1); return 0; }
int cudaStreamCreateWithFlags(void **stream, unsigned flags) { (void)flags; return cudaStreamCreate(stream); }
int cudaStreamDestroy(void *stream) { free(stream); return 0; }
int cudaStreamSynchronize(void *stream) { (void)stream; return failed; }
int cudaStreamWaitEvent(void) { return 0; }
int cudaStreamBeginCapture(void *stream, int mode) {
  (void)stream, (void)mode;
  captured = calloc(1, sizeof *captured);
  captured->last = &captured->first;
  return 0;
}
int cudaStreamEndCapture(void *stream, Graph **graph) { (void)stream; *graph = captured, captured = NULL; return 0; }
int cudaGraphInstantiate(Graph **made, Graph *graph, unsigned long long flags) { (void)flags; *made = graph; return 0; }
int cudaGraphLaunch(Graph *graph, void *stream) {
  (void)stream;
  for (Launch *launch = graph->first; launch && !failed; launch = launch->next) failed = run(launch);
  return 0;
}
int cudaGraphDestroy(Graph *graph) { (void)graph; return 0; }
int cudaGraphExecDestroy(Graph *graph) {
  for (Launch *launch = graph->first, *next; launch; launch = next) next = launch->next, free(launch);
  free(graph);
  return 0;
}
int cudaEventCreate(struct timespec **event) { *event = malloc(sizeof **event); return 0; }
int cudaEventDestroy(struct timespec *event) { free(event); return 0; }
int cudaEventRecord(struct timespec *event, void *stream) { (void)stream; return clock_gettime(CLOCK_MONOTONIC, event); }
int cudaEventSynchronize(struct timespec *event) { (void)event; return failed; }
int cudaEventElapsedTime(float *milliseconds, const struct timespec *from, const struct timespec *to) {
  *milliseconds = (to->tv_sec - from->tv_sec) * 1e3f + (to->tv_nsec - from->tv_nsec) * 1e-6f;
  return failed;
}

/* Errors. */

const char *cudaGetErrorName(int error) {
  switch (error) {
    case INVALID_VALUE: return "cudaErrorInvalidValue";
    case NO_MEMORY: return "cudaErrorMemoryAllocation";
    case NO_DEVICE: return "cudaErrorNoDevice";
    default: return "cudaErrorLaunchFailure";
  }
}
const char *cudaGetErrorString(int error) {
  switch (error) {
    case INVALID_VALUE: return "invalid argument";
    case NO_MEMORY: return "out of memory";
    case NO_DEVICE: return "no CUDA-capable device is detected";
    default: return "unspecified launch failure";
  }
}
int cuGetErrorName(int error, const char **name) { *name = cudaGetErrorName(error); return 0; }
int cuGetErrorString(int error, const char **text) { *text = cudaGetErrorString(error); return 0; }
int cudaGetLastError(void) { return failed; }
int cudaPeekAtLastError(void) { return failed; }

/* What TVM's library has to find, and never calls here. */

int cudaGetDeviceProperties(void) { abort(); }
int cudaMallocHost(void) { abort(); }
int cudaFreeHost(void) { abort(); }
int cudaMemcpyPeerAsync(void) { abort(); }
int cuTensorMapEncodeTiled(void) { abort(); }
