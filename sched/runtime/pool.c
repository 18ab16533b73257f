/* One set of workers for the whole process, behind the interface through which TVM's code launches parallel loops.
   pool_ir.py holds this file as LLVM IR, which needs no C compiler where it is used; `python sched/runtime/pool_ir.py`
   makes it anew.

   A launch publishes a job; the caller and the workers claim its tasks one by one. While one thread's job runs, a
   launch from any other thread (or from inside a task) runs all its tasks itself: so a process has at
   most `limit - 1` workers, however many threads call. */

typedef unsigned long u64;
typedef unsigned int u32;
typedef struct { void *sync_handle; int num_task; } Env;
typedef int (*Lambda)(int task, Env *env, void *data);

/* The C library's, declared here so that no header's layout is baked in. */
int pthread_create(u64 *thread, const void *attr, void *(*start)(void *), void *arg);
int pthread_detach(u64 thread);
int pthread_sigmask(int how, const void *set, void *old);
int sched_yield(void);
long syscall(long number, ...);

enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, SIG_SETMASK_ = 2, ALL = 0x7fffffff, SPINS = 3000, MOST = 0x7fff };

static struct {
    int limit;        /* threads that may work on a job, the caller among them */
    long futex;       /* the number of that system call here */
    int workers;      /* started so far */
    u32 busy;         /* a job is running */
    u64 ticket;       /* generation << 32 | tasks << 16 | next task */
    u32 wake;         /* goes up with every job; idle workers sleep on it */
    u32 sleepers;
    u32 left;         /* tasks not finished; the caller sleeps on it */
    u32 awaited;      /* the caller may be asleep */
    u32 failed;
    Lambda lambda;
    void *data;
    Env env;
} pool = { .limit = 1 };

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_fetch_add(&(x), (v), __ATOMIC_SEQ_CST)

static int open_tasks(u64 ticket) { return (ticket & 0xffff) < ((ticket >> 16) & 0xffff); }

/* Work on the current job until its tasks are all claimed. What a job consists of may be read only
   after a claim: until the claimed task is done, no other job takes its place. */
static __attribute__((noinline)) void work(void)
{
    for (;;) {
        u64 ticket = GET(pool.ticket);
        do {
            if (!open_tasks(ticket)) return;
        } while (!__atomic_compare_exchange_n(&pool.ticket, &ticket, ticket + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        if (pool.lambda((int)(ticket & 0xffff), &pool.env, pool.data)) SET(pool.failed, 1);
        if (ADD(pool.left, -1) == 1 && GET(pool.awaited))
            syscall(pool.futex, &pool.left, FUTEX_WAKE_PRIVATE, ALL, 0, 0, 0);
    }
}

static void *worker(void *unused)
{
    for (;;) {
        u32 seen = GET(pool.wake);
        int spins = 0;
        work();
        while (GET(pool.wake) == seen && spins++ < SPINS) sched_yield();
        if (GET(pool.wake) != seen) continue;
        ADD(pool.sleepers, 1);
        syscall(pool.futex, &pool.wake, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
        ADD(pool.sleepers, -1);
    }
    return unused;
}

/* Workers take no signals: these are for the program's own threads. */
static __attribute__((noinline)) void start_workers(int wanted)
{
    u64 all[16], old[16], thread;
    if (pool.workers >= wanted) return;
    for (int i = 0; i < 16; ++i) all[i] = ~0ul;
    pthread_sigmask(SIG_SETMASK_, all, old);
    while (pool.workers < wanted && pthread_create(&thread, 0, worker, 0) == 0) {
        pthread_detach(thread);
        ++pool.workers;
    }
    pthread_sigmask(SIG_SETMASK_, old, 0);
}

static __attribute__((noinline)) int run_alone(Lambda lambda, void *data, int tasks)
{
    Env env = { 0, tasks };
    int failed = 0;
    for (int i = 0; i < tasks; ++i) failed |= lambda(i, &env, data) != 0;
    return -failed;
}

static int launch(Lambda lambda, void *data, int tasks)
{
    int wanted = tasks > 0 ? tasks : pool.limit;
    if (wanted == 1 || wanted > MOST || __atomic_exchange_n(&pool.busy, 1, __ATOMIC_SEQ_CST))
        return run_alone(lambda, data, tasks > 0 ? tasks : 1);
    tasks = wanted;
    start_workers((tasks < pool.limit ? tasks : pool.limit) - 1);
    pool.lambda = lambda;
    pool.data = data;
    pool.env.sync_handle = 0;
    pool.env.num_task = tasks;
    pool.failed = 0;
    SET(pool.awaited, 0);
    SET(pool.left, (u32)tasks);
    SET(pool.ticket, ((GET(pool.ticket) >> 32) + 1) << 32 | (u64)tasks << 16);
    ADD(pool.wake, 1);
    if (GET(pool.sleepers)) syscall(pool.futex, &pool.wake, FUTEX_WAKE_PRIVATE, tasks - 1, 0, 0, 0);
    work();
    for (int spins = 0; GET(pool.left) && spins < SPINS; ++spins) sched_yield();
    SET(pool.awaited, 1);
    for (u32 left; (left = GET(pool.left));) syscall(pool.futex, &pool.left, FUTEX_WAIT_PRIVATE, left, 0, 0, 0);
    int failed = (int)pool.failed;
    SET(pool.busy, 0);
    return -failed;
}

static void configure(int limit, long futex)
{
    pool.limit = limit < 1 ? 1 : limit > MOST ? MOST : limit;
    pool.futex = futex;
}

static int workers(void) { return pool.workers; }

/* In a forked child: no worker came along, and whatever job ran belongs to a thread that did not either. */
static void forget(void)
{
    pool.workers = 0;
    pool.sleepers = 0;
    pool.ticket = 0;
    pool.busy = 0;
}

/* The address of each of these, by number; a packed function of TVM's, so that a module can be asked for it. */
typedef struct { int type; int padding; long value; } Any;

int __tvm_ffi_pool(void *self, const Any *args, int count, Any *result)
{
    (void)self, (void)count;
    static void *const functions[] = { (void *)launch, (void *)configure, (void *)workers, (void *)forget };
    result->type = 1;
    result->value = (long)functions[args[0].value & 3];
    return 0;
}
