// Linked into every program that scripts/sanitize builds: where it reports to, and what the Thread Sanitizer cannot know of
// Swift on Linux.
//
// In the program rather than in the environment, which tests do not hand on to the processes they start. REPORTS, where the
// reports go, and SYMBOLIZER, what names their lines, come from the script; the layouts are those of Swift 6.3's runtime.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// A report of any process is a file; who is killed has written it before.
#define OPTIONS "log_path=" REPORTS ":external_symbolizer_path=" SYMBOLIZER ":exitcode=66"

#if !THREAD

// What is killed has freed nothing, and the leaks of a process that is traced cannot be looked for.
const char *__asan_default_options(void) { return OPTIONS ":detect_leaks=0"; }

#else

const char *__tsan_default_options(void) { return OPTIONS; }

// What is no race, each with its reason.
const char *__tsan_default_suppressions(void) { return ""; }

#define SWIFT __attribute__((swiftcall))
#define ASYNC __attribute__((swiftasynccall))
#define SELF __attribute__((swift_context)) void *self

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// The library's own function, behind ours of the same name.
#define LIBRARY(name, symbol)                                                  \
    static __typeof__(name) *name##Library;                                    \
    __attribute__((constructor)) static void name##Find(void) {                \
        name##Library = (__typeof__(name) *)dlsym(RTLD_NEXT, symbol);          \
    }

// --- Synchronization.Mutex waits on a futex inside of a library that is not instrumented. Its fast path is compiled into
// ours, where the sanitizer sees it; who had to wait, and who wakes the next one, is said here.

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
SWIFT void lockSlow(uint32_t thread, SELF) __asm__(LOCK);
LIBRARY(lockSlow, LOCK)
SWIFT void lockSlow(uint32_t thread, SELF) {
    lockSlowLibrary(thread, self);
    __tsan_acquire(self);
}

#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
SWIFT void unlockSlow(SELF) __asm__(UNLOCK);
LIBRARY(unlockSlow, UNLOCK)
SWIFT void unlockSlow(SELF) {
    __tsan_release(self);
    unlockSlowLibrary(self);
}

// --- A continuation that is resumed before its task waits for it goes on at once, and the runtime says nothing of it.

// What the task's exclusivity checks are kept in, which the runtime tells when a task goes on.
static void *key(char *task) { return task + 0x50; }

#define RESUME(name, symbol)                                                   \
    SWIFT void name(void *value, void *type, SELF) __asm__(symbol);            \
    LIBRARY(name, symbol)                                                      \
    SWIFT void name(void *value, void *type, SELF) {                           \
        char *task = *(char **)(*(char **)self + 0x10);                        \
        if (task) __tsan_release(key(task));                                   \
        name##Library(value, type, self);                                      \
    }
RESUME(checkedReturning, "$sScC6resume9returningyxn_tF")
RESUME(checkedThrowing, "$sScC6resume8throwingyq_n_tF")

SWIFT void swift_continuation_resume(char *task);
LIBRARY(swift_continuation_resume, "swift_continuation_resume")
SWIFT void swift_continuation_resume(char *task) {
    __tsan_release(key(task));
    swift_continuation_resumeLibrary(task);
}

SWIFT void swift_continuation_throwingResume(char *task);
LIBRARY(swift_continuation_throwingResume, "swift_continuation_throwingResume")
SWIFT void swift_continuation_throwingResume(char *task) {
    __tsan_release(key(task));
    swift_continuation_throwingResumeLibrary(task);
}

SWIFT void swift_continuation_throwingResumeWithError(char *task, void *error);
LIBRARY(swift_continuation_throwingResumeWithError, "swift_continuation_throwingResumeWithError")
SWIFT void swift_continuation_throwingResumeWithError(char *task, void *error) {
    __tsan_release(key(task));
    swift_continuation_throwingResumeWithErrorLibrary(task, error);
}

// It was resumed while it was going to sleep.
void swift_task_enterThreadLocalContext(char *exclusivity);
LIBRARY(swift_task_enterThreadLocalContext, "swift_task_enterThreadLocalContext")
void swift_task_enterThreadLocalContext(char *exclusivity) {
    __tsan_acquire(exclusivity);
    swift_task_enterThreadLocalContextLibrary(exclusivity);
}

// It was resumed before: the first thing that our code does after an asynchronous call is to free what that used.
SWIFT char *swift_task_getCurrent(void);
SWIFT void swift_task_dealloc(void *memory);
LIBRARY(swift_task_dealloc, "swift_task_dealloc")
SWIFT void swift_task_dealloc(void *memory) {
    char *task = swift_task_getCurrent();
    if (task) __tsan_acquire(key(task));
    swift_task_deallocLibrary(memory);
}

// The same where the waiting is compiled into our code.
ASYNC void swift_continuation_await(char *continuation);
LIBRARY(swift_continuation_await, "swift_continuation_await")
ASYNC void swift_continuation_await(char *continuation) {
    if (__atomic_load_n((uintptr_t *)(continuation + 0x18), __ATOMIC_ACQUIRE) == 2)
        __tsan_acquire(key(swift_task_getCurrent()));
    __attribute__((musttail)) return swift_continuation_awaitLibrary(continuation);
}

#endif
