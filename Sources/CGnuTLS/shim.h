#pragma once
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

/// `gnutls_free` is a variable, which Swift takes for shared mutable state.
static inline void martlet_gnutls_free(void *memory) { gnutls_free(memory); }
