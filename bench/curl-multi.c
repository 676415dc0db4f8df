// The reference line: the same pushes through libcurl's own multi interface, HTTP/2 over one connection.
// usage: curl-multi URL CA_FILE AUTHORIZATION_FILE PUSHES WINDOW CONNECTIONS; prints one line of JSON.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKENS = 1000, BODY_BYTES = 209 };

static char body[BODY_BYTES + 1];
static const char *url;
static struct curl_slist *common;
static int sent, accepted, faults;

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static size_t swallow(char *data, size_t size, size_t count, void *user) {
  (void)data, (void)user;
  return size * count;
}

static void aim(CURL *easy, struct curl_slist **own) {
  char path[256], id[64];
  sent++;
  snprintf(path, sizeof path, "%s/3/device/%064x", url, sent % TOKENS + 1);
  snprintf(id, sizeof id, "apns-id: 00000000-0000-4000-8000-%012x", sent);
  curl_slist_free_all(*own);
  *own = NULL;
  for (struct curl_slist *line = common; line; line = line->next) *own = curl_slist_append(*own, line->data);
  *own = curl_slist_append(*own, id);
  curl_easy_setopt(easy, CURLOPT_URL, path);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *own);
}

int main(int count, char **words) {
  if (count != 7) return 2;
  url = words[1];
  int pushes = atoi(words[4]), window = atoi(words[5]), connections = atoi(words[6]);
  memset(body, 'x', BODY_BYTES);
  memcpy(body, "{\"aps\":{\"alert\":\"", 17);
  memcpy(body + BODY_BYTES - 3, "\"}}", 3);

  char authorization[2048] = {0};
  FILE *file = fopen(words[3], "r");
  if (!file || !fgets(authorization, sizeof authorization, file)) return 2;
  fclose(file);
  common = curl_slist_append(common, authorization);
  common = curl_slist_append(common, "apns-topic: com.example.bench");
  common = curl_slist_append(common, "apns-push-type: alert");
  common = curl_slist_append(common, "apns-priority: 10");
  common = curl_slist_append(common, "Expect:");

  curl_global_init(CURL_GLOBAL_ALL);
  CURLM *multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
  curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1000L);

  struct curl_slist **lists = calloc(window, sizeof *lists);
  double started = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int index = 0; index < window && index < pushes; index++) {
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_CAINFO, words[2]);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)BODY_BYTES);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)&lists[index]);
    aim(easy, &lists[index]);
    curl_multi_add_handle(multi, easy);
  }
  while (accepted + faults < pushes) {
    int running, left;
    curl_multi_perform(multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL *easy = message->easy_handle;
      long status = 0;
      struct curl_slist **own = NULL;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&own);
      if (message->data.result == CURLE_OK && status == 200) accepted++; else faults++;
      curl_multi_remove_handle(multi, easy);
      if (sent < pushes) {
        aim(easy, own);
        curl_multi_add_handle(multi, easy);
      }
    }
    if (running) curl_multi_poll(multi, NULL, 0, 100, NULL);
  }
  printf("{\"pushes\":%d,\"accepted\":%d,\"seconds\":%f,\"cpuSeconds\":%f}\n", pushes, accepted,
         seconds(CLOCK_MONOTONIC) - started, seconds(CLOCK_PROCESS_CPUTIME_ID) - used);
  return accepted > 0 ? 0 : 1;  // libcurl reports an error for a push now and then; the line says how many it sent
}
