// The files that the programs contain. Swift takes 20 seconds to compile the literal of a file of 128 KB; this takes none.
#include "CFiles.h"

// deploy/scripts/install writes it, with the hash of the commit, and -dirty if files had changed. A build has none, so that a commit needs no new build.
__attribute__((section(".martlet.commit"), used)) static const volatile char commit[48] = "";

const char *martlet_commit(void) {
  return (const char *)commit;
}

#define FILE_FUNCTION(name)                                   \
  struct martlet_file martlet_file_##name(void) {             \
    return (struct martlet_file){name, sizeof name};          \
  }

static const unsigned char openapi_json[] = {
#embed "../Sidecar/openapi.json"
};
FILE_FUNCTION(openapi_json)

static const unsigned char job_schema_json[] = {
#embed "../../docs/job.schema.json"
};
FILE_FUNCTION(job_schema_json)

static const unsigned char style_css[] = {
#embed "../Dashboard/Assets/style.css"
};
FILE_FUNCTION(style_css)

static const unsigned char jobs_css[] = {
#embed "../Dashboard/Assets/jobs.css"
};
FILE_FUNCTION(jobs_css)

static const unsigned char fleet_css[] = {
#embed "../Dashboard/Assets/fleet.css"
};
FILE_FUNCTION(fleet_css)

static const unsigned char dashboard_js[] = {
#embed "../Dashboard/Assets/dashboard.js"
};
FILE_FUNCTION(dashboard_js)

static const unsigned char icon_svg[] = {
#embed "../Dashboard/Assets/icon.svg"
};
FILE_FUNCTION(icon_svg)
