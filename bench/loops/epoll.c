// The least that a server of one thread does, with epoll, for a client of Redis' protocol: it answers ":1" for each '*' that it
// reads. A client of HTTP that waits for each answer gets a constant. `floe-bench --redis` and `--nginx` compare it with floe.
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ 16384

static char input[READ], answers[READ * 4];
static const char page[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\r\n2124212356296575259";

static void serve(int client) {
    ssize_t length = recv(client, input, READ, 0);
    size_t requests = 0;
    for (ssize_t at = 0; at < length; at++)
        requests += input[at] == '*';
    if (length > 0 && input[0] == 'G') {
        if (send(client, page, sizeof page - 1, MSG_NOSIGNAL) < 0)
            close(client);
        return;
    }
    if (length <= 0 || (requests > 0 && send(client, answers, 4 * requests, MSG_NOSIGNAL) < 0))
        close(client);
}

int main(int count, char **arguments) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons(count > 1 ? atoi(arguments[1]) : 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 1024)) {
        perror("usage: epoll PORT");
        return 1;
    }
    for (size_t at = 0; at < sizeof answers; at += 4)
        memcpy(answers + at, ":1\r\n", 4);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[128];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(poll, events, 128, -1);
        for (int at = 0; at < ready; at++) {
            if (events[at].data.fd != listener) {
                serve(events[at].data.fd);
                continue;
            }
            event.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
        }
    }
}
