/*
 * The floor that the proxy is measured against: what any program in the middle costs. Listens on a port of loopback, says
 * which, and carries each connection to the port that it was given, one at a time.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static char buffer[256 * 1024];

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/* Returns 0 at the end. */
static int carry(int from, int to) {
  ssize_t count = read(from, buffer, sizeof buffer);
  for (ssize_t at = 0, sent; at < count; at += sent)
    if ((sent = write(to, buffer + at, count - at)) <= 0) return 0;
  return count > 0;
}

int main(int count, char **words) {
  struct sockaddr_in own = loopback(0), there = loopback(count > 1 ? atoi(words[1]) : 0);
  socklen_t length = sizeof own;
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&own, length) || listen(server, 16)) return 1;
  getsockname(server, (struct sockaddr *)&own, &length);
  printf("%d\n", ntohs(own.sin_port));
  fflush(stdout);
  for (;;) {
    int ends[2] = {accept(server, NULL, NULL), socket(AF_INET, SOCK_STREAM, 0)};
    if (connect(ends[1], (struct sockaddr *)&there, sizeof there)) return 1;
    struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    for (int open = 2; open > 0 && poll(polled, 2, -1) > 0;)
      for (int side = 0; side < 2; side += 1) {
        if (!polled[side].revents || carry(ends[side], ends[1 - side])) continue;
        shutdown(ends[1 - side], SHUT_WR);
        polled[side].fd = -1;
        open -= 1;
      }
    close(ends[0]);
    close(ends[1]);
  }
}
