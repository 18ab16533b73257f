"""The pool of workers of ``pool.c``, as LLVM IR: TVM compiles it wherever it compiles kernels.

Made with clang 16 from ``pool.c`` by running this file, and cleaned of everything that only holds for one machine or
helps an optimizer; the target's two lines are put before it when it is used.
"""

from __future__ import annotations

POOL_IR = """\
%Pool = type { i32, i64, i32, i32, i64, i32, i32, i32, i32, i32, ptr, ptr, %Env }
%Env = type { ptr, i32 }
%Any = type { i32, i32, i64 }

@__tvm_ffi_pool.functions = internal constant [4 x ptr] [ptr @launch, ptr @configure, ptr @workers, ptr @forget], align 16
@pool = internal global %Pool { i32 1, i64 0, i32 0, i32 0, i64 0, i32 0, i32 0, i32 0, i32 0, i32 0, ptr null, ptr null, %Env zeroinitializer }, align 8

define i32 @__tvm_ffi_pool(ptr %self, ptr %args, i32 %count, ptr %result) {
entry:
  store i32 1, ptr %result, align 8
  %value = getelementptr %Any, ptr %args, i64 0, i32 2
  %0 = load i64, ptr %value, align 8
  %and = and i64 %0, 3
  %arrayidx1 = getelementptr [4 x ptr], ptr @__tvm_ffi_pool.functions, i64 0, i64 %and
  %1 = load ptr, ptr %arrayidx1, align 8
  %2 = ptrtoint ptr %1 to i64
  %value2 = getelementptr %Any, ptr %result, i64 0, i32 2
  store i64 %2, ptr %value2, align 8
  ret i32 0
}

define internal i32 @launch(ptr %lambda, ptr %data, i32 %tasks) {
entry:
  %cmp = icmp sgt i32 %tasks, 0
  %0 = load i32, ptr @pool, align 8
  %cond = select i1 %cmp, i32 %tasks, i32 %0
  %cmp1 = icmp eq i32 %cond, 1
  %cmp2 = icmp sgt i32 %cond, 32767
  %or.cond = or i1 %cmp1, %cmp2
  br i1 %or.cond, label %if.then, label %lor.lhs.false3

lor.lhs.false3:
  %1 = atomicrmw xchg ptr getelementptr (%Pool, ptr @pool, i64 0, i32 3), i32 1 seq_cst, align 4
  %tobool.not = icmp eq i32 %1, 0
  br i1 %tobool.not, label %if.end, label %if.then

if.then:
  %cond8 = select i1 %cmp, i32 %tasks, i32 1
  %call = call fastcc i32 @run_alone(ptr %lambda, ptr %data, i32 %cond8)
  br label %return

if.end:
  %2 = load i32, ptr @pool, align 8
  %cond13 = call i32 @llvm.smin.i32(i32 %cond, i32 %2)
  %sub = add i32 %cond13, -1
  call fastcc void @start_workers(i32 %sub)
  store ptr %lambda, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 10), align 8
  store ptr %data, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 11), align 8
  store ptr null, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 12), align 8
  store i32 %cond, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 12, i32 1), align 8
  store i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 9), align 8
  store atomic i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 8) seq_cst, align 4
  store atomic i32 %cond, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7) seq_cst, align 8
  %3 = load atomic i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4) seq_cst, align 8
  %shr = and i64 %3, -4294967296
  %shl = add i64 %shr, 4294967296
  %conv = sext i32 %cond to i64
  %shl18 = shl i64 %conv, 16
  %or = or i64 %shl, %shl18
  store atomic i64 %or, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4) seq_cst, align 8
  %4 = atomicrmw add ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5), i32 1 seq_cst, align 4
  %5 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6) seq_cst, align 4
  %tobool22.not = icmp eq i32 %5, 0
  br i1 %tobool22.not, label %if.end26, label %if.then23

if.then23:
  %6 = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1), align 8
  %sub24 = add i32 %cond, -1
  %call25 = call i64 (i64, ...) @syscall(i64 %6, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5), i32 129, i32 %sub24, i32 0, i32 0, i32 0)
  br label %if.end26

if.end26:
  call fastcc void @work()
  %7 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7) seq_cst, align 8
  %tobool2855.not = icmp eq i32 %7, 0
  br i1 %tobool2855.not, label %for.end, label %for.body

for.body:
  %spins.056 = phi i32 [ %inc, %for.body ], [ 0, %if.end26 ]
  %call31 = call i32 @sched_yield()
  %inc = add i32 %spins.056, 1
  %8 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7) seq_cst, align 8
  %tobool28 = icmp ne i32 %8, 0
  %cmp29 = icmp ult i32 %spins.056, 2999
  %9 = select i1 %tobool28, i1 %cmp29, i1 false
  br i1 %9, label %for.body, label %for.end

for.end:
  store atomic i32 1, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 8) seq_cst, align 4
  %10 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7) seq_cst, align 8
  %tobool35.not57 = icmp eq i32 %10, 0
  br i1 %tobool35.not57, label %for.end38, label %for.body36

for.body36:
  %11 = phi i32 [ %13, %for.body36 ], [ %10, %for.end ]
  %12 = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1), align 8
  %call37 = call i64 (i64, ...) @syscall(i64 %12, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7), i32 128, i32 %11, i32 0, i32 0, i32 0)
  %13 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7) seq_cst, align 8
  %tobool35.not = icmp eq i32 %13, 0
  br i1 %tobool35.not, label %for.end38, label %for.body36

for.end38:
  %14 = load i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 9), align 8
  store atomic i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 3) seq_cst, align 4
  %sub40 = sub i32 0, %14
  br label %return

return:
  %retval.0 = phi i32 [ %call, %if.then ], [ %sub40, %for.end38 ]
  ret i32 %retval.0
}

define internal void @configure(i32 %limit, i64 %futex) {
entry:
  %cond = call i32 @llvm.smin.i32(i32 %limit, i32 32767)
  %cond5 = call i32 @llvm.smax.i32(i32 %cond, i32 1)
  store i32 %cond5, ptr @pool, align 8
  store i64 %futex, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1), align 8
  ret void
}

define internal i32 @workers() {
entry:
  %0 = load i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  ret i32 %0
}

define internal void @forget() {
entry:
  store i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  store i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6), align 4
  store i64 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4), align 8
  store i32 0, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 3), align 4
  ret void
}

define internal fastcc i32 @run_alone(ptr %lambda, ptr %data, i32 %tasks) {
entry:
  %env = alloca %Env, align 8
  store ptr null, ptr %env, align 8
  %num_task = getelementptr %Env, ptr %env, i64 0, i32 1
  store i32 %tasks, ptr %num_task, align 8
  %cmp6 = icmp sgt i32 %tasks, 0
  br i1 %cmp6, label %for.body, label %for.end

for.body:
  %i.08 = phi i32 [ %inc, %for.body ], [ 0, %entry ]
  %failed.07 = phi i32 [ %or, %for.body ], [ 0, %entry ]
  %call = call i32 %lambda(i32 %i.08, ptr %env, ptr %data)
  %cmp1 = icmp ne i32 %call, 0
  %conv = zext i1 %cmp1 to i32
  %or = or i32 %failed.07, %conv
  %inc = add i32 %i.08, 1
  %exitcond.not = icmp eq i32 %inc, %tasks
  br i1 %exitcond.not, label %for.end, label %for.body

for.end:
  %failed.0.lcssa = phi i32 [ 0, %entry ], [ %or, %for.body ]
  %sub = sub i32 0, %failed.0.lcssa
  ret i32 %sub
}

define internal fastcc void @start_workers(i32 %wanted) {
entry:
  %all = alloca [16 x i64], align 16
  %old = alloca [16 x i64], align 16
  %thread = alloca i64, align 8
  %0 = load i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  %cmp.not = icmp slt i32 %0, %wanted
  br i1 %cmp.not, label %for.body, label %return

for.body:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.body ], [ 0, %entry ]
  %arrayidx = getelementptr [16 x i64], ptr %all, i64 0, i64 %indvars.iv
  store i64 -1, ptr %arrayidx, align 8
  %indvars.iv.next = add i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, 16
  br i1 %exitcond.not, label %for.end, label %for.body

for.end:
  %call = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %1 = load i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  %cmp314 = icmp slt i32 %1, %wanted
  br i1 %cmp314, label %land.rhs, label %while.end

land.rhs:
  %call4 = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %cmp5 = icmp eq i32 %call4, 0
  br i1 %cmp5, label %while.body, label %while.end

while.body:
  %2 = load i64, ptr %thread, align 8
  %call6 = call i32 @pthread_detach(i64 %2)
  %3 = load i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  %inc7 = add i32 %3, 1
  store i32 %inc7, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2), align 8
  %cmp3 = icmp slt i32 %inc7, %wanted
  br i1 %cmp3, label %land.rhs, label %while.end

while.end:
  %call9 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %return

return:
  ret void
}

declare i64 @syscall(i64, ...)

define internal fastcc void @work() {
entry:
  br label %for.cond

for.cond:
  %0 = load atomic i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4) seq_cst, align 8
  br label %do.body

do.body:
  %ticket.0 = phi i64 [ %0, %for.cond ], [ %3, %do.cond ]
  %and.i = and i64 %ticket.0, 65535
  %shr.i = lshr i64 %ticket.0, 16
  %and1.i = and i64 %shr.i, 65535
  %cmp.i.not = icmp ult i64 %and.i, %and1.i
  br i1 %cmp.i.not, label %do.cond, label %if.then

if.then:
  ret void

do.cond:
  %add = add i64 %ticket.0, 1
  %1 = cmpxchg ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4), i64 %ticket.0, i64 %add seq_cst seq_cst, align 8
  %2 = extractvalue { i64, i1 } %1, 1
  %3 = extractvalue { i64, i1 } %1, 0
  br i1 %2, label %do.end, label %do.body

do.end:
  %4 = extractvalue { i64, i1 } %1, 0
  %5 = load ptr, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 10), align 8
  %6 = trunc i64 %4 to i32
  %conv = and i32 %6, 65535
  %7 = load ptr, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 11), align 8
  %call2 = call i32 %5(i32 %conv, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 12), ptr %7)
  %tobool3.not = icmp eq i32 %call2, 0
  br i1 %tobool3.not, label %if.end6, label %if.then4

if.then4:
  store atomic i32 1, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 9) seq_cst, align 8
  br label %if.end6

if.end6:
  %8 = atomicrmw add ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7), i32 -1 seq_cst, align 4
  %cmp = icmp eq i32 %8, 1
  br i1 %cmp, label %land.lhs.true, label %for.cond.backedge

land.lhs.true:
  %9 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 8) seq_cst, align 4
  %tobool11.not = icmp eq i32 %9, 0
  br i1 %tobool11.not, label %for.cond.backedge, label %if.then12

if.then12:
  %10 = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1), align 8
  %call13 = call i64 (i64, ...) @syscall(i64 %10, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7), i32 129, i32 2147483647, i32 0, i32 0, i32 0)
  br label %for.cond.backedge

for.cond.backedge:
  br label %for.cond
}

declare i32 @sched_yield()

declare i32 @pthread_sigmask(i32, ptr, ptr)

declare i32 @pthread_create(ptr, ptr, ptr, ptr)

define internal noalias ptr @worker(ptr %unused) {
entry:
  br label %for.cond

for.cond:
  %0 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5) seq_cst, align 8
  call fastcc void @work()
  %1 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5) seq_cst, align 8
  %cmp11 = icmp eq i32 %1, %0
  br i1 %cmp11, label %while.body, label %while.end

while.body:
  %spins.013 = phi i32 [ %inc, %while.body ], [ 0, %for.cond ]
  %inc = add i32 %spins.013, 1
  %call = call i32 @sched_yield()
  %2 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5) seq_cst, align 8
  %cmp = icmp eq i32 %2, %0
  %cmp2 = icmp ult i32 %spins.013, 2999
  %or.cond = select i1 %cmp, i1 %cmp2, i1 false
  br i1 %or.cond, label %while.body, label %while.end

while.end:
  %3 = load atomic i32, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5) seq_cst, align 8
  %cmp4.not = icmp eq i32 %3, %0
  br i1 %cmp4.not, label %if.end, label %for.cond.backedge

if.end:
  %4 = atomicrmw add ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6), i32 1 seq_cst, align 4
  %5 = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1), align 8
  %call6 = call i64 (i64, ...) @syscall(i64 %5, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5), i32 128, i32 %0, i32 0, i32 0, i32 0)
  %6 = atomicrmw add ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6), i32 -1 seq_cst, align 4
  br label %for.cond.backedge

for.cond.backedge:
  br label %for.cond
}

declare i32 @pthread_detach(i64)

declare i32 @llvm.smin.i32(i32, i32)

declare i32 @llvm.smax.i32(i32, i32)
"""  # noqa: E501


def _clean(text: str) -> str:
    """Drop what is not needed from clang's output."""
    import re

    dropped = re.compile(
        r"; (ModuleID|Function Attrs)|source_filename|target |attributes #|!\d|!llvm|.*llvm\.lifetime"
    )
    lines = [line for line in text.splitlines() if not dropped.match(line)]
    words = "noundef local_unnamed_addr dso_local nocapture readnone nonnull readonly writeonly unnamed_addr inbounds nuw nsw"
    noise = re.compile(
        rf", !llvm\.loop !\d+| #\d+|\s+; preds = .*| (?:{'|'.join(words.split())})\b|\btail (?=call)"
    )
    text = "\n".join(noise.sub("", line) for line in lines)
    text = text.replace("%struct.anon", "%Pool").replace("%struct.", "%")
    return re.sub(r"\n{2,}", "\n\n", text).strip() + "\n"


def _regenerate() -> None:
    """Compile ``pool.c`` anew and write the result into this file."""
    import subprocess
    from pathlib import Path

    here = Path(__file__)
    options = (
        "-O1 -S -emit-llvm -fno-strict-aliasing -fno-discard-value-names -Xclang -disable-lifetime-markers "
    )
    options += (
        "-fno-stack-protector -fno-asynchronous-unwind-tables -fno-unroll-loops -fno-builtin -Wall -Wextra"
    )
    command = ["clang-16", *options.split(), str(here.with_name("pool.c")), "-o", "-"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    here.write_text(here.read_text().replace(POOL_IR, _clean(made)))


if __name__ == "__main__":
    _regenerate()
