#pragma once
#include <stddef.h>

/// A file that the programs contain. Its bytes live as long as the process.
struct martlet_file {
  const unsigned char *bytes;
  size_t count;
};

struct martlet_file martlet_file_openapi_json(void);
struct martlet_file martlet_file_job_schema_json(void);
struct martlet_file martlet_file_style_css(void);
struct martlet_file martlet_file_jobs_css(void);
struct martlet_file martlet_file_fleet_css(void);
struct martlet_file martlet_file_dashboard_js(void);
struct martlet_file martlet_file_icon_svg(void);

/// The hash of the commit, in hexadecimal; empty if it is not known.
const char *martlet_commit(void);
