#pragma once
// `malloc_trim`, which no module of the toolchain has.
#include <malloc.h>
#include <microhttpd.h>

// Earlier versions report a negative size of the request head.
#if MHD_VERSION < 0x00097400
#error "libmicrohttpd 0.9.74 or later is needed"
#endif

/// `MHD_start_daemon` is variadic. `options` ends with `MHD_OPTION_END`.
static inline struct MHD_Daemon *martlet_start_daemon(
    unsigned int flags, MHD_AcceptPolicyCallback policy, MHD_AccessHandlerCallback handler, void *context,
    struct MHD_OptionItem *options) {
  return MHD_start_daemon(flags, 0, policy, context, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// `MHD_get_daemon_info` is variadic. -1 when the daemon does not use epoll.
static inline int martlet_epoll_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

/// `MHD_get_connection_info` is variadic. NULL when there is none.
static inline const struct sockaddr *martlet_connection_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info ? info->client_addr : NULL;
}

/// `MHD_get_connection_info` is variadic. Bytes from the request line to the empty line after the header fields; 0 before
/// that is read.
static inline size_t martlet_connection_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}

/// `MHD_get_connection_info` is variadic. -1 when there is none.
static inline int martlet_connection_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
