// The reference line of the registrations: libmicrohttpd alone, as the sidecar uses it (epoll, one thread), answering the same
// requests with a fixed text. usage: bare-mhd PORT_FILE; writes its port there and serves until it is ended.
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>

static char text[] = "{\"success\":true,\"token\":\"0000000000000000000000000000000000000000000000000000000000000007\","
                     "\"platform\":\"ios\"}";

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *data, size_t *size, void **state) {
  (void)user, (void)target, (void)method, (void)version, (void)data;
  if (!*state) {
    *state = text;
    return MHD_YES;
  }
  if (*size) {
    *size = 0;
    return MHD_YES;
  }
  struct MHD_Response *response = MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(response, "Content-Type", "application/json");
  enum MHD_Result result = MHD_queue_response(connection, 200, response);
  MHD_destroy_response(response);
  return result;
}

int main(int count, char **arguments) {
  struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, NULL, MHD_OPTION_END);
  FILE *file = count == 2 && daemon ? fopen(arguments[1], "w") : NULL;
  if (!file) return 1;
  fprintf(file, "%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fclose(file);
  struct pollfd ready = {MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN, 0};
  while (poll(&ready, 1, 1000) >= 0) MHD_run(daemon);
  return 0;
}
