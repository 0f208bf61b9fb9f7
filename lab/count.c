/* A plugin for qemu-user that prints the number of instructions of each thread of a program, in the order in which the threads
   began. The declarations are those of QEMU's plugin interface, version 1. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*)(uint64_t id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*)(uint64_t id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

int qemu_plugin_version = 1;

enum { THREADS = 4096 };
static uint64_t counts[THREADS];

static void executed(unsigned thread, void *instructions) {
    counts[thread % THREADS] += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *unused) {
    (void)id, (void)unused;
    for (int i = 0; i < THREADS; i++)
        if (counts[i])
            fprintf(stderr, "thread %d: %" PRIu64 "\n", i, counts[i]);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
