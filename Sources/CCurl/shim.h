#pragma once
#include <curl/curl.h>

// Swift cannot call variadic functions: one typed wrapper per kind of argument.

static inline CURLcode martlet_curl_set_long(CURL *curl, CURLoption option, long value) {
  return curl_easy_setopt(curl, option, value);
}

static inline CURLcode martlet_curl_set_string(CURL *curl, CURLoption option, const char *value) {
  return curl_easy_setopt(curl, option, value);
}

static inline CURLcode martlet_curl_set_pointer(CURL *curl, CURLoption option, void *value) {
  return curl_easy_setopt(curl, option, value);
}

static inline CURLcode martlet_curl_set_ssl_context_function(CURL *curl, curl_ssl_ctx_callback function) {
  return curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline CURLcode martlet_curl_get_ca_bundle(CURL *curl, char **path) {
  return curl_easy_getinfo(curl, CURLINFO_CAINFO, path);
}

static inline CURLcode martlet_curl_get_ca_directory(CURL *curl, char **path) {
  return curl_easy_getinfo(curl, CURLINFO_CAPATH, path);
}

static inline CURLcode martlet_curl_get_socket(CURL *curl, curl_socket_t *socket) {
  return curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, socket);
}

static inline CURLcode martlet_curl_get_tls(CURL *curl, struct curl_tlssessioninfo **info) {
  return curl_easy_getinfo(curl, CURLINFO_TLS_SSL_PTR, info);
}

static inline CURLcode martlet_curl_set_data_function(CURL *curl, CURLoption option, curl_write_callback function) {
  return curl_easy_setopt(curl, option, function);
}

static inline CURLcode martlet_curl_get_status(CURL *curl, long *status) {
  return curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
}
