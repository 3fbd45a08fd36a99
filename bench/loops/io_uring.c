// The same as epoll.c with io_uring: receives that stay in force, into buffers that the kernel takes from a ring, and one system
// call for all sends of a turn. It needs liburing 2.3 and Linux 6.1.
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ 16384
#define BUFFERS 256

enum { ACCEPT, RECEIVE, SEND };

static struct io_uring ring;
static struct io_uring_buf_ring *buffers;
static char memory[BUFFERS][READ], answers[READ * 4];

static struct io_uring_sqe *entry(void) {
    struct io_uring_sqe *entry;
    while (!(entry = io_uring_get_sqe(&ring)))
        io_uring_submit(&ring);
    return entry;
}

static void name(struct io_uring_sqe *entry, int what, int client) {
    entry->user_data = (unsigned long)what << 32 | (unsigned)client;
}

static void receive(int client) {
    struct io_uring_sqe *next = entry();
    io_uring_prep_recv_multishot(next, client, NULL, 0, 0);
    next->flags |= IOSQE_BUFFER_SELECT;
    name(next, RECEIVE, client);
}

static void give(int number) {
    io_uring_buf_ring_add(buffers, memory[number], READ, number, BUFFERS - 1, 0);
    io_uring_buf_ring_advance(buffers, 1);
}

static void received(int client, struct io_uring_cqe *done) {
    if (done->res <= 0) {
        if (done->res == -ENOBUFS)
            receive(client);
        else
            close(client);
        return;
    }
    int number = done->flags >> IORING_CQE_BUFFER_SHIFT;
    size_t requests = 0;
    for (int at = 0; at < done->res; at++)
        requests += memory[number][at] == '*';
    give(number);
    if (requests > 0) {
        struct io_uring_sqe *next = entry();
        io_uring_prep_send(next, client, answers, 4 * requests, MSG_NOSIGNAL | MSG_WAITALL);
        next->flags |= IOSQE_CQE_SKIP_SUCCESS;
        name(next, SEND, client);
    }
    if (!(done->flags & IORING_CQE_F_MORE))
        receive(client);
}

int main(int count, char **arguments) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons(count > 1 ? atoi(arguments[1]) : 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 1024)) {
        perror("usage: io_uring PORT");
        return 1;
    }
    struct io_uring_params parameters = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = 4096,
    };
    if (io_uring_queue_init_params(1024, &ring, &parameters) ||
        posix_memalign((void **)&buffers, 4096, BUFFERS * sizeof(struct io_uring_buf))) {
        fprintf(stderr, "this kernel gives no io_uring\n");
        return 1;
    }
    struct io_uring_buf_reg registered = {.ring_addr = (unsigned long)buffers, .ring_entries = BUFFERS};
    if (io_uring_register_buf_ring(&ring, &registered, 0)) {
        fprintf(stderr, "this kernel has no rings of buffers\n");
        return 1;
    }
    io_uring_buf_ring_init(buffers);
    for (int number = 0; number < BUFFERS; number++)
        give(number);
    for (size_t at = 0; at < sizeof answers; at += 4)
        memcpy(answers + at, ":1\r\n", 4);
    struct io_uring_sqe *accepts = entry();
    io_uring_prep_multishot_accept(accepts, listener, NULL, NULL, 0);
    name(accepts, ACCEPT, 0);
    for (;;) {
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *done;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, done) {
            seen++;
            if (done->user_data >> 32 == RECEIVE) {
                received((int)done->user_data, done);
            } else if (done->user_data >> 32 == ACCEPT && done->res >= 0) {
                setsockopt(done->res, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                receive(done->res);
            }
        }
        io_uring_cq_advance(&ring, seen);
    }
}
